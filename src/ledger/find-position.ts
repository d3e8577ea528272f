import type { Position } from './entry.ts';
import { type Ledger, LedgerTrimmedError } from './ledger.ts';

/** The position after which everything up to `head` is still there: 0, or where the ledger was trimmed. */
export async function firstPosition(ledger: Ledger, head: Position): Promise<Position> {
  let trimmed = -1;
  let kept = head;
  while (kept - trimmed > 1) {
    const middle = trimmed === -1 ? 0 : Math.floor((trimmed + kept) / 2);
    if (await isKept(ledger, middle)) kept = middle;
    else trimmed = middle;
  }
  return kept;
}

/**
 * The last position up to `upTo` whose entry is older than this; ms since the epoch. Times grow with positions but for
 * what processes' clocks differ by.
 */
export async function lastBefore(ledger: Ledger, time: number, upTo: Position): Promise<Position> {
  let older = await firstPosition(ledger, upTo);
  let younger = upTo + 1;
  while (younger - older > 1) {
    const middle = Math.floor((older + younger) / 2);
    const [found] = await ledger.read(middle - 1, 1);
    if (found !== undefined && found.entry.at < time) older = middle;
    else younger = middle;
  }
  return older;
}

async function isKept(ledger: Ledger, after: Position): Promise<boolean> {
  try {
    await ledger.read(after, 1);
    return true;
  } catch (error) {
    if (error instanceof LedgerTrimmedError) return false;
    throw error;
  }
}
