import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { UnusableModelError } from '../../src/retrieval/embedder.ts';
import { OnnxEmbedder } from '../../src/retrieval/onnx-embedder.ts';
import { SentenceModel } from '../../src/retrieval/sentence-model.ts';
import { type TinyModelOptions, writeTinyModel } from './tiny-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'bandolier-model-'));
afterAll(() => rmSync(folder, { recursive: true }));
let count = 0;
const tiny = (options?: TinyModelOptions): string =>
  writeTinyModel(join(folder, `model-${count++}`), options);

describe('SentenceModel', () => {
  it('reads a text up to 512 tokens (static) or 128 (transformer), the end mark included', async () => {
    const words = (n: number): string => Array.from({ length: n }, () => 'send').join(' ');
    const model = await SentenceModel.load(tiny());
    const [at510, at511, mailAt511] = [words(510), words(511), `${words(510)} mail`];
    const vector = async (one: SentenceModel, text: string) => [...(await one.embed([text]))];
    expect(await vector(model, at510)).toEqual(await vector(model, at511));
    expect(await vector(model, mailAt511)).toEqual(await vector(model, at510));
    expect(await vector(model, `${words(509)} mail`)).not.toEqual(await vector(model, at510));

    const transformer = tiny();
    writeFileSync(join(transformer, 'config.json'), JSON.stringify({ model_type: 'bert' }));
    const short = await SentenceModel.load(transformer);
    expect(await vector(short, `${words(126)} mail`)).toEqual(await vector(short, words(126)));
    expect(await vector(short, `${words(125)} mail`)).not.toEqual(await vector(short, words(126)));
    expect(short.fingerprint).not.toBe(model.fingerprint);
  });

  it('feeds token_type_ids to a graph that has them', async () => {
    const model = await SentenceModel.load(tiny({ extraInput: 'token_type_ids' }));
    expect(Math.hypot(...(await model.embed(['send mail'])))).toBeCloseTo(1, 5);
  });

  it.each<[what: string, message: RegExp, spoil: () => string]>([
    ['a folder that is not there', /There is no model folder .*nowhere/, () => join(folder, 'nowhere')],
    [
      'an empty folder',
      /model\.onnx cannot be read .* needs model\.onnx and tokenizer\.json/,
      () => {
        mkdirSync(join(folder, 'empty'));
        return join(folder, 'empty');
      },
    ],
    [
      'no tokenizer',
      /tokenizer\.json cannot be read/,
      () => {
        const model = tiny();
        rmSync(join(model, 'tokenizer.json'));
        return model;
      },
    ],
    [
      'a tokenizer that is no JSON',
      /tokenizer\.json is no JSON .*fetch it again/,
      () => {
        const model = tiny();
        writeFileSync(join(model, 'tokenizer.json'), '<html>');
        return model;
      },
    ],
    [
      'a tokenizer without a model',
      /tokenizer\.json is no tokenizer/,
      () => {
        const model = tiny();
        writeFileSync(join(model, 'tokenizer.json'), '{}');
        return model;
      },
    ],
    [
      'a truncated model',
      /model\.onnx is no ONNX model that can be loaded .* cut short: fetch it again/,
      () => {
        const model = tiny();
        const bytes = readFileSync(join(model, 'model.onnx'));
        writeFileSync(join(model, 'model.onnx'), bytes.subarray(0, bytes.length - 40));
        return model;
      },
    ],
    [
      'an output of another name',
      /gives pooled \[batch, 8\]; needed is a float32 output sentence_embedding/,
      () => tiny({ outputName: 'pooled' }),
    ],
    [
      'one vector per token',
      /sentence_embedding \[batch, sequence, 8\]; needed/,
      () => tiny({ perToken: true }),
    ],
    [
      'vectors that are not normalised',
      /vectors of length .*normalising in the graph/,
      () => tiny({ raw: true }),
    ],
    [
      'inputs that nobody can give',
      /takes input_ids, attention_mask, pixels; needed/,
      () => tiny({ extraInput: 'pixels' }),
    ],
  ])('explains %s', async (_, message, spoil) => {
    const spoiled = spoil();
    await expect(SentenceModel.load(spoiled)).rejects.toThrow(UnusableModelError);
    await expect(SentenceModel.load(spoiled)).rejects.toThrow(message);
    await expect(OnnxEmbedder.open({ folder: spoiled })).rejects.toThrow(message);
  });
});
