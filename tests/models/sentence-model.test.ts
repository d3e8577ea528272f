import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { UnusableModelError } from '../../src/models/embedder.ts';
import { OnnxEmbedder } from '../../src/models/onnx/onnx-embedder.ts';
import { SentenceModel } from '../../src/models/onnx/sentence-model.ts';
import { type TinyModelOptions, writeTinyModel } from './tiny-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'bandolier-model-'));
afterAll(() => rmSync(folder, { recursive: true }));
let count = 0;
const tiny = (options?: TinyModelOptions): string =>
  writeTinyModel(join(folder, `model-${count++}`), options);

const withSettings = (model: string, settings: object): string => {
  writeFileSync(join(model, 'bandolier-model.json'), JSON.stringify(settings));
  return model;
};
const vectorOf = async (model: SentenceModel, text: string): Promise<number[]> => [
  ...(await model.embed([text])).vectors,
];

describe('SentenceModel', () => {
  it('normalises what the graph leaves as it is', async () => {
    const raw = await SentenceModel.load(tiny({ raw: true }));
    const unit = await SentenceModel.load(tiny());
    const [own, graphs] = [await vectorOf(raw, 'send mail'), await vectorOf(unit, 'send mail')];
    for (const [at, value] of own.entries()) expect(value).toBeCloseTo(graphs[at], 6);
    expect(await vectorOf(raw, 'nothing known')).toEqual(new Array(8).fill(0));
    expect(raw.fingerprint).not.toBe(unit.fingerprint);
  });

  it('pools the vectors of tokens as the settings of sentence-transformers or our own say', async () => {
    const folders = [0, 1].map(() => tiny({ perToken: true, outputName: 'last_hidden_state' }));
    withSettings(folders[0], { pooling: 'mean' });
    mkdirSync(join(folders[1], '1_Pooling'));
    const config = { pooling_mode_mean_tokens: true, pooling_mode_cls_token: false };
    writeFileSync(join(folders[1], '1_Pooling', 'config.json'), JSON.stringify(config));
    // The mean and the sum of the same vectors have the same direction.
    const sum = await vectorOf(await SentenceModel.load(tiny()), 'send mail now');
    for (const folder of folders) {
      const mean = await vectorOf(await SentenceModel.load(folder), 'send mail now');
      for (const [at, value] of mean.entries()) expect(value).toBeCloseTo(sum[at], 6);
    }
    // The first token is the mark of the beginning, and the tiny model has no vector for it.
    const cls = await SentenceModel.load(withSettings(folders[0], { pooling: 'cls' }));
    expect(await vectorOf(cls, 'send mail now')).toEqual(new Array(8).fill(0));
    expect(cls.fingerprint).not.toBe((await SentenceModel.load(folders[1])).fingerprint);
  });

  it('takes length and prefixes from the settings of sentence-transformers, and from ours before them', async () => {
    const folder = tiny();
    writeFileSync(join(folder, 'sentence_bert_config.json'), JSON.stringify({ max_seq_length: 16 }));
    const prompts = { prompts: { query: 'query: ', passage: 'passage: ' } };
    writeFileSync(join(folder, 'config_sentence_transformers.json'), JSON.stringify(prompts));
    const model = await SentenceModel.load(folder);
    expect(model.settings).toMatchObject({
      maxTokens: 16,
      queryPrefix: 'query: ',
      documentPrefix: 'passage: ',
    });
    const other = await SentenceModel.load(withSettings(folder, { queryPrefix: '', maxTokens: 32 }));
    expect(other.settings).toMatchObject({ maxTokens: 32, queryPrefix: '', documentPrefix: 'passage: ' });
    expect(other.fingerprint).not.toBe(model.fingerprint);
  });

  it('puts the prefixes before the texts', async () => {
    const prefixed = withSettings(tiny(), { queryPrefix: 'weather ', documentPrefix: 'file ' });
    const embedder = await OnnxEmbedder.open({ folder: prefixed });
    const plain = await SentenceModel.load(tiny());
    expect([...(await embedder.embedQueries(['now']))[0]]).toEqual(await vectorOf(plain, 'weather now'));
    expect([...(await embedder.embedDocuments(['now']))[0]]).toEqual(await vectorOf(plain, 'file now'));
    await embedder.close();
  });

  it('fails on one text without failing on the others', async () => {
    const model = await SentenceModel.load(tiny({ rows: 8 }));
    const { vectors, failures } = await model.embed(['send', 'weather', 'mail']);
    expect(failures).toEqual([[1, expect.any(String)]]);
    expect([...vectors.subarray(0, 8)]).toEqual(await vectorOf(model, 'send'));
    expect([...vectors.subarray(16)]).toEqual(await vectorOf(model, 'mail'));
  });

  it('reads a text up to 512 tokens (static) or 128 (transformer), the end mark included', async () => {
    const words = (n: number): string => Array.from({ length: n }, () => 'send').join(' ');
    const model = await SentenceModel.load(tiny());
    const [at510, at511, mailAt511] = [words(510), words(511), `${words(510)} mail`];
    const vector = async (one: SentenceModel, text: string) => [...(await one.embed([text])).vectors];
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
    expect(Math.hypot(...(await model.embed(['send mail'])).vectors)).toBeCloseTo(1, 5);
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
      /one vector per token \(sentence_embedding\), and nothing says how to pool them: write .*bandolier-model\.json/,
      () => tiny({ perToken: true }),
    ],
    [
      'a setting of ours that does not exist',
      /bandolier-model\.json in .*: poolin is unknown; there are pooling, maxTokens/,
      () => withSettings(tiny(), { poolin: 'mean' }),
    ],
    [
      'a pooling that does not exist',
      /pooling has to be "mean" or "cls"/,
      () => withSettings(tiny({ perToken: true }), { pooling: 'max' }),
    ],
    ['a length that cannot be', /maxTokens has to be/, () => withSettings(tiny(), { maxTokens: 0 })],
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
