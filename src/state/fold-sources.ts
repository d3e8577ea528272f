import { isDeepStrictEqual } from 'node:util';
import type { Position, SourceEntry, ToolsEntry } from '../ledger/entry.ts';
import { API_SOURCE } from '../ledger/tool-definition.ts';
import type { CatalogState } from './catalog-state.ts';
import { leaveMerges } from './fold-merges.ts';
import type { SourceResult } from './fold-result.ts';
import type { HeldTool } from './source-table.ts';

/** A catalog has at most so many sources. */
export const MAX_SOURCES = 200;

/** Puts or removes a source, or takes in what became of a sync that changed no tools. It pauses after every tool. */
export function* foldSource(
  state: CatalogState,
  { name, change, at }: SourceEntry,
  position: Position,
): Generator<void, SourceResult> {
  const { sources } = state;
  const record = sources.get(name);
  if (change.action === 'put') {
    if (record === undefined && sources.size >= MAX_SOURCES)
      return { kind: 'source-refused', reason: 'too-many' };
    const isSame = record !== undefined && isDeepStrictEqual(record.definition, change.definition);
    if (!isSame) sources.put(name, change.definition, position, at);
    return { kind: 'source', added: record === undefined };
  }
  if (record === undefined) return { kind: 'source-refused', reason: 'unknown' };
  if (change.action === 'remove') {
    yield* releaseTools(state, name, change.keepTools ? API_SOURCE : null, at);
    sources.remove(name);
    state.revision = `r${position}`;
    return { kind: 'source', added: false };
  }
  if (record.generation !== change.generation) return { kind: 'source-refused', reason: 'unknown' };
  if (change.action === 'failed') sources.failed(record, at, change.startedAt, change.error);
  else sources.succeeded(record, at, change);
  return { kind: 'source', added: false };
}

/** Removes the tools of a source that goes, or gives them to another one. */
function* releaseTools(
  state: CatalogState,
  source: string,
  heir: string | null,
  at: number,
): Generator<void> {
  for (const record of [...state.tools.live()].filter((one) => one.source === source)) {
    if (heir === null) {
      leaveMerges(state, record, at, 'removed');
      state.tools.remove(record, at);
    } else state.tools.giveTo(record, heir);
    yield;
  }
}

/** Returns why a `tools` entry of a source does not count: the source is gone or defined anew, or what it approves is not held. */
export function refusalOfSync(
  state: CatalogState,
  { source, of, put, synced }: ToolsEntry,
): 'gone' | 'stale' | null {
  if (source === API_SOURCE) return null;
  if (of === undefined || state.sources.get(source)?.generation !== of) return 'gone';
  if (synced !== undefined) return null;
  const held = state.sources.held(source);
  return put.every(({ tool, hash }) => held.get(tool.name)?.hash === hash) ? null : 'stale';
}

/** Takes in what a sync or an approval says about its source; the tools are put already. */
export function noteSync({ sources }: CatalogState, { source, put, synced, at }: ToolsEntry): void {
  const record = sources.get(source);
  if (record === undefined) return;
  if (synced === undefined) {
    const approved = new Set(put.map(({ tool }) => tool.name));
    sources.hold(
      source,
      [...sources.held(source).values()].filter(({ tool }) => !approved.has(tool.name)),
    );
    return;
  }
  const held = put.flatMap(({ tool, hash, nameThere, held }): HeldTool[] =>
    held ? [{ tool, hash, ...(nameThere !== undefined && { nameThere }), heldSince: at }] : [],
  );
  sources.hold(source, held);
  sources.succeeded(record, at, synced);
}
