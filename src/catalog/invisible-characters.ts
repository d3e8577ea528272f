/** What a joiner may stand between: letters, their marks, emoji; and the sign of a variant that the first of them may have. */
const JOINED = String.raw`[[\p{L}\p{M}\p{Extended_Pictographic}\p{Emoji_Modifier}]--\p{Default_Ignorable_Code_Point}]`;
const VARIANT = String.raw`[\u180b-\u180d\u180f\ufe00-\ufe0f]`;

/** Of the characters that are not shown, those that scripts and emoji are written with; never two of a kind in a row, so that nothing can be spelt by them. */
const NEEDED = [
  String.raw`[\u200c\u200d\u180e](?<=${JOINED}${VARIANT}?.)(?=${JOINED})`,
  // The style of an emoji, text or picture; the variants that Unicode names of other characters.
  String.raw`[\ufe0e\ufe0f](?<=\p{Emoji}.)`,
  String.raw`[\ufe00-\ufe02](?<=[\p{Sm}\p{Script=Han}\p{Script=Myanmar}\p{Script=Phags_Pa}].)`,
  String.raw`[\u180b-\u180d\u180f](?<=[\p{Script=Mongolian}--\p{Default_Ignorable_Code_Point}].)`,
  // The flags of England, Scotland and Wales.
  String.raw`\p{RGI_Emoji_Tag_Sequence}`,
].join('|');
const BREAK = String.raw`\r\n?|[\v\f\x85\u2028\u2029]`;
/** What Unicode has programs ignore, also where it is no character yet; controls; marks of annotations between lines. */
const UNSEEN = String.raw`[[\p{Default_Ignorable_Code_Point}\p{Cc}\u{e0000}-\u{e0fff}\ufff9-\ufffb]--[\t\n]]`;
const ALL = new RegExp(`(${NEEDED})|(${BREAK})|${UNSEEN}`, 'gv');

/**
 * Returns a text without characters that nobody sees and a model reads: marks and overrides of the direction of writing, spaces
 * without width, tags, fillers, controls but for tabs, annotations, variants of variants. Separators of lines become line feeds. What scripts and emoji are written
 * with stays: one joiner between letters or emoji, one variation selector behind a character that has variants, flags made of tags.
 */
export function visible(text: string): string {
  return text.replace(ALL, (_, needed: string | undefined, lineBreak: string | undefined) =>
    lineBreak === undefined ? (needed ?? '') : '\n',
  );
}

/** Returns whether a text has such characters, or joiners, which can hide as much. Carriage returns are none of them. */
export function hidesCharacters(text: string): boolean {
  return /[\u200c\u200d]|\u180e/.test(text) || visible(text) !== text.replace(/\r\n?/g, '\n');
}
