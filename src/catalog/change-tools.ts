import { createHash, randomUUID } from 'node:crypto';
import { Problem } from '../errors/problem.ts';
import type { ToolPut, ToolsEntry } from '../ledger/entry.ts';
import { API_SOURCE, type ToolDefinition } from '../ledger/tool-definition.ts';
import { denseText } from '../retrieval/document-text.ts';
import { inSlices, mapInSteps } from '../scheduling/slices.ts';
import type { ToolsApplied } from '../state/fold-result.ts';
import type { Catalog } from './catalog.ts';
import { definitionHash } from './definition-hash.ts';
import { refusingUnusable } from './embedders.ts';

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

export interface ChangeOptions {
  /** Revision that the catalog must have. */
  readonly ifMatch?: string;
  /** The same key with the same content is applied once and answered alike, for a day. */
  readonly idempotencyKey?: string;
  readonly actor?: string;
  /** Stops the embedding of the tools, as long as nothing has been submitted. */
  readonly signal?: AbortSignal;
}

export type ToolChanges = Omit<ToolsApplied, 'kind'>;

/** Full sync: afterwards these are the tools that were put over the API. Only changed definitions are embedded. */
export async function syncTools(
  catalog: Catalog,
  tools: readonly ToolDefinition[],
  options: ChangeOptions = {},
): Promise<ToolChanges> {
  const hashed = await hashedAs(catalog, tools);
  refuseRepeats(hashed.map(({ tool }) => tool.name));
  const sync = Object.fromEntries(hashed.map(({ tool, hash }) => [tool.name, hash]));
  return change(catalog, hashed, { remove: [], sync }, options);
}

/** Puts some tools and removes others; names that are not there are removed without complaint. */
export async function patchTools(
  catalog: Catalog,
  put: readonly ToolDefinition[],
  remove: readonly string[],
  options: ChangeOptions = {},
): Promise<ToolChanges> {
  const hashed = await hashedAs(catalog, put);
  const removed = remove.map((name) => catalog.state.tools.nameOf(name));
  refuseRepeats([...hashed.map(({ tool }) => tool.name), ...removed]);
  return change(catalog, hashed, { remove: removed }, options);
}

function hashedAs({ state: { settings } }: Catalog, tools: readonly ToolDefinition[]): Promise<Hashed[]> {
  return inSlices(mapInSteps(tools, (tool) => ({ tool, hash: definitionHash(tool, settings) })));
}

/** A definition with its hash, and its name at its source where that is another one. */
export type Hashed = Pick<ToolPut, 'tool' | 'hash' | 'nameThere'>;

async function change(
  catalog: Catalog,
  hashed: readonly Hashed[],
  rest: Pick<ToolsEntry, 'remove' | 'sync'>,
  { ifMatch, idempotencyKey, actor, signal }: ChangeOptions,
): Promise<ToolChanges> {
  const command = commandOf(idempotencyKey, [hashed.map(({ tool, hash }) => [tool.name, hash]), rest]);
  const attempt = async (): Promise<ToolChanges | undefined> => {
    const { fingerprint } = catalog.state;
    const put = await withEmbeddings(catalog, hashed, rest.sync !== undefined, signal);
    const outcome = await catalog.replica.submit({
      kind: 'tools',
      source: API_SOURCE,
      ...command,
      at: catalog.now(),
      put,
      ...rest,
      fingerprint,
      ...(ifMatch === undefined ? {} : { ifMatch }),
      ...(actor === undefined ? {} : { actor }),
    });
    if (outcome.kind === 'tools') {
      const { kind: _, ...changes } = outcome;
      return changes;
    }
    if (outcome.kind === 'key-used') {
      throw new Problem(
        'idempotency-conflict',
        'This Idempotency-Key was used for another change of the tools.',
        'Use a new key for new content; repeat a key only to repeat the very same request.',
      );
    }
    if (outcome.kind === 'tools-refused' && outcome.reason === 'revision') {
      throw new Problem(
        'revision-mismatch',
        `The catalog is at revision ${outcome.revision}, not ${ifMatch}.`,
        'Read the tools again, apply your change to what you find, and send its revision as If-Match.',
      );
    }
    if (outcome.kind === 'tools-refused' && outcome.reason === 'source') {
      const violations = outcome.owners.map(({ tool, source }) => {
        return { path: 'tools', message: `"${tool}" belongs to source "${source}"` };
      });
      throw new Problem(
        'validation-failed',
        `Tools of other sources cannot be changed here: ${violations[0].message}.`,
        'Change them where they come from, or use other names.',
        { violations },
      );
    }
    return undefined;
  };
  return attemptChange(attempt, 'this request was being prepared');
}

/** Only what is new here or has changed is embedded; what has not is left out of a full sync. */
export async function withEmbeddings(
  catalog: Catalog,
  hashed: readonly Hashed[],
  isSync: boolean,
  signal: AbortSignal | undefined,
): Promise<ToolPut[]> {
  const { tools } = catalog.state;
  // Before anything is awaited: afterwards it may be another state, and another definition that has this name.
  const known = hashed.map(({ tool, hash, nameThere }) => {
    const record = tools.get(tool.name);
    if (record?.hash !== hash) return null;
    return { vector: tools.vectors.get(record.slot).slice(), isSame: record.nameThere === nameThere };
  });
  const changed = hashed.filter((_, at) => known[at] === null);
  const made = await refusingUnusable(() =>
    catalog.embedDocuments(
      changed.map(({ tool }) => denseText(tool)),
      signal,
    ),
  );
  const fresh = new Map(changed.map(({ tool }, at) => [tool.name, made[at]]));
  return hashed.flatMap((one, at) => {
    const { vector, isSame } = known[at] ?? { vector: fresh.get(one.tool.name) ?? null, isSame: false };
    return isSync && isSame ? [] : [{ ...one, embedding: vector }];
  });
}

/** With a key of the sender's the same content is applied once, and other content refused. */
function commandOf(
  idempotencyKey: string | undefined,
  content: unknown,
): Pick<ToolsEntry, 'key' | 'content'> {
  if (idempotencyKey === undefined) return { key: `tools/${randomUUID()}` };
  const digest = createHash('sha256').update(JSON.stringify(content)).digest('hex').slice(0, 16);
  return { key: `tools/${idempotencyKey}`, content: digest };
}

function refuseRepeats(names: readonly string[]): void {
  const seen = new Set<string>();
  const repeated = names.filter((name) => seen.size === seen.add(name).size);
  if (repeated.length === 0) return;
  throw new Problem(
    'validation-failed',
    `Tool names must be unique within one request; repeated: ${[...new Set(repeated)].slice(0, 5).join(', ')}.`,
    'Send every tool once. Tools of different servers with the same name need a prefix, e.g. "mail.search".',
    {
      violations: [...new Set(repeated)].map((name) => ({ path: 'tools', message: `"${name}" is repeated` })),
    },
  );
}
