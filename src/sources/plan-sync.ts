import type { Hashed } from '../catalog/change-tools.ts';
import { definitionHash } from '../ledger/definition-hash.ts';
import type { ToolPut } from '../ledger/entry.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { Steps } from '../scheduling/slices.ts';
import type { CatalogState } from '../state/catalog-state.ts';
import type { SourceRecord } from '../state/source-table.ts';
import type { FaultsOf } from './formats/read-tools.ts';
import { type Refused, serverPrefix } from './formats/tool-fields.ts';

/** A source has at most so many tools. */
export const MAX_TOOLS = 10_000;

/** What a source offers; names are those at the source, each once. */
export interface Offer {
  readonly tools: readonly ToolDefinition[];
  readonly leftOut: readonly Refused[];
  /** How long the source says that this holds, ms. */
  readonly ttlMs?: number;
}

/** What an offer makes of the tools of its source. */
export interface SyncPlan {
  /** Those that are served afterwards with a definition of the offer. */
  readonly served: readonly Hashed[];
  /** Definitions that wait for approval. */
  readonly held: readonly ToolPut[];
  /** Name and definition hash of every tool that is served afterwards. */
  readonly sync: Readonly<Record<string, string>>;
  readonly leftOut: readonly Refused[];
  /** Everything is as it is already. */
  readonly isUnchanged: boolean;
}

/**
 * Compares an offer with the tools that its source has. A tool is named `prefix` and its name at the source; where a tool of
 * another source has that name, with the name of the source before it. It keeps its name while that may stand.
 */
export function* planSync(
  state: CatalogState,
  record: SourceRecord,
  offer: Offer,
  faultsOf: FaultsOf,
): Steps<SyncPlan> {
  const { tools, settings, sources } = state;
  const own = [...tools.live()].filter(({ source }) => source === record.name);
  const present = new Map(own.map(({ tool, nameThere }) => [nameThere ?? tool.name, tool.name]));
  const taken = new Set<string>();
  const leftOut = [...offer.leftOut];
  const served: Hashed[] = [];
  const held: ToolPut[] = [];
  const sync = new Map<string, string>();
  // The first sync is what the operator asked for; what changes after it may have to wait.
  const quarantines = record.definition.onChange === 'quarantine' && record.syncedAt !== null;
  const hashOf = (tool: ToolDefinition) => definitionHash(tool, settings);
  for (const offered of offer.tools) {
    yield;
    const plain = (record.definition.prefix ?? '') + offered.name;
    const possible = [plain, serverPrefix(record.name) + plain];
    const before = present.get(offered.name);
    const first = before !== undefined && possible.includes(before) ? [before] : [];
    const isFree = (name: string) =>
      !taken.has(name) && (tools.get(name)?.source ?? record.name) === record.name;
    const name = [...first, ...possible].find(isFree);
    if (name === undefined) {
      leftOut.push({
        name: offered.name,
        why: `other tools are called ${possible.join(' and ')}: give it a prefix`,
      });
      continue;
    }
    const isRenamed = before !== undefined && before !== name;
    const tool = {
      ...offered,
      name,
      ...(isRenamed && { replaces: [...new Set([...(offered.replaces ?? []), before])] }),
    };
    const why = faultsOf(tool);
    if (why !== null) {
      leftOut.push({ name: offered.name, why });
      continue;
    }
    taken.add(name);
    const one: Hashed = {
      tool,
      hash: hashOf(tool),
      ...(name !== offered.name && { nameThere: offered.name }),
    };
    const live = tools.get(name);
    const known = tools.find(name);
    const isKnown =
      (known?.source === record.name && known.hash === one.hash) ||
      (isRenamed && tools.get(before)?.hash === hashOf({ ...tool, name: before }));
    if (!quarantines || isKnown) {
      served.push(one);
      sync.set(name, one.hash);
    } else {
      held.push({ ...one, held: true, embedding: null });
      if (live !== undefined) sync.set(name, live.hash);
    }
  }
  const waiting = sources.held(record.name);
  const isUnchanged =
    own.length === sync.size &&
    own.every(({ tool, hash }) => sync.get(tool.name) === hash) &&
    served.every(({ tool, nameThere }) => tools.get(tool.name)?.nameThere === nameThere) &&
    waiting.size === held.length &&
    held.every(({ tool, hash }) => waiting.get(tool.name)?.hash === hash);
  return { served, held, sync: Object.fromEntries(sync), leftOut, isUnchanged };
}
