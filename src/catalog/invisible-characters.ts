/** What Unicode has programs ignore when they show a text, but for what scripts and emoji are written with: joiners, fillers, variants. */
const INVISIBLE =
  /[\u{e0000}-\u{e0fff}]|(?!\p{Mn}|\p{Lo}|\p{Join_Control}|\u180e)\p{Default_Ignorable_Code_Point}/u;
const ALL = new RegExp(INVISIBLE, 'gu');

/**
 * Returns a text without characters that nobody sees and a model reads: marks and overrides of the direction of writing, spaces
 * without width, tags.
 */
export function visible(text: string): string {
  return text.replace(ALL, '');
}

/** Returns whether a text has such characters, or joiners, which can hide as much. */
export function hidesCharacters(text: string): boolean {
  return /[\u200c\u200d]/.test(text) || INVISIBLE.test(text);
}
