import { createHash, randomUUID } from 'node:crypto';
import { Problem } from '../errors/problem.ts';
import type { InstructionsEntry, ToolsEntry } from '../ledger/entry.ts';
import type { FoldResult } from '../state/fold-result.ts';
import type { Catalog } from './catalog.ts';

export interface ChangeOptions {
  /** Revision that the catalog, or its instructions, must have. */
  readonly ifMatch?: string;
  /** The same key with the same content is applied once and answered alike, for a day. */
  readonly idempotencyKey?: string;
  readonly actor?: string;
  /** Stops the embedding of what is put, as long as nothing has been submitted. */
  readonly signal?: AbortSignal;
}

/** How often a change is computed again because the catalog changed while it was being embedded. */
const MAX_ATTEMPTS = 8;

/**
 * Attempts a change until it fits the catalog as it is by then.
 * @param attempt returns undefined where the catalog has changed while it was being prepared
 * @param meanwhile what that was, for the sentence of the problem
 * @throws Problem unavailable when the catalog changes all the time
 */
export async function attemptChange<Result>(
  attempt: () => Promise<Result | undefined>,
  meanwhile: string,
): Promise<Result> {
  for (let attempts = 0; attempts < MAX_ATTEMPTS; attempts++) {
    const result = await attempt();
    if (result !== undefined) return result;
  }
  throw new Problem(
    'unavailable',
    `The catalog kept changing while ${meanwhile}.`,
    'Try again in a moment.',
    { retryAfterSeconds: 1 },
  );
}

type Conditions = 'key' | 'content' | 'at' | 'fingerprint' | 'ifMatch' | 'actor';
type Prepared = Omit<ToolsEntry, Conditions> | Omit<InstructionsEntry, Conditions>;

/**
 * Submits a change under the conditions of its sender.
 * @param content what the same Idempotency-Key has to come with again
 * @param prepare makes the entry for the catalog as it is now
 * @param resultOf undefined: it was prepared for what has changed since
 * @throws Problem idempotency-conflict, revision-mismatch, unavailable
 */
export function submitChange<Result>(
  catalog: Catalog,
  kind: Prepared['kind'],
  content: unknown,
  { ifMatch, idempotencyKey, actor }: ChangeOptions,
  prepare: () => Promise<Prepared>,
  resultOf: (outcome: FoldResult) => Result | undefined,
): Promise<Result> {
  const command = commandOf(kind, idempotencyKey, content);
  return attemptChange(async () => {
    const { fingerprint } = catalog.state;
    const prepared = await prepare();
    const outcome = await catalog.replica.submit({
      ...prepared,
      ...command,
      at: catalog.now(),
      fingerprint,
      ...(ifMatch === undefined ? {} : { ifMatch }),
      ...(actor === undefined ? {} : { actor }),
    });
    if (outcome.kind === 'key-used') throw keyUsed(kind);
    if ('revision' in outcome && 'reason' in outcome && outcome.reason === 'revision') {
      throw revisionMismatch(kind, outcome.revision, ifMatch);
    }
    return resultOf(outcome);
  }, 'this request was being prepared');
}

export function keyUsed(kind: Prepared['kind'] | 'merges'): Problem {
  return new Problem(
    'idempotency-conflict',
    `This Idempotency-Key was used for another change of the ${kind}.`,
    'Use a new key for new content; repeat a key only to repeat the very same request.',
  );
}

export function revisionMismatch(
  kind: Prepared['kind'],
  revision: string,
  ifMatch: string | undefined,
): Problem {
  const what = kind === 'tools' ? 'The catalog is' : 'The instructions are';
  return new Problem(
    'revision-mismatch',
    `${what} at revision ${revision}, not ${ifMatch}.`,
    `Read the ${kind} again, apply your change to what you find, and send its revision as If-Match.`,
  );
}

/** With a key of the sender's the same content is applied once, and other content refused. */
export function commandOf(kind: string, idempotencyKey: string | undefined, content: unknown) {
  if (idempotencyKey === undefined) return { key: `${kind}/${randomUUID()}` };
  const digest = createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 16);
  return { key: `${kind}/${idempotencyKey}`, content: digest };
}
