/** [start, end) in a text. */
export type Span = readonly [start: number, end: number];

/** Closing punctuation of any script, and line breaks. Runs are bounded, which keeps the time linear. */
const SENTENCE_END =
  /[.!?…]{1,9}["'”’»)\]]{0,3}(?=\s)|[。！？｡؟।॥։።]{1,9}[」』”’）]{0,3}|;(?=\s)|[；؛]|[\n\r\u2028\u2029]+/g;
const ABBREVIATION =
  /(?:^|[\s(])(?:\p{L}|(?:\p{L}\.)+\p{L}|mr|mrs|ms|dr|prof|st|vs|no|nr|approx|inc|ltd|co|corp|jr|sr|dept|fig|est|ca|bzw|etc)$/iu;
const LONGEST_ABBREVIATION = 8;
/** `1.` in front of an item of a list. */
const ITEM_NUMBER = /^\s*\(?\d{1,2}$/;
const NUMBERED_ITEM = /(?<=^|[\s:,;])\(?(\d{1,2})[.)]\s+(?=\S)/g;

/** The sentences of a text whose quotations are blanked, items of lists among them; no gaps between them. */
export function sentencesOf(text: string): readonly Span[] {
  const items = numberedItems(text);
  const ends = items.map(([start]) => start);
  let start = 0;
  for (const { 0: mark, index } of text.matchAll(SENTENCE_END)) {
    const numbersItem = items.some(([from, to]) => index >= from && index < to);
    if (numbersItem || (mark === '.' && isPartOfWord(text, start, index))) continue;
    start = index + mark.length;
    ends.push(start);
  }
  ends.push(text.length);
  ends.sort((a, b) => a - b);
  const sentences: Span[] = [];
  let last = 0;
  for (const end of ends) {
    if (end > last) sentences.push([last, end]);
    last = end;
  }
  return sentences;
}

/** Whether a full stop belongs to the word or number before it. */
function isPartOfWord(text: string, start: number, at: number): boolean {
  const before = text.slice(Math.max(start, at - LONGEST_ABBREVIATION), at);
  return ABBREVIATION.test(before) || ITEM_NUMBER.test(text.slice(start, at));
}

/** The numbers in front of the items of `1) … 2) …`, if they count up from one. */
function numberedItems(text: string): Span[] {
  const items: Span[] = [];
  for (const { 0: marker, 1: number, index } of text.matchAll(NUMBERED_ITEM)) {
    if (Number(number) === items.length + 1) items.push([index, index + marker.length]);
  }
  return items.length > 1 ? items : [];
}
