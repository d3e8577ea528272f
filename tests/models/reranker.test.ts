import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { UnusableModelError } from '../../src/models/embedder.ts';
import { OnnxReranker } from '../../src/models/onnx/onnx-reranker.ts';
import { RerankedScores } from '../../src/retrieval/retrieval-scores.ts';
import { writeTinyModel, writeTinyPairModel } from './tiny-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'bandolier-reranker-'));
afterAll(() => rmSync(folder, { recursive: true }));
const pairs = writeTinyPairModel(join(folder, 'pairs'), { mail: 1, file: 3, weather: -2 });
const open = (now = () => Date.now()): Promise<OnnxReranker> => OnnxReranker.open({ folder: pairs, now });

describe('OnnxReranker', () => {
  it('scores every document with the query', async () => {
    const reranker = await open();
    const documents = ['read file', 'weather now', '', 'file file 😀', 'x'.repeat(100_000)];
    expect(await reranker.rerank('send mail', documents, 60_000)).toEqual({ scores: [4, -1, 1, 7, 1] });
    expect(await reranker.rerank('', [], 60_000)).toEqual({ scores: [] });
    await reranker.close();
  });

  it('gives no scores rather than late ones', async () => {
    const reranker = await open();
    const many = new Array(5_000).fill('read file and send mail now '.repeat(60));
    expect(await reranker.rerank('send mail', many, 5)).toEqual({
      missing: 'the reranker took more than 5 ms',
    });
    // It does not go on with what nobody waits for any more.
    expect(await reranker.rerank('send mail', ['file'], 60_000)).toEqual({ scores: [4] });
    await reranker.close();
    expect(await reranker.rerank('send mail', ['file'], 1_000)).toEqual({
      missing: 'the reranker is not running',
    });
  });

  it('does not go on for a caller that has given up', async () => {
    const reranker = await open();
    const many = new Array(5_000).fill('read file and send mail now '.repeat(60));
    const client = new AbortController();
    const given = reranker.rerank('send mail', many, 60_000, client.signal);
    client.abort();
    expect(await given).toEqual({ missing: 'it was cancelled' });
    expect(await reranker.rerank('send mail', ['file'], 60_000)).toEqual({ scores: [4] });
    await reranker.close();
  });

  it('turns callers away who would only wait for one another', async () => {
    const reranker = await open();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () => reranker.rerank('send', ['mail'], 60_000)),
    );
    expect(answers.filter((answer) => 'scores' in answer)).toHaveLength(8);
    await reranker.close();
  });

  it.each<[what: string, message: RegExp, spoil: () => string]>([
    [
      'an embedding model',
      /a reranker needs a float32 output logits/,
      () => writeTinyModel(join(folder, 'tiny')),
    ],
    ['no model', /There is no model folder/, () => join(folder, 'nowhere')],
    [
      'a truncated model',
      /no ONNX model that can be loaded/,
      () => {
        const cut = writeTinyPairModel(join(folder, 'cut'), {});
        const bytes = readFileSync(join(cut, 'model.onnx'));
        writeFileSync(join(cut, 'model.onnx'), bytes.subarray(0, 100));
        return cut;
      },
    ],
  ])('explains %s', async (_, message, spoil) => {
    const spoiled = spoil();
    const opening = OnnxReranker.open({ folder: spoiled, now: () => Date.now() });
    await expect(opening).rejects.toThrow(UnusableModelError);
    await expect(opening).rejects.toThrow(message);
  });
});

describe('RerankedScores', () => {
  const fused = {
    of: (slot: number) => ({ lexical: 0.1, dense: 0.2, similarity: 0.3, base: slot / 10 }),
  };

  it('lets a closer look count half', () => {
    const scores = new RerankedScores(
      fused,
      new Map([
        [1, -4],
        [2, 6],
        [3, 1],
      ]),
    );
    expect([1, 2, 3, 4].map((slot) => scores.of(slot).base)).toEqual([0.05, 0.6, 0.4, 0.2]);
    expect([1, 2].map((slot) => scores.of(slot).lexical)).toEqual([0.05, 0.55]);
    expect([1, 2].map((slot) => scores.of(slot).dense)).toEqual([0.1, 0.6]);
    expect(scores.of(2).similarity).toBe(0.3);
  });

  it('keeps the order when it says the same of all', () => {
    const scores = new RerankedScores(
      fused,
      new Map([
        [1, 5],
        [2, 5],
      ]),
    );
    expect([1, 2].map((slot) => scores.of(slot).base)).toEqual([0.05, 0.1]);
  });
});
