import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Tokenizer } from '@huggingface/tokenizers';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { TokenIds } from '../../src/models/onnx/token-ids.ts';
import { bundledModelFolder } from '../../src/models/open-embedder.ts';
import { bertTokenizer } from './tiny-model.ts';

const file = readFileSync(join(bundledModelFolder(), 'static-model.bin'), 'utf8');
const definition = bertTokenizer(file.slice(file.indexOf('[PAD]')).split('\n'));
const tokenizer = new Tokenizer(definition, {});

const word = fc.oneof(
  fc.string({ maxLength: 12 }),
  fc.string({ unit: 'binary', maxLength: 6 }),
  fc.constantFrom(
    'refund',
    'Straße',
    'ΟΔΟΣ',
    'naïve',
    '東京',
    'e\u0301',
    '\ufeff',
    '\u200b',
    '[SEP]',
    '##s',
    "don't",
  ),
);
const blank = fc.constantFrom(' ', '  ', '\n', '\t', '\r\n', '\u00a0', '\u2028', '\u0000', '');
const text = fc.array(fc.tuple(word, blank), { maxLength: 12 }).map((parts) => parts.flat().join(''));

describe('TokenIds', () => {
  it('are those of the tokenizer, for any text, known words or not', () => {
    const ids = new TokenIds(tokenizer, definition);
    fc.assert(
      fc.property(text, (some) => {
        const expected = tokenizer.encode(some).ids;
        expect(ids.of(some)).toEqual(expected);
        expect(ids.of(some)).toEqual(expected);
      }),
      { numRuns: 2000, seed: 20_261_121 },
    );
  });

  it('are those of the tokenizer for the queries of the sample catalog', () => {
    const ids = new TokenIds(tokenizer, definition);
    const file = new URL('../../examples/sample-catalog/queries.learn.jsonl', import.meta.url);
    for (const line of readFileSync(file, 'utf8').trim().split('\n')) {
      const { query } = JSON.parse(line);
      expect(ids.of(query)).toEqual(tokenizer.encode(query).ids);
    }
  });

  it('leave texts whole where a tokenizer may look across words', () => {
    const whole = { encode: (some: string) => ({ ids: [some.length] }) } as unknown as Tokenizer;
    const other = { ...definition, pre_tokenizer: { type: 'Metaspace' } };
    expect(new TokenIds(whole, other).of('two words')).toEqual([9]);
  });
});
