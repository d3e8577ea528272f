import type { Decision } from '../decisions/decision.ts';
import type { DecisionLog } from '../decisions/decision-log.ts';
import type { Position } from '../ledger/entry.ts';
import { firstPosition } from '../ledger/find-position.ts';
import { type Ledger, LedgerTrimmedError, type PositionedEntry } from '../ledger/ledger.ts';
import type { Replay } from './replay.ts';

/** The entries to replay: those after `start`, up to `end`. */
export interface Span {
  readonly start: Position;
  readonly end: Position;
}

const READ_BATCH = 128;

export async function spanOf(ledger: Ledger): Promise<Span> {
  const end = await ledger.head();
  return { start: await firstPosition(ledger, end), end };
}

/**
 * Adds every entry of the span to the replay, with its decision where the replay wants it.
 * @param pause is called after every entry with the share that is done, 0…1, and returns null to go on at once. It may throw to stop.
 */
export async function replayLedger(
  replay: Replay,
  { ledger, log }: { readonly ledger: Ledger; readonly log: DecisionLog | null },
  { start, end }: Span,
  pause: (done: number) => Promise<void> | null,
): Promise<void> {
  let after = start;
  while (after < end) {
    const entries = (await readSome(ledger, after)).filter(({ position }) => position <= end);
    if (entries.length === 0) {
      // The ledger was trimmed meanwhile: go on with the entries that are left.
      after = Math.max(after + 1, await firstPosition(ledger, end));
      continue;
    }
    const decisions = await decisionsFor(replay, entries, log);
    for (const entry of entries) {
      after = entry.position;
      const id = replay.wants(entry);
      replay.add(entry, id === null ? null : (decisions.get(id) ?? null));
      const pausing = pause((after - start) / (end - start));
      if (pausing !== null) await pausing;
    }
  }
}

/** Reads the decisions that the replay wants, all at once, because reading one after the other from a file or Redis is slow. */
async function decisionsFor(
  replay: Replay,
  entries: readonly PositionedEntry[],
  log: DecisionLog | null,
): Promise<Map<string, Decision | null | undefined>> {
  const ids = new Set(entries.map((entry) => replay.wants(entry)));
  const wanted = [...ids].filter((id) => id !== null);
  const found = await Promise.all(wanted.map((id) => log?.get(id)));
  return new Map(wanted.map((id, i) => [id, found[i]]));
}

async function readSome(ledger: Ledger, after: Position): Promise<readonly PositionedEntry[]> {
  try {
    return await ledger.read(after, READ_BATCH);
  } catch (error) {
    if (error instanceof LedgerTrimmedError) return [];
    throw error;
  }
}
