import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { Tokenizer } from '@huggingface/tokenizers';
import fc from 'fast-check';
import { afterAll, describe, expect, it } from 'vitest';
import { UnusableModelError } from '../../src/models/embedder.ts';
import { bundledModelFolder } from '../../src/models/open-embedder.ts';
import { StaticModel } from '../../src/models/static/static-model.ts';
import { WordPieces } from '../../src/models/static/word-pieces.ts';
import { bertTokenizer, writeTinyModel } from './tiny-model.ts';

const HEADER = 28;
const bytes = readFileSync(join(bundledModelFolder(), 'static-model.bin'));
const dimensions = bytes.readUInt32LE(12);
const count = bytes.readUInt32LE(16);
const vocabulary = bytes.toString('utf8', HEADER + count * (4 + dimensions)).split('\n');
const model = StaticModel.parse(bytes, 'the bundled model');

interface Golden {
  readonly texts: readonly { readonly text: string; readonly ids: number[]; readonly vector: string }[];
}
const golden: Golden = JSON.parse(
  readFileSync(new URL('../golden/bundled-model.json', import.meta.url), 'utf8'),
);
const sample = readFileSync(
  new URL('../../examples/sample-catalog/queries.learn.jsonl', import.meta.url),
  'utf8',
)
  .trim()
  .split('\n')
  .map((line): string => JSON.parse(line).query);

const pieces = new WordPieces(vocabulary);
const ids = new Int32Array(510);
const idsOf = (text: string): number[] => [...ids.subarray(0, pieces.write(text, ids))];

describe('the bundled model', () => {
  it('gives the ids and the vectors that its ONNX graph gave', () => {
    for (const { text, ids, vector } of golden.texts) {
      expect(idsOf(text), text).toEqual(ids);
      const wanted = Buffer.from(vector, 'base64');
      expect(
        largestDifference(model.embed(text), new Float32Array(Uint8Array.from(wanted).buffer)),
      ).toBeLessThan(1e-6);
    }
  });

  // Not a literal: the package is optional, and the tests have to compile without it.
  const library: string = 'onnxruntime-node';
  const runtime = import(library).then(
    () => true,
    () => false,
  );
  it('gives the vectors that onnxruntime computes', async ({ skip }) => {
    if (!(await runtime)) skip('needs onnxruntime-node');
    const { SentenceModel } = await import('../../src/models/onnx/sentence-model.ts');
    const table = Float32Array.from(
      { length: count * dimensions },
      (_, at) =>
        bytes.readInt8(HEADER + 4 * count + at) * bytes.readFloatLE(HEADER + 4 * Math.floor(at / dimensions)),
    );
    const folder = mkdtempSync(join(tmpdir(), 'bandolier-static-'));
    afterAll(() => rmSync(folder, { recursive: true }));
    const onnx = await SentenceModel.load(writeTinyModel(folder, { vocabulary, table, dimensions }));
    for (const text of [...golden.texts.map(({ text }) => text), ...sample]) {
      const { vectors } = await onnx.embed([text]);
      expect(largestDifference(model.embed(text), vectors), text).toBeLessThan(1e-6);
    }
  });

  it('has no direction for a text without known tokens', () => {
    for (const text of ['', ' \n', '😀🎉', '[CLS][SEP] [MASK]', 'x'.repeat(101)]) {
      expect(model.embed(text).every((value) => value === 0)).toBe(true);
    }
  });
});

function largestDifference(a: Float32Array, b: Float32Array): number {
  expect(a).toHaveLength(b.length);
  return a.reduce((most, value, at) => Math.max(most, Math.abs(value - b[at])), 0);
}

describe('WordPieces', () => {
  const library = new Tokenizer(bertTokenizer(vocabulary), {});
  const expectedIds = (text: string): number[] =>
    library.encode(text, { add_special_tokens: false }).ids.slice(0, 510);

  const word = fc.oneof(
    fc.string({ maxLength: 12 }),
    fc.string({ unit: 'binary', maxLength: 6 }),
    fc.string({ unit: 'grapheme', maxLength: 6 }),
    fc.constantFrom(...vocabulary).map((token) => token.replace('##', '')),
    fc.constantFrom(
      'Straße',
      'ΟΔΟΣ',
      'İ',
      'naïve',
      'e\u0301',
      '東京',
      '豈',
      '\u{20000}',
      '\ufeff',
      '\u200b',
      '\ud800',
    ),
    fc.constantFrom(
      '[SEP]',
      '[unk]',
      '[[MASK]]',
      '##s',
      '##',
      "don't",
      'a'.repeat(100),
      'a'.repeat(101),
      '😀'.repeat(60),
    ),
  );
  const blank = fc.constantFrom(
    ' ',
    '  ',
    '\n',
    '\t',
    '\r\n',
    '\v',
    '\u0085',
    '\u00a0',
    '\u2028',
    '\u0000',
    '\ufffd',
    '',
  );
  const text = fc.array(fc.tuple(word, blank), { maxLength: 12 }).map((parts) => parts.flat().join(''));

  it('gives the ids of the library, for any text', () => {
    fc.assert(
      fc.property(text, (some) => {
        expect(idsOf(some)).toEqual(expectedIds(some));
      }),
      { numRuns: 5000, seed: 20_261_122 },
    );
  });

  it('gives the ids of the library for every token, whole and in pieces, and for the sample queries', () => {
    for (const one of [...vocabulary, ...sample]) expect(idsOf(one), one).toEqual(expectedIds(one));
    const all = vocabulary.join('');
    for (let at = 0; at < all.length; at += 400) {
      const some = all.slice(at, at + 400);
      expect(idsOf(some), some).toEqual(expectedIds(some));
    }
  });

  it('writes no more ids than there is room for', () => {
    const room = new Int32Array(3);
    expect(pieces.write('read [SEP] the weather [MASK] unbelievably', room)).toBe(3);
    expect([...room]).toEqual(idsOf('read [SEP] the'));
    expect(pieces.write('read the antidisestablishmentarianism', room)).toBe(3);
  });
});

describe('the file of a static model', () => {
  const file = (words: readonly string[], rows = words.length): Buffer => {
    const body = Buffer.concat([
      Buffer.alloc(4 * rows),
      Buffer.alloc(2 * rows, 1),
      Buffer.from(words.join('\n')),
    ]);
    const header = Buffer.alloc(HEADER, 'bandstat', 'latin1');
    const fields = [1, 2, rows, Buffer.byteLength(words.join('\n')), crc32(body)];
    for (const [at, field] of fields.entries()) header.writeUInt32LE(field, 8 + 4 * at);
    return Buffer.concat([header, body]);
  };
  const marks = ['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'];

  it('is read whatever its words are', () => {
    expect(StaticModel.parse(file([...marks, 'mail']), 'x').embed('mail')).toHaveLength(2);
  });

  it('has a fingerprint of its own', () => {
    const [one, other] = ['mail', 'weather'].map((last) => StaticModel.parse(file([...marks, last]), 'x'));
    expect(one.fingerprint).not.toBe(other.fingerprint);
  });

  const changed = (at: number, value: number): Buffer => {
    const some = Buffer.from(file([...marks, 'mail']));
    some.writeUInt8(value, at);
    return some;
  };
  it.each<[string, RegExp, Buffer]>([
    ['another kind of file', /^x is no static model: fetch it again/, Buffer.from('<html>'.repeat(9))],
    ['an empty file', /^x is no static model/, Buffer.alloc(0)],
    [
      'another version',
      /^x has version 7 of the format, and this is a bandolier for version 1: install/,
      changed(8, 7),
    ],
    ['a damaged row', /^x is damaged .*fetch it again/, changed(HEADER + 5, 9)],
    ['a file that is cut short', /^x is damaged/, file([...marks, 'mail']).subarray(0, -1)],
    ['rows without tokens', /^x has 9 rows for 6 tokens: pack it again/, file([...marks, 'mail'], 9)],
    [
      'a missing mark',
      /vocabulary that cannot be used: the token \[CLS\] is missing/,
      file(['[PAD]', '[UNK]']),
    ],
    ['a token that is there twice', /the token "mail" is there twice/, file([...marks, 'mail', 'mail'])],
  ])('is refused if it is %s', (_, message, some) => {
    expect(() => StaticModel.parse(some, 'x')).toThrow(UnusableModelError);
    expect(() => StaticModel.parse(some, 'x')).toThrow(message);
  });
});
