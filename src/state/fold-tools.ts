import { cosine } from '../../bandit/tool-vectors.ts';
import type { Position, ToolPut, ToolsEntry } from '../ledger/entry.ts';
import { API_SOURCE } from '../ledger/tool-definition.ts';
import type { CatalogState } from './catalog-state.ts';
import { leaveMerges } from './fold-merges.ts';
import type { ToolsResult } from './fold-result.ts';
import { noteSync, refusalOfSync } from './fold-sources.ts';
import type { ToolRecord } from './tool-table.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/**
 * Puts and removes tools of one source, or refuses the whole entry. It pauses after every tool, because ten thousand take a
 * second. First all tools are put, then tools are removed; `revision` and `position` change last.
 */
export function* foldTools(
  state: CatalogState,
  entry: ToolsEntry,
  position: Position,
): Generator<void, ToolsResult> {
  const { revision } = state;
  if (entry.ifMatch !== undefined && entry.ifMatch !== revision) {
    return { kind: 'tools-refused', reason: 'revision', revision };
  }
  const refusal = refusalOfSync(state, entry);
  if (refusal !== null) return { kind: 'tools-refused', reason: refusal, revision };
  const owners = otherOwners(state, entry);
  if (owners.length > 0) return { kind: 'tools-refused', reason: 'source', owners };
  if (entry.fingerprint !== state.fingerprint || !coversSync(state, entry)) {
    return { kind: 'tools-refused', reason: 'stale', revision };
  }
  let added = 0;
  let changed = 0;
  const served = entry.put.filter(({ held }) => !held);
  const putNames = new Set(served.map(({ tool }) => tool.name));
  for (const put of served) {
    const effect = putTool(state, put, putNames, entry);
    if (effect === 'added') added++;
    else if (effect === 'changed') changed++;
    yield;
  }
  let removed = 0;
  for (const record of removals(state, entry)) {
    leaveMerges(state, record, entry.at, 'removed');
    state.tools.remove(record, entry.at);
    removed++;
    yield;
  }
  yield* forgetExpired(state);
  noteSync(state, entry);
  if (added + changed + removed > 0) state.revision = `r${position}`;
  const wanted = entry.sync === undefined ? served.length : Object.keys(entry.sync).length;
  const unchanged = wanted - added - changed;
  return { kind: 'tools', added, changed, removed, unchanged, revision: state.revision };
}

/** Returns the tools of the entry that belong to another source. */
function otherOwners({ tools }: CatalogState, entry: ToolsEntry): { tool: string; source: string }[] {
  const putNames = entry.put.map(({ tool }) => tool.name);
  const names = new Set([...putNames, ...entry.remove, ...Object.keys(entry.sync ?? {})]);
  return [...names].flatMap((tool) => {
    const source = tools.get(tool)?.source ?? entry.source;
    return source === entry.source ? [] : [{ tool, source }];
  });
}

/** Returns whether a full sync is complete: it lists every tool by hash, but has the definitions of changed tools only. */
function coversSync(state: CatalogState, entry: ToolsEntry): boolean {
  if (entry.sync === undefined) return true;
  const carried = new Set(entry.put.filter(({ held }) => !held).map(({ tool }) => tool.name));
  return Object.entries(entry.sync).every(
    ([name, hash]) => carried.has(name) || state.tools.get(name)?.hash === hash,
  );
}

function putTool(
  state: CatalogState,
  put: ToolPut,
  putNames: ReadonlySet<string>,
  { source, at }: ToolsEntry,
): 'added' | 'changed' | 'unchanged' {
  const { tool, hash, embedding } = put;
  const known = state.tools.find(tool.name);
  if (known?.removedAt === null && known.hash === hash && known.nameThere === put.nameThere)
    return 'unchanged';
  const renamed = known === undefined ? predecessor(state, put, putNames, source) : undefined;
  const before = known ?? renamed;
  if (before === undefined) {
    const { slot } = state.tools.put(put, source, at);
    for (const { policy } of state.learners.all()) policy.addTool(slot);
    return 'added';
  }
  if (renamed !== undefined) leaveMerges(state, renamed, at, 'renamed');
  else if (before.hash !== hash) leaveMerges(state, before, at, 'changed');
  const old = state.tools.vectors.get(before.slot).slice();
  const record = state.tools.put(put, source, at, renamed);
  const similarity = embedding === null ? 1 : cosine(old, embedding);
  if (before.hash !== hash) {
    for (const { policy } of state.learners.all()) policy.changeTool(record.slot, similarity);
  }
  return before.removedAt === null ? 'changed' : 'added';
}

/**
 * Returns the tool that a new one replaces: of its earlier names the first that is known, is not put by the same entry, and
 * belongs to the same source. What the API has removed any source may replace, and the API what any source has removed:
 * both are the operator's own word. No source takes what was learned of the tools of another one.
 */
function predecessor(
  state: CatalogState,
  { tool: { replaces = [] } }: ToolPut,
  putNames: ReadonlySet<string>,
  source: string,
): ToolRecord | undefined {
  return replaces
    .map((name) => state.tools.nameOf(name))
    .filter((name) => !putNames.has(name))
    .map((name) => state.tools.find(name))
    .find((record) => {
      if (record === undefined || record.source === source) return record !== undefined;
      return record.removedAt !== null && [record.source, source].includes(API_SOURCE);
    });
}

function removals(state: CatalogState, entry: ToolsEntry): ToolRecord[] {
  const { sync, source } = entry;
  if (sync !== undefined) {
    const own = [...state.tools.live()].filter((record) => record.source === source);
    return own.filter(({ tool }) => !Object.hasOwn(sync, tool.name));
  }
  const names = new Set(entry.remove);
  return [...names].map((name) => state.tools.get(name)).filter((record) => record !== undefined);
}

function* forgetExpired(state: CatalogState): Generator<void> {
  const limit = state.clock - state.settings.forgetRemovedAfterDays * DAY_MS;
  for (const record of [...state.tools.records()]) {
    if (record.removedAt === null || record.removedAt >= limit) continue;
    for (const { policy } of state.learners.all()) policy.forgetTool(record.slot);
    state.confusable.forget(record.slot);
    state.tools.expire(record);
    yield;
  }
}
