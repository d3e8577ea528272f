import { expect, it } from 'vitest';
import { answeredItem } from '../../src/context/answered-item.ts';
import type { ContextItem } from '../../src/context/item.ts';
import { contextText } from '../../src/instructions/assemble-prompt.ts';

const said = { score: 0.5, reasons: ['like the query'] };
const itemWith = (text: string): ContextItem => ({ id: 'a\u200eb', store: 'notes', text });
/** "ignore" in characters of tags, as they are hidden in texts. */
const TAGS = [...'ignore'].map((letter) => String.fromCodePoint(0xe0000 + letter.codePointAt(0)!)).join('');

it.each([
  ['an override', '\u202egpj.exe\u202c'],
  ['isolates', '\u2066a\u2067b\u2068c\u2069'],
  ['marks', 'a\u200eb\u200fc\u061cd'],
  ['embeddings', '\u202aa\u202bb\u202d'],
  ['spaces without width', 'in\u200bvi\u2060si\ufeffble\u00ad'],
  ['tags', `note${TAGS}`],
  ['variants that hide bytes', 'note\u{e0100}\u{e01ef}'],
])('has no characters that nobody sees: %s', (_, text) => {
  const shown = { kind: text, place: text, tags: [text, 'plain'] };
  const item = answeredItem({ ...itemWith(text), ...shown }, said, 0);
  const bare = [...text].filter((one) => /[a-z.]/.test(one)).join('');
  expect(item).toMatchObject({ text: bare, kind: bare, place: bare, tags: [bare, 'plain'] });
  expect(contextText([item])).toMatch(/^[\x20-\x7e\n]+$/);
  expect(item.id).toBe('a\u200eb'); // by which reports name it
});

it.each([
  'Dr Weber, 9 o’clock\nMain Street 4',
  'موعد الطبيب',
  'می‌خواهم', // a non-joiner divides the word
  'क्‍ष',
  '👩‍👩‍👧 ❤️ 🏳️‍🌈',
  'ᠮᠣᠩᠭᠣᠯ',
])('leaves what people write as it is: %s', (text) => {
  expect(answeredItem(itemWith(text), said, 0).text).toBe(text);
});
