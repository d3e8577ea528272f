import type { Catalog } from '../catalog/catalog.ts';
import {
  attemptChange,
  type ChangeOptions,
  commandOf,
  keyUsed,
  revisionMismatch,
} from '../catalog/conditional-change.ts';
import { refusingUnusable } from '../catalog/embedders.ts';
import { Problem } from '../errors/problem.ts';
import { definitionHash } from '../ledger/definition-hash.ts';
import type { MergesEntry } from '../ledger/entry.ts';
import { type MergesChange, mergeDigest } from '../ledger/merge-definition.ts';
import { denseText } from '../retrieval/document-text.ts';
import type { MergeRecord } from '../state/merge-table.ts';

export interface ApproveOptions extends ChangeOptions {
  /** `mergeDigest` of what was reviewed: nothing else is approved. */
  readonly digest?: string | undefined;
}

/** Serves a merge from now on. @throws Problem merge-not-found, merge-conflict */
export function approveMerge(
  catalog: Catalog,
  id: string,
  { digest: reviewed, ...options }: ApproveOptions,
): Promise<MergeRecord> {
  const content = { action: 'approve', id, ...(reviewed !== undefined && { digest: reviewed }) } as const;
  return decide(catalog, content, options, async () => {
    const { fingerprint, settings } = catalog.state;
    const merge = getMerge(catalog, id);
    const { definition } = merge;
    const digest = mergeDigest(merge);
    if (merge.status === 'proposed' && reviewed !== undefined && reviewed !== digest) throw notReviewed(id);
    const [embedding] = await refusingUnusable(() =>
      catalog.embedDocuments([denseText(definition)], options.signal),
    );
    const hash = definitionHash(definition, settings);
    return { action: 'approve', id, digest, hash, embedding, fingerprint };
  });
}

/** @throws Problem merge-not-found, merge-conflict */
export function rejectMerge(catalog: Catalog, id: string, options: ChangeOptions): Promise<MergeRecord> {
  const change = { action: 'reject', id } as const;
  return decide(catalog, change, options, async () => change);
}

/** @throws Problem merge-not-found, merge-conflict */
export function undoMerge(catalog: Catalog, id: string, options: ChangeOptions): Promise<MergeRecord> {
  const change = { action: 'undo', id } as const;
  return decide(catalog, change, options, async () => change);
}

/** @param content what the same Idempotency-Key has to come with again */
function decide(
  catalog: Catalog,
  content: { readonly action: 'approve' | 'reject' | 'undo'; readonly id: string },
  { ifMatch, idempotencyKey, actor }: ChangeOptions,
  prepare: () => Promise<MergesChange>,
): Promise<MergeRecord> {
  const { id } = content;
  const command = commandOf('merges', idempotencyKey, content);
  return attemptChange(async () => {
    getMerge(catalog, id);
    const entry: MergesEntry = {
      ...{ kind: 'merges', ...command, at: catalog.now(), change: await prepare() },
      ...(ifMatch !== undefined && { ifMatch }),
      ...(actor !== undefined && { actor }),
    };
    const outcome = await catalog.replica.submit(entry);
    if (outcome.kind === 'key-used') throw keyUsed('merges');
    if (outcome.kind !== 'merges-refused') return getMerge(catalog, id);
    if (outcome.reason === 'revision') throw revisionMismatch('tools', catalog.state.revision, ifMatch);
    if (outcome.reason === 'stale') return undefined;
    // A run has withdrawn it meanwhile.
    if (outcome.reason === 'unknown') return getMerge(catalog, id);
    throw new Problem('merge-conflict', outcome.sentence, FIXES[content.action]);
  }, 'the merge was being prepared');
}

function notReviewed(id: string): Problem {
  return new Problem(
    'merge-conflict',
    `Merge "${id}" has been proposed in another form since it was read.`,
    'GET …/merges/{id} has what would be served now, and its `digest`.',
  );
}

const FIXES = {
  approve: 'GET …/merges?status=proposed lists what can be approved; POST …/merges/propose looks again.',
  reject: 'Only proposed merges are rejected; approved ones are undone with POST …/merges/{id}/undo.',
  undo: 'GET …/merges?status=approved lists what can be undone.',
} as const;

/** With the reason why a proposal is never approved automatically. @throws Problem merge-not-found */
export function getMerge({ name, state }: Catalog, id: string): MergeRecord {
  const record = state.merges.get(id);
  if (record !== undefined) return withGuard(state, record);
  throw new Problem(
    'merge-not-found',
    `Catalog "${name}" has no merge "${id}".`,
    `GET /v1/catalogs/${name}/merges lists them. Proposals go when a run does not find them any more.`,
  );
}

/** Returns a proposal with the reason why it is never approved automatically, by the decisions about others as well. */
export function withGuard({ merges }: Catalog['state'], record: MergeRecord): MergeRecord {
  const guarded = record.status === 'proposed' ? merges.guardOf(record) : null;
  return guarded === null ? record : { ...record, guarded };
}
