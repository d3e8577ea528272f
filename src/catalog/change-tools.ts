import { Problem } from '../errors/problem.ts';
import { definitionHash } from '../ledger/definition-hash.ts';
import type { ToolPut, ToolsEntry } from '../ledger/entry.ts';
import { API_SOURCE, type ToolDefinition } from '../ledger/tool-definition.ts';
import { denseText } from '../retrieval/document-text.ts';
import { inSlices, mapInSteps } from '../scheduling/slices.ts';
import type { ToolsApplied } from '../state/fold-result.ts';
import type { Catalog } from './catalog.ts';
import { type ChangeOptions, submitChange } from './conditional-change.ts';
import { refusingUnusable } from './embedders.ts';

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

function change(
  catalog: Catalog,
  hashed: readonly Hashed[],
  rest: Pick<ToolsEntry, 'remove' | 'sync'>,
  options: ChangeOptions,
): Promise<ToolChanges> {
  const content = [hashed.map(({ tool, hash }) => [tool.name, hash]), rest];
  const prepare = async () => {
    const put = await withEmbeddings(catalog, hashed, rest.sync !== undefined, options.signal);
    return { kind: 'tools' as const, source: API_SOURCE, put, ...rest };
  };
  return submitChange(catalog, 'tools', content, options, prepare, (outcome) => {
    if (outcome.kind === 'tools') {
      const { kind: _, ...changes } = outcome;
      return changes;
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
  });
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
    return { vector: tools.vectorOf(record).slice(), isSame: record.nameThere === nameThere };
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
