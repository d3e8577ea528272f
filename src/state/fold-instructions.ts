import { cosine } from '../../bandit/tool-vectors.ts';
import type { InstructionPut, InstructionsEntry, Position } from '../ledger/entry.ts';
import { MAX_INCLUDED } from '../ledger/instruction-definition.ts';
import type { CatalogState } from './catalog-state.ts';
import type { InstructionsResult } from './fold-result.ts';
import {
  INSTRUCTION_EVENTS,
  type InstructionEvent,
  type InstructionRecord,
  type InstructionTable,
  MAX_LOGGED_IDS,
} from './instruction-table.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

/** As for tools (bandit/policies): from this cosine on, what was learned of the earlier text is kept; below, a quarter of it. */
const SAME_TEXT_FROM = 0.9;
const KEPT_OF_ANOTHER_TEXT = 0.25;

type Events = Record<InstructionEvent, string[]>;

/** Puts, approves and removes instructions, or refuses the whole entry. It pauses after every instruction. */
export function* foldInstructions(
  state: CatalogState,
  entry: InstructionsEntry,
  position: Position,
): Generator<void, InstructionsResult> {
  const { instructions } = state;
  const { revision } = instructions;
  if (entry.ifMatch !== undefined && entry.ifMatch !== revision) {
    return { kind: 'instructions-refused', reason: 'revision', revision };
  }
  const isStale = entry.preparedFor !== undefined && entry.preparedFor !== revision;
  if (isStale || entry.fingerprint !== state.fingerprint) {
    return { kind: 'instructions-refused', reason: 'stale', revision };
  }
  const removed = removals(instructions, entry);
  const refusal = refusalOfIncludes(instructions, entry, removed);
  if (refusal !== null) return refusal;

  const events: Events = { added: [], changed: [], approved: [], withdrawn: [], removed: [] };
  const touched = new Set<string>();
  for (const put of entry.put) {
    const before = instructions.find(put.instruction.id);
    const vector = before === undefined ? null : instructions.vectors.get(before.slot).slice();
    for (const event of putInstruction(instructions, put, entry)) {
      events[event].push(put.instruction.id);
      touched.add(put.instruction.id);
    }
    if (before !== undefined && instructions.get(put.instruction.id)?.hash !== before.hash) {
      const similarity = put.embedding === null ? 0 : cosine(vector!, put.embedding);
      if (similarity < SAME_TEXT_FROM) state.effects.scale(before.slot, KEPT_OF_ANOTHER_TEXT);
    }
    yield;
  }
  for (const record of removed) {
    instructions.remove(record, entry.at);
    events.removed.push(record.instruction.id);
    yield;
  }
  yield* forgetExpired(state);
  if (touched.size + removed.length > 0) {
    const { at, actor } = entry;
    instructions.log({
      revision: `i${position}`,
      at,
      ...(actor !== undefined && { actor }),
      counts: eachEvent((event) => events[event].length),
      ids: eachEvent((event) => events[event].slice(0, MAX_LOGGED_IDS)),
    });
  }
  const { added, changed, approved, withdrawn } = events;
  return {
    kind: 'instructions',
    added: added.length,
    changed: changed.length,
    approved: approved.length,
    withdrawn: withdrawn.length,
    removed: removed.length,
    unchanged: (entry.sync?.length ?? entry.put.length) - touched.size,
    revision: instructions.revision,
  };
}

function eachEvent<Value>(of: (event: InstructionEvent) => Value): Record<InstructionEvent, Value> {
  const all = INSTRUCTION_EVENTS.map((event) => [event, of(event)] as const);
  return Object.fromEntries(all) as Record<InstructionEvent, Value>;
}

function removals(instructions: InstructionTable, { sync, remove }: InstructionsEntry): InstructionRecord[] {
  if (sync !== undefined) {
    const kept = new Set(sync);
    return [...instructions.live()].filter(({ instruction }) => !kept.has(instruction.id));
  }
  return [...new Set(remove)].map((id) => instructions.get(id)).filter((record) => record !== undefined);
}

/**
 * Returns what a put does to an instruction; nothing where it is like this already. Only an approval changes what is served:
 * another text of an approved instruction waits for it.
 */
export function effectOf(
  record: InstructionRecord | undefined,
  { instruction: { status }, hash }: Pick<InstructionPut, 'instruction' | 'hash'>,
): readonly InstructionEvent[] {
  if (record === undefined || record.removedAt !== null) {
    return status === 'approved' ? ['added', 'approved'] : ['added'];
  }
  const { instruction: served, pending } = record;
  if (record.hash === hash) {
    if (status !== undefined && status !== served.status) {
      return status === 'approved' ? ['approved'] : ['withdrawn'];
    }
    return pending === undefined ? [] : ['changed'];
  }
  if (status === 'approved') return pending?.hash === hash ? ['approved'] : ['changed', 'approved'];
  return pending?.hash === hash ? [] : ['changed'];
}

function putInstruction(
  instructions: InstructionTable,
  put: InstructionPut,
  { at, actor }: InstructionsEntry,
): readonly InstructionEvent[] {
  const { instruction, hash } = put;
  const record = instructions.get(instruction.id);
  const events = effectOf(record, put);
  const status = instruction.status ?? 'draft';
  const approval = status === 'draft' ? undefined : { at, ...(actor !== undefined && { actor }) };
  if (events.length === 0) return events;
  if (record?.hash === hash) {
    if (instruction.status === undefined || instruction.status === record.instruction.status) {
      instructions.hold(record, null);
    } else instructions.setStatus(record, status, approval, at);
  } else if (record?.instruction.status === 'approved' && status === 'draft') {
    instructions.hold(record, { instruction: { ...instruction, status }, hash, at });
  } else instructions.put({ ...instruction, status }, put, approval, at);
  return events;
}

/** Looks for ids that would be missing, for circles, and for what would bring too many others, with the definitions that are served and those that wait for approval. */
function refusalOfIncludes(
  instructions: InstructionTable,
  { put }: InstructionsEntry,
  removed: readonly InstructionRecord[],
): InstructionsResult | null {
  const gone = new Set(removed.map(({ instruction }) => instruction.id));
  const wanted = new Map<string, ReadonlySet<string>>();
  for (const { instruction, pending } of instructions.live()) {
    const includes = [...(instruction.includes ?? []), ...(pending?.instruction.includes ?? [])];
    if (includes.length > 0 && !gone.has(instruction.id)) wanted.set(instruction.id, new Set(includes));
  }
  for (const { instruction } of put) {
    const { id, includes = [] } = instruction;
    // Of an approved one whose change waits, both are wanted.
    const served = instructions.get(id)?.instruction;
    const isKept = served?.status === 'approved' && instruction.status !== 'approved';
    const both = [...includes, ...(isKept ? (served.includes ?? []) : [])];
    if (both.length === 0) wanted.delete(id);
    else wanted.set(id, new Set(both));
  }
  const there = new Set(put.map(({ instruction }) => instruction.id));
  const dangling = [...wanted].flatMap(([id, includes]) => {
    const missing = [...includes].filter(
      (one) => !there.has(one) && (gone.has(one) || instructions.get(one) === undefined),
    );
    return missing.map((include) => ({ id, include }));
  });
  if (dangling.length > 0) return { kind: 'instructions-refused', reason: 'includes', dangling };
  const circle = circleIn(wanted);
  if (circle !== null) return { kind: 'instructions-refused', reason: 'circle', circle };
  const ids = [...wanted.keys()].filter((id) => bringsTooMany(id, wanted));
  return ids.length === 0 ? null : { kind: 'instructions-refused', reason: 'too-many-included', ids };
}

/** It counts no further than the limit, so that a long chain takes no longer than a short one. */
function bringsTooMany(id: string, includes: ReadonlyMap<string, ReadonlySet<string>>): boolean {
  const found = new Set([id]);
  for (const one of found) {
    for (const included of includes.get(one) ?? []) {
      found.add(included);
      if (found.size > MAX_INCLUDED + 1) return true;
    }
  }
  return false;
}

/** Returns ids of which each includes the next and the last the first; null: there are none. No recursion: chains may be long. */
function circleIn(includes: ReadonlyMap<string, ReadonlySet<string>>): readonly string[] | null {
  const done = new Set<string>();
  for (const start of includes.keys()) {
    const path: string[] = [start];
    const open = new Set(path);
    const rest = [[...(includes.get(start) ?? [])]];
    while (path.length > 0) {
      const next = rest.at(-1)!.pop();
      if (next === undefined) {
        rest.pop();
        const left = path.pop()!;
        open.delete(left);
        done.add(left);
      } else if (open.has(next)) return path.slice(path.indexOf(next));
      else if (!done.has(next)) {
        path.push(next);
        open.add(next);
        rest.push([...(includes.get(next) ?? [])]);
      }
    }
  }
  return null;
}

function* forgetExpired({ instructions, effects, clock, settings }: CatalogState): Generator<void> {
  const limit = clock - settings.forgetRemovedAfterDays * DAY_MS;
  for (const record of [...instructions.records()]) {
    if (record.removedAt === null || record.removedAt >= limit) continue;
    effects.scale(record.slot, 0);
    instructions.expire(record);
    yield;
  }
}
