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
  ['variants that hide bytes', 'note\u{e0100}\u{e01ef}\ufe00\ufe0f\u180b'],
  ['fillers', 'a\u115fb\u1160c\u3164d\uffa0\u034f\u180e'],
  ['annotations between lines', '\ufff9a\ufffab\ufffb'],
  ['controls', 'a\0b\x1bc\x7fd\x80\x9f'],
  ['joiners at the ends of words', '\u200da\u200c \u200db\u200d\u200dc'],
  ['joiners between fillers', 'a\u3164\u200d\u3164\u200c\u3164b'],
  ['a flag that there is none of', `${TAGS}\u{e007f}`],
])('has no characters that nobody sees: %s', (_, text) => {
  const shown = { kind: text, place: text, tags: [text, 'plain'] };
  const item = answeredItem({ ...itemWith(text), ...shown }, said, 0);
  const bare = [...text].filter((one) => /[a-z. ]/.test(one)).join('');
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
  '✔︎ 1️⃣ 🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f} 👩🏽‍🚀',
  '≨︀ 侮︀', // variants of a sign and of a Chinese character
  'ᠮᠣᠩᠭᠣᠯ ᠬᠠᠳ\u180eᠠ ᠠ\u180bᠠ',
  'a\tb\n',
])('leaves what people write as it is: %s', (text) => {
  expect(answeredItem(itemWith(text), said, 0).text).toBe(text);
});

it.each([
  ['❤️\ufe0f\ufe0e', '❤️'],
  ['≨\ufe00\ufe01', '≨\ufe00'],
  ['侮\ufe03', '侮'],
  ['ᠠ\u180b\u180c', 'ᠠ\u180b'],
  ['می\u200c\u200dخواهم', 'میخواهم'],
  ['👩\u200d\u200d👧', '👩👧'],
  ['🏴\u{e0061}\u{e007f}', '🏴'],
])('leaves no run of what stays alone: %j', (text, left) => {
  expect(answeredItem(itemWith(text), said, 0).text).toBe(left);
});

it('has line feeds for whatever separates lines', () => {
  const text = 'a\r\nb\rc\u2028d\u2029e\vf\fg\x85h';
  expect(answeredItem(itemWith(text), said, 0).text).toBe([...'abcdefgh'].join('\n'));
});
