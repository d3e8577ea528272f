import { createHash } from 'node:crypto';
import type { ToolDefinition } from './tool-definition.ts';

/** A merge has at most so many members; that many identical tools are one merge. */
export const MAX_MERGE_MEMBERS = 1000;

/**
 * proposed: found, and nobody decided yet. approved: its representative is served with the united definition, and the other members are
 * no candidates. rejected: not wanted. undone: it was approved, and is not any more. dissolved: of its members, as they were,
 * fewer than two are left, or the representative is none of them, or another merge has taken all of them in; then it is served again when that one ends.
 */
export const MERGE_STATUSES = ['proposed', 'approved', 'rejected', 'undone', 'dissolved'] as const;
export type MergeStatus = (typeof MERGE_STATUSES)[number];

/** A tool of a merge, and the hash of the definition for which that holds. */
export interface MergeMember {
  readonly name: string;
  readonly hash: string;
}

/** Several tools that do the same, as one tool. */
export interface ProposedMerge {
  /** `mergeId` of the members. */
  readonly id: string;
  /** At least two, each once, sorted by name. */
  readonly members: readonly MergeMember[];
  /** Name of the member under which the merged tool is served. */
  readonly representative: string;
  /** What is served: the united definition, under the name of the representative. */
  readonly definition: ToolDefinition;
  /** How a call of the merged tool becomes one of a member, by the name of the member. */
  readonly mappings: Readonly<Record<string, MemberMapping>>;
  /** That all members do the same, 0…1. */
  readonly confidence: number;
  readonly evidence: MergeEvidence;
  /** How many tokens fewer the united definition takes than those of all members. */
  readonly tokensSaved: number;
  /** Why it is never approved automatically; absent: it may be. */
  readonly guarded?: string;
}

/** How the arguments of the merged tool become those of one member. */
export interface MemberMapping {
  /** Name of the member's parameter by the united name. Those that have the same name may be left out. */
  readonly arguments: Readonly<Record<string, string>>;
  /** What the member always gets, by its own names. */
  readonly fixed?: Readonly<Record<string, unknown>>;
  /** United names for which the member has no parameter: a call that needs one of them goes to another member. */
  readonly absent: readonly string[];
}

/** Why the members are taken for the same. */
export interface MergeEvidence {
  /** Cosine of the members' vectors, −1…1; null: there are none, words alone found them. */
  readonly similarity: { readonly least: number; readonly mean: number } | null;
  /** `person`: nobody looked for it, somebody asked for it. */
  readonly judge: 'rules' | 'chat' | 'person';
  /** A sentence for the person who decides. */
  readonly reason: string;
  /** What the judge said of pairs; a bounded part of all. */
  readonly verdicts: readonly MergeVerdict[];
  /** How often one of the pair was called where the other was shown, and the other way round. */
  readonly outcomes?: readonly { readonly pair: readonly [string, string]; readonly confused: number }[];
  /** What is worth knowing beside that, such as what a judge could not decide. */
  readonly notes?: readonly string[];
}

export interface MergeVerdict {
  readonly pair: readonly [string, string];
  readonly relation: 'same' | 'overlapping' | 'different';
  /** That the relation is right, 0…1. */
  readonly confidence: number;
  readonly reason: string;
}

/** Merges are proposed and withdrawn by a run, and decided by people or by a threshold. */
export type MergesChange =
  | {
      readonly action: 'propose';
      readonly propose: readonly ProposedMerge[];
      /** Ids of proposals that are none any more; decided ones stay. */
      readonly withdraw: readonly string[];
    }
  | {
      readonly action: 'approve';
      readonly id: string;
      /** `mergeDigest` of what it was prepared from: what was proposed in another form meanwhile is not approved. */
      readonly digest: string;
      /** Of the united definition. */
      readonly hash: string;
      /** Unit vector of the document text of the united definition; null when there is no embedder. */
      readonly embedding: Float32Array | null;
      /** Of the embedder that made the vector. */
      readonly fingerprint: string | null;
    }
  | { readonly action: 'reject'; readonly id: string }
  | { readonly action: 'undo'; readonly id: string };

/** Who approved, and who asked for a run, where nobody did. */
export const AUTOMATIC = 'automatic';

/** Returns the digest of what an approval is about, the united definition and the mappings: a later run may propose the same tools in another form. */
export function mergeDigest({
  definition,
  mappings,
}: Pick<ProposedMerge, 'definition' | 'mappings'>): string {
  return createHash('sha256')
    .update(JSON.stringify([definition, mappings]))
    .digest('hex')
    .slice(0, 32);
}

/** Returns the id of a merge of these tools with these definitions, whatever their order: the same proposal twice is one. */
export function mergeId(members: readonly MergeMember[]): string {
  const sorted = members.map(({ name, hash }) => [name, hash]).sort(([a], [b]) => (a < b ? -1 : 1));
  return `m_${createHash('sha256').update(JSON.stringify(sorted)).digest('hex').slice(0, 16)}`;
}
