import type { Position } from '../ledger/entry.ts';
import { type Ledger, LedgerTrimmedError } from '../ledger/ledger.ts';

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

async function isKept(ledger: Ledger, after: Position): Promise<boolean> {
  try {
    await ledger.read(after, 1);
    return true;
  } catch (error) {
    if (error instanceof LedgerTrimmedError) return false;
    throw error;
  }
}
