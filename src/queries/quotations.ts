/** Replaces a quoted character; it is neither letter nor punctuation nor space. */
export const QUOTED = '\uE000';

/** A longer quotation is treated like other text. */
const LONGEST = 400;

/** Opening mark → the marks that close it. */
const CLOSING_MARKS: ReadonlyMap<string, string> = new Map([
  ['"', '"'],
  ["'", "'’"],
  ['`', '`'],
  ['‘', '’'],
  ['“', '”"'],
  ['„', '“”'],
  ['«', '»'],
  ['»', '«'],
  ['「', '」'],
  ['『', '』'],
]);
const OPENING_MARK = /["'`‘“„«»「『]/;
const LETTER = /[\p{L}\p{N}]/u;

/**
 * Returns the text with everything in quotation marks blanked, at the same length. A quotation is a value: its full stops and
 * verbs do not divide the query. An apostrophe is no quotation mark.
 */
export function withoutQuotations(text: string): string {
  if (!OPENING_MARK.test(text)) return text;
  let masked = '';
  let copied = 0;
  for (let at = 0; at < text.length; at++) {
    const closing = CLOSING_MARKS.get(text[at]);
    if (closing === undefined || (at > 0 && LETTER.test(text[at - 1]))) continue;
    const end = closingMark(text, at + 1, closing);
    if (end < 0) continue;
    masked += text.slice(copied, at + 1) + QUOTED.repeat(end - at - 1);
    copied = end;
    at = end;
  }
  return masked + text.slice(copied);
}

/** Returns the text without quotation marks that enclose all of it. */
export function withoutWrapping(text: string): string {
  const closing = CLOSING_MARKS.get(text[0]);
  return closing?.includes(text[text.length - 1]) && text.length > 1 ? text.slice(1, -1) : text;
}

function closingMark(text: string, from: number, marks: string): number {
  const limit = Math.min(text.length, from + LONGEST);
  for (let at = from + 1; at < limit; at++) {
    if (marks.includes(text[at]) && !LETTER.test(text[at + 1] ?? ' ')) return at;
  }
  return -1;
}
