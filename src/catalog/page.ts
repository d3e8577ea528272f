import { isUtf8 } from 'node:buffer';
import { Problem } from '../errors/problem.ts';

/** A page ends before its rows become longer than this together, though not before its first row. */
export const PAGE_LENGTH = 2 * 1024 * 1024;

interface Page<Row> {
  readonly rows: readonly Row[];
  /** Says where the next page begins, by the last row of this one; null: it is the last page. */
  readonly nextCursor: string | null;
}

/**
 * Returns the first page of rows in order, those of the pages before left out.
 * @param keyOf what the next page comes after
 * @param lengthOf characters
 */
export function firstPage<Row>(
  rest: readonly Row[],
  limit: number,
  keyOf: (row: Row) => string,
  lengthOf: (row: Row) => number,
): Page<Row> {
  let length = 0;
  const rows = rest.slice(0, limit).filter((row, at) => {
    length += lengthOf(row);
    return at === 0 || length <= PAGE_LENGTH;
  });
  const isLast = rows.length === rest.length;
  return { rows, nextCursor: isLast ? null : Buffer.from(keyOf(rows.at(-1)!)).toString('base64url') };
}

/** Returns what the page comes after, as `keyOf` of `firstPage` has named it; empty: nothing. @throws Problem validation-failed */
export function afterOf(cursor: string | undefined): string {
  if (cursor === undefined) return '';
  const bytes = Buffer.from(cursor, 'base64url');
  if (bytes.length > 0 && bytes.toString('base64url') === cursor && isUtf8(bytes)) return bytes.toString();
  const message = 'has to be the `nextCursor` of the page before';
  throw new Problem('validation-failed', `The cursor ${message}.`, 'Begin again without one.', {
    violations: [{ path: 'cursor', message }],
  });
}
