import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SAMPLES } from '../../bench/tokens/samples.ts';
import sample from '../../examples/sample-catalog/tools.json' with { type: 'json' };
import { textForModel } from '../../src/routing/slate-definition.ts';
import { ESTIMATE } from '../../src/tokens/estimate.ts';
import { MissingTokenizerError, o200k } from '../../src/tokens/o200k.ts';
import { openTokenCounter, UnusableTokenizerError } from '../../src/tokens/open-token-counter.ts';
import { visitPieces } from '../../src/tokens/pieces.ts';

const exact = await o200k().catch((error: unknown) => {
  if (error instanceof MissingTokenizerError) return null;
  throw error;
});

describe('pieces', () => {
  it.each([
    ['getHTTPStatus', ['get', 'HTTPStatus']],
    ["it's the user's", ["it's", ' the', " user's"]],
    ['"order_id":12345', ['order', 'id', '":', '#', '#']],
    ['a  b\n\n', ['a', '_', ' b', '_']],
    ['деньги и Ärger', ['деньги', ' и', ' Ärger']],
  ])('of %j are those of o200k', (text, expected) => {
    const pieces: string[] = [];
    const add = (start: number, end: number): void => void pieces.push(text.slice(start, end));
    visitPieces(text, {
      word: (start, end, prefix, contraction) =>
        add(prefix === 1 ? start - 1 : start, contraction ? end + 2 : end),
      script: add,
      marks: add,
      digits: () => void pieces.push('#'),
      blanks: () => void pieces.push('_'),
    });
    expect(pieces).toEqual(expected);
  });
});

describe('the estimate', () => {
  it('is 0 for the empty text alone, a whole number, and grows with the text', () => {
    expect(ESTIMATE.count('')).toBe(0);
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 80 }), (text) => {
        const tokens = ESTIMATE.count(text);
        expect(Number.isInteger(tokens) && tokens > 0).toBe(true);
        expect(ESTIMATE.count(`${text} ${text}`)).toBeGreaterThanOrEqual(tokens);
      }),
    );
  });

  it.skipIf(exact === null)('is within 6 % of o200k on the definitions of the sample catalog', () => {
    const texts = sample.tools.map((tool) => textForModel('mcp', 'full', tool));
    const sum = (count: (text: string) => number) => texts.reduce((total, text) => total + count(text), 0);
    expect(Math.abs(sum(ESTIMATE.count) / sum(exact!.count) - 1)).toBeLessThan(0.06);
  });

  it.skipIf(exact === null)('is within 15 % of o200k over 22 languages', () => {
    const texts = Object.values(SAMPLES).map(([, text]) => text);
    const sum = (count: (text: string) => number) => texts.reduce((total, text) => total + count(text), 0);
    expect(Math.abs(sum(ESTIMATE.count) / sum(exact!.count) - 1)).toBeLessThan(0.15);
  });
});

describe('the counter of the setting', () => {
  it.skipIf(exact === null)('o200k counts what looks like a special token, and long runs', () => {
    expect(exact!.count('hello world')).toBe(2);
    expect(exact!.count('<|endoftext|>')).toBeGreaterThan(1);
    expect(exact!.count('a'.repeat(100_000))).toBeGreaterThan(10_000);
  });

  it('is that of a model where a folder is named', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tokenizer-'));
    const vocab = { '[UNK]': 0, refund: 1, order: 2 };
    const json = {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: [],
      normalizer: null,
      pre_tokenizer: { type: 'Whitespace' },
      post_processor: null,
      decoder: null,
      model: { type: 'WordLevel', vocab, unk_token: '[UNK]' },
    };
    writeFileSync(join(folder, 'tokenizer.json'), JSON.stringify(json));
    const counter = await openTokenCounter(folder).catch((error: unknown) => (error as Error).cause);
    expect(counter).toMatchObject({ name: expect.stringMatching(/tokenizer\.json$/) });
    expect((await openTokenCounter(folder)).count('refund order order')).toBe(3);
  });

  it('says what it may be when it cannot be read', async () => {
    await expect(openTokenCounter('/nowhere')).rejects.toThrow(UnusableTokenizerError);
    await expect(openTokenCounter('/nowhere')).rejects.toThrow('has to be `estimate`, `o200k`');
  });
});
