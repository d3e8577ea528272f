import type { SparseVector } from '../../bandit/sparse-vector.ts';
import type { PolicySettings, SettingsPatch } from './catalog-settings.ts';
import type { ExperimentChange } from './experiment-definition.ts';
import type { InstructionDraft } from './instruction-definition.ts';
import type { MergesChange } from './merge-definition.ts';
import type { MergeRunChange } from './merge-run.ts';
import type { SourceChange, SyncReport } from './source-definition.ts';
import type { ToolDefinition } from './tool-definition.ts';

/** Position of an entry in the ledger of its catalog: 1 for the first, then without gaps. 0 is "before the first". */
export type Position = number;

/** Everything that changes what the router knows. One union, one file: this is the vocabulary of the fold. */
export type Entry =
  | EmbedderEntry
  | SettingsEntry
  | ToolsEntry
  | InstructionsEntry
  | SourceEntry
  | MergeRunEntry
  | MergesEntry
  | ObservationEntry
  | SettlementEntry
  | DiscoveryEntry
  | CasesEntry
  | ForgetEntry
  | ExperimentEntry
  | ExposuresEntry
  | UnlearnedEntry
  | VersionEntry;

interface EntryBase {
  /** The fold applies the first entry with this key and ignores every later one (delivery is at least once). */
  readonly key: string;
  /** When it was accepted, ms since the epoch: the fold's only clock. */
  readonly at: number;
  /** Who asked for it, where that is known. */
  readonly actor?: string;
}

/** The embedding model of a catalog: what made its vectors. */
export interface BoundEmbedder {
  /** `bundled`, `none`, `endpoint`, a model that was pulled, or a folder; null: none was chosen yet. */
  readonly model: string | null;
  /** Null: there are no vectors, words alone. */
  readonly fingerprint: string | null;
  readonly dimensions: number;
}

/**
 * Another embedder: all vectors are replaced, and a learner of its own learns about them. What was learned with the
 * one before is kept.
 */
export interface EmbedderEntry extends EntryBase, BoundEmbedder {
  readonly kind: 'embedder';
  readonly model: string;
  /** Refused if the catalog has a model already: a start gives it its first one, and never another. */
  readonly first?: true;
  /** Version of the policy that becomes the active one; absent: the one with the settings of now. */
  readonly version?: string;
  /** Vectors of all live tools, by name, for exactly this definition hash. */
  readonly vectors: readonly {
    readonly name: string;
    readonly hash: string;
    readonly embedding: Float32Array;
  }[];
  /** The same of the united definitions of all merges that are approved or taken in by one, by id; absent: there are none. */
  readonly merges?: readonly {
    readonly id: string;
    readonly hash: string;
    readonly embedding: Float32Array;
  }[];
  /** The same of all live instructions, by id; absent: there are none. */
  readonly instructions?: readonly {
    readonly id: string;
    readonly hash: string;
    readonly embedding: Float32Array;
  }[];
  /** The classifier of domains, for exactly the domains that the entry with this key put; absent: they have no examples. */
  readonly domains?: { readonly of: string; readonly weights: Float32Array };
}

/**
 * What tells queries of one domain from those of another. Made where the domains are put, so that all replicas have the same bits and the
 * fold trains nothing.
 */
export interface DomainRules {
  /** Terms of each word or phrase, by domain. */
  readonly terms: readonly (readonly (readonly number[])[])[];
  /** A row of weights for each domain, as `trainOneVsRest` returns them; empty: no examples, or no embedder. */
  readonly weights: Float32Array;
}

/** Settings that were changed; what is left out stays as it is when the entry is folded. */
export interface SettingsEntry extends EntryBase {
  readonly kind: 'settings';
  readonly patch: SettingsPatch;
  /** Name of the policy whose parameters the patch changes; if it is another one by then, nothing is changed. */
  readonly ifPolicy?: string;
  /** With domains in the patch: their rules, made with the embedder of this fingerprint. */
  readonly domains?: DomainRules & { readonly fingerprint: string | null };
}

/**
 * Tools of one source, put or removed, with their embeddings, so that no replica embeds twice. Refused if it names a live
 * tool of another source.
 */
export interface ToolsEntry extends EntryBase {
  readonly kind: 'tools';
  /** Where the tools come from. */
  readonly source: string;
  readonly put: readonly ToolPut[];
  readonly remove: readonly string[];
  /** Full sync: name and definition hash of every tool that the source has afterwards; its others are removed. */
  readonly sync?: Readonly<Record<string, string>>;
  /** Generation of a source other than the API (see `SourceRecord`): refused if it is another one by now. */
  readonly of?: Position;
  /** Of a sync of a source other than the API; without it the entry approves definitions that were held back. */
  readonly synced?: SyncReport;
  /** Refused unless the catalog has this revision. */
  readonly ifMatch?: string;
  /** Digest of what was asked for, where the sender chose the key: the key is refused for anything else. */
  readonly content?: string;
  /** Fingerprint of the embedder that made the vectors. */
  readonly fingerprint: string | null;
}

/** A source of tools: put, removed, or read without a change of its tools. */
export interface SourceEntry extends EntryBase {
  readonly kind: 'source';
  readonly name: string;
  readonly change: SourceChange;
}

/** A run that looks for merges is asked for, begins, goes on, ends. */
export interface MergeRunEntry extends EntryBase {
  readonly kind: 'merge-run';
  readonly change: MergeRunChange;
}

/** Merges of tools: proposed and withdrawn, approved, rejected, or undone. */
export interface MergesEntry extends EntryBase {
  readonly kind: 'merges';
  readonly change: MergesChange;
  /** Refused unless the tools have this revision. */
  readonly ifMatch?: string;
  /** Digest of what was asked for, where the sender chose the key: the key is refused for anything else. */
  readonly content?: string;
}

export interface ToolPut {
  readonly tool: ToolDefinition;
  /** Its name at its source, where that is another one. */
  readonly nameThere?: string;
  /** The definition is not served: it waits for approval. */
  readonly held?: true;
  readonly hash: string;
  /** Unit vector of the document text, or null when there is no embedder. */
  readonly embedding: Float32Array | null;
}

/** Instructions that are put, approved or removed, with their embeddings. Refused if it names others that are not there, or a circle. */
export interface InstructionsEntry extends EntryBase {
  readonly kind: 'instructions';
  readonly put: readonly InstructionPut[];
  readonly remove: readonly string[];
  /** Full sync: ids of all instructions that the catalog has afterwards. What did not change is not among `put`. */
  readonly sync?: readonly string[];
  /** Refused unless the instructions have this revision. */
  readonly ifMatch?: string;
  /** The same for the revision that its sender prepared it for, who prepares it again. */
  readonly preparedFor?: string;
  /** Digest of what was asked for, where the sender chose the key: the key is refused for anything else. */
  readonly content?: string;
  /** Fingerprint of the embedder that made the vectors. */
  readonly fingerprint: string | null;
}

export interface InstructionPut {
  readonly instruction: InstructionDraft;
  /** Of everything but its status. */
  readonly hash: string;
  /** Unit vector of its text, or null when there is no embedder. */
  readonly embedding: Float32Array | null;
}

/** Rewards of one decision, joined with everything of that decision that learning needs. */
export interface ObservationEntry extends EntryBase {
  readonly kind: 'observation';
  readonly decision: ObservedDecision;
  readonly reports: readonly OutcomeReport[];
  /** True unless the reporter said that more will come. */
  readonly closes: boolean;
}

/** A decision as learning needs it: a part of the decision log's record. */
export interface ObservedDecision {
  readonly id: string;
  readonly at: number;
  /** Rewards accepted after this are late; ms since the epoch. */
  readonly deadline: number;
  readonly fingerprint: string | null;
  readonly embedding: Float32Array | null;
  readonly terms: SparseVector;
  /** The slate in order, then tools that were reported without having been shown. */
  readonly tools: readonly string[];
  /** How many of `tools` were shown. */
  readonly shown: number;
  /** Ids of the merges that shown tools stood for, by their names: a call of any member was one of what was shown. Absent: none did. */
  readonly merged?: Readonly<Record<string, string>>;
  /** What retrieval said about each tool at decision time; NaN where the tool was no candidate. */
  readonly columns: ObservedColumns;
  /**
   * Extra features of each tool by policy version, row-major, for the versions that took part in the decision.
   * The others work theirs out from the columns.
   */
  readonly features: Readonly<Record<string, Float32Array>>;
  /** Hash of the user, else the unit, else the session it came from, for limits and erasure; 0 if none was named. */
  readonly unit: number;
  /** Key of the task it was made in; absent: it stands alone. */
  readonly task?: string;
  /** False: outcomes are counted, nothing is learned. */
  readonly learn: boolean;
  /** Experiments it took part in; absent for none. */
  readonly assignments?: readonly Assignment[];
  /** The instructions that it could have shown; absent: its request wanted none. */
  readonly instructions?: ObservedInstructions;
  /** What its sufficiency was predicted from. */
  readonly sufficiency?: ObservedSufficiency;
  /** How many of the shown tools, the last ones, were discovered: asked for when the others did not suffice. Absent: none. */
  readonly discovered?: number;
  /** What was chosen of the context of its user; absent: the request named no user, or one who has nothing. */
  readonly context?: ObservedContext;
}

/** Items of a user, the best first, by numbers that only the user's key tells anything about, and what policies read of them, 0…1. */
export interface ObservedContext {
  readonly items: readonly { readonly number: number }[];
  readonly features: readonly number[];
}

/** The candidates among the instructions of a decision: lists of one length, and the indices of those that were shown. */
export interface ObservedInstructions {
  readonly ids: readonly string[];
  readonly hashes: readonly string[];
  /** Probability of each to be shown, 0…1. */
  readonly propensity: readonly number[];
  /** Retrieval score, 0…1. */
  readonly score: readonly number[];
  readonly shown: readonly number[];
}

export interface ObservedSufficiency {
  /** As `sufficiencyFeatures` gives them. */
  readonly features: readonly number[];
  /** The probability that was served, 0…1; absent: none was. */
  readonly predicted?: number;
  /** What the model said of itself in the request, 0…1. */
  readonly rating?: number;
}

/** Part that a decision took in an experiment. */
export interface Assignment {
  readonly experiment: string;
  readonly variant: string;
  /** Which allocation of the shares it was; what belongs to an earlier one is not counted any more. */
  readonly allocation: number;
  /** 16 hex digits that stand for the unit without naming it. */
  readonly unit: string;
}

/** One value per tool: e(q)·φ, h, c and g of the decision's candidates. */
export interface ObservedColumns {
  readonly similarity: Float32Array;
  readonly lexical: Float32Array;
  readonly dense: Float32Array;
  readonly retrieval: Float32Array;
}

/** In the order in which snapshots number them. */
export const OUTCOMES = [
  'success',
  'failure',
  'partial',
  'timeout',
  'refused',
  'not_used',
  'unknown',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

/** Outcomes of calls that say nothing about relevance. */
export const SILENT_OUTCOMES: ReadonlySet<Outcome> = new Set<Outcome>(['timeout', 'refused', 'unknown']);

export interface OutcomeReport {
  readonly rewardId: string;
  /** Null: the report is about the decision as a whole. */
  readonly tool: string | null;
  readonly outcome: Outcome;
  /** −1…1. */
  readonly value: number;
  /** Importance of this report, 0 < weight ≤ 10. */
  readonly weight: number;
  /** When it was accepted, ms since the epoch. */
  readonly at: number;
  /** When it happened, where the reporter says so; ms since the epoch. */
  readonly occurredAt?: number;
  readonly latencyMs?: number;
  readonly cost?: number;
  /** How far the model that worked with the slate said that it suffices, 0…1. */
  readonly rating?: number;
}

/** More tools were asked for than a decision had shown. */
export interface DiscoveryEntry extends EntryBase {
  readonly kind: 'discovery';
  /** With the discovered tools. */
  readonly decision: ObservedDecision;
  /** How many tools were added; 0: none were left, or a summary was asked for. */
  readonly added: number;
  /** How far its model said that the slate suffices, 0…1. */
  readonly rating?: number;
}

/** The deadline of a decision passed, or its task ended: it is closed with what is known, or with the default reward. */
export interface SettlementEntry extends EntryBase {
  readonly kind: 'settlement';
  /** Its task ended before its deadline. */
  readonly ended?: true;
  readonly decision: ObservedDecision;
  readonly defaultReward: number | null;
}

/** Queries of transcripts, with what became of the tools that were called for them. They were no decisions: memory alone learns. */
export interface CasesEntry extends EntryBase {
  readonly kind: 'cases';
  /** Of the embedder that made the vectors. */
  readonly fingerprint: string | null;
  readonly cases: readonly TaughtCase[];
}

export interface TaughtCase {
  /** 16 hex digits; the same one is taught once. */
  readonly id: string;
  readonly embedding: Float32Array | null;
  readonly terms: SparseVector;
  /** Each tool once; 0…1. */
  readonly outcomes: readonly { readonly tool: string; readonly value: number }[];
  /** As in `ObservedDecision`. */
  readonly unit: number;
}

/** What was learned about a tool, of an instruction or from a unit is erased. */
export interface ForgetEntry extends EntryBase {
  readonly kind: 'forget';
  readonly tool?: string;
  readonly instruction?: string;
  readonly unit?: number;
}

/** An experiment is created or moved. Refused in the fold where its rules do not allow it. */
export interface ExperimentEntry extends EntryBase {
  readonly kind: 'experiment';
  readonly name: string;
  readonly change: ExperimentChange;
  /** Refused unless it still runs with this allocation, by whose counts the change was decided. */
  readonly ifAllocation?: number;
}

/** Decisions that were shown to units of experiments, and what shadow variants made of others; in batches. */
export interface ExposuresEntry extends EntryBase {
  readonly kind: 'exposures';
  readonly exposures: readonly Exposure[];
  readonly shadows: readonly ShadowComparison[];
  /** Decisions that were made, by variant; those that are shown at once are among the exposures as well. */
  readonly decided: readonly (readonly [experiment: string, variant: string, count: number])[];
  /** Requests, by experiment, that named no unit and were therefore left out of it. */
  readonly withoutUnit: Readonly<Record<string, number>>;
  /** Requests, by experiment, that said themselves how much of each definition they want, and were left out of it. */
  readonly ownDetail: Readonly<Record<string, number>>;
}

export interface Exposure extends Assignment {
  readonly decisionId: string;
  /** A property of the query that does not depend on the assignment: its best retrieval scores, 0…1. */
  readonly covariate: number;
  /** About how many tokens the definitions of the slate take, as they were sent. */
  readonly tokens: number;
}

/** What a variant that ranks without serving would have shown, beside what was served. */
export interface ShadowComparison {
  readonly decisionId: string;
  readonly experiment: string;
  readonly variant: string;
  /** By name, in order. */
  readonly slate: readonly string[];
  readonly served: readonly string[];
}

/** Reports that were not joined with a decision: they teach nothing, and are counted where all processes see it. */
export interface UnlearnedEntry extends EntryBase {
  readonly kind: 'unlearned';
  /** Accepted, but their decision was gone when they were to be joined with it. */
  readonly rewards: readonly OutcomeReport[];
  /** How many were not taken in when they came, by the code of the problem; `duplicate`: they repeat one. */
  readonly refused: Readonly<Record<string, number>>;
}

/** A version of the policy is made the active one. */
export interface VersionEntry extends EntryBase {
  readonly kind: 'version';
  readonly version: string;
  /** A version that is not kept any more, brought back: its learner with everything up to a position folded. */
  readonly learner?: {
    readonly settings: PolicySettings;
    readonly bytes: string;
    readonly asOf: Position;
  };
}
