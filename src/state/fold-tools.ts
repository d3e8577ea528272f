import { cosine } from '../../bandit/cosine.ts';
import type { Position, ToolPut, ToolsEntry } from '../ledger/entry.ts';
import type { CatalogState } from './catalog-state.ts';
import type { ToolsOutcome } from './outcome.ts';
import type { ToolRecord } from './tool-table.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Puts and removes tools, or refuses the whole entry; nothing in between. Pauses after every tool: ten thousand take
 * a second. What is put is found at once, then goes what is removed; `revision` and `position` say when all is done.
 */
export function* foldTools(
  state: CatalogState,
  entry: ToolsEntry,
  position: Position,
): Generator<void, ToolsOutcome> {
  const { revision } = state;
  if (entry.ifMatch !== undefined && entry.ifMatch !== revision) {
    return { kind: 'tools-refused', reason: 'revision', revision };
  }
  if (entry.fingerprint !== state.fingerprint || !coversSync(state, entry)) {
    return { kind: 'tools-refused', reason: 'stale', revision };
  }
  const live = state.tools.size;
  let added = 0;
  let changed = 0;
  const putNames = new Set(entry.put.map(({ tool }) => tool.name));
  for (const put of entry.put) {
    const effect = putTool(state, put, putNames, entry.at);
    if (effect === 'added') added++;
    else if (effect === 'changed') changed++;
    yield;
  }
  let removed = 0;
  for (const record of removals(state, entry)) {
    state.tools.remove(record, entry.at);
    removed++;
    yield;
  }
  yield* forgetExpired(state);
  if (added + changed + removed > 0) state.revision = `r${position}`;
  const kept = entry.sync === undefined ? entry.put.length : Object.keys(entry.sync).length;
  const unchanged = entry.sync === undefined ? kept - added - changed : Math.max(0, live - changed - removed);
  return { kind: 'tools', added, changed, removed, unchanged, revision: state.revision };
}

/** A full sync lists every tool by hash but carries only those that its sender saw change. */
function coversSync(state: CatalogState, entry: ToolsEntry): boolean {
  if (entry.sync === undefined) return true;
  const carried = new Set(entry.put.map(({ tool }) => tool.name));
  return Object.entries(entry.sync).every(
    ([name, hash]) => carried.has(name) || state.tools.get(name)?.hash === hash,
  );
}

function putTool(
  state: CatalogState,
  { tool, hash, embedding }: ToolPut,
  putNames: ReadonlySet<string>,
  at: number,
): 'added' | 'changed' | 'unchanged' {
  const known = state.tools.find(tool.name);
  if (known?.removedAt === null && known.hash === hash) return 'unchanged';
  const renamed = known === undefined ? predecessor(state, tool.replaces ?? [], putNames) : undefined;
  const before = known ?? renamed;
  if (before === undefined) {
    const { slot } = state.tools.put(tool, hash, embedding, at);
    for (const { policy } of state.learners.all()) policy.addTool(slot);
    return 'added';
  }
  const old = state.tools.vectors.get(before.slot).slice();
  const record = state.tools.put(tool, hash, embedding, at, renamed);
  const similarity = embedding === null ? 1 : cosine(old, embedding);
  if (before.hash !== hash) {
    for (const { policy } of state.learners.all()) policy.changeTool(record.slot, similarity);
  }
  return before.removedAt === null ? 'changed' : 'added';
}

/** The tool whose place a new one takes: the first of the old names that is known and not itself being put. */
function predecessor(
  state: CatalogState,
  names: readonly string[],
  putNames: ReadonlySet<string>,
): ToolRecord | undefined {
  const name = names.find((old) => !putNames.has(old) && state.tools.find(old) !== undefined);
  return name === undefined ? undefined : state.tools.find(name);
}

function removals(state: CatalogState, entry: ToolsEntry): ToolRecord[] {
  const { sync } = entry;
  if (sync !== undefined)
    return [...state.tools.live()].filter(({ tool }) => !Object.hasOwn(sync, tool.name));
  const names = new Set(entry.remove);
  return [...names].map((name) => state.tools.get(name)).filter((record) => record !== undefined);
}

function* forgetExpired(state: CatalogState): Generator<void> {
  const limit = state.clock - state.settings.forgetRemovedAfterDays * DAY_MS;
  for (const record of [...state.tools.records()]) {
    if (record.removedAt === null || record.removedAt >= limit) continue;
    for (const { policy } of state.learners.all()) policy.forgetTool(record.slot);
    state.tools.expire(record);
    yield;
  }
}
