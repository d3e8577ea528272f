import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../config/package-root.ts';
import { EmbedderUnavailableError } from '../../src/models/embedder.ts';
import { OnnxEmbedder } from '../../src/models/onnx/onnx-embedder.ts';
import { embedderContract } from '../contracts/embedder.contract.ts';
import { writeTinyModel } from './tiny-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'bandolier-embedder-'));
afterAll(() => rmSync(folder, { recursive: true }));
const tiny = writeTinyModel(join(folder, 'tiny'));
const bundled = join(packageRoot(), 'models', 'tool-static-256');

embedderContract('OnnxEmbedder with a tiny model', () => OnnxEmbedder.open({ folder: tiny }));
embedderContract('OnnxEmbedder with the bundled model', () => OnnxEmbedder.open({ folder: bundled }));

const dot = (a: Float32Array, b: Float32Array): number =>
  a.reduce((sum, value, at) => sum + value * b[at], 0);

describe('OnnxEmbedder', () => {
  it('finds the nearer meaning with the bundled model', async () => {
    const embedder = await OnnxEmbedder.open({ folder: bundled });
    expect(embedder.dimensions).toBe(256);
    const [mail, forecast] = await embedder.embedDocuments([
      'send email: Sends an e-mail message to a recipient.',
      'get forecast: Returns the weather forecast for a city.',
    ]);
    const [query, nothing] = await embedder.embedQueries(['what will the weather be in Paris?', '😀🎉']);
    expect(dot(query, forecast)).toBeGreaterThan(dot(query, mail) + 0.2);
    expect([...nothing].every((value) => value === 0)).toBe(true);
    await embedder.close();
  });

  it('has another fingerprint for another model', async () => {
    const other = await OnnxEmbedder.open({ folder: writeTinyModel(join(folder, 'other'), { seed: 2 }) });
    const one = await OnnxEmbedder.open({ folder: tiny });
    expect(other.fingerprint).not.toBe(one.fingerprint);
    await Promise.all([one.close(), other.close()]);
  });

  it('turns callers away when too many are waiting, and serves them later', async () => {
    const embedder = await OnnxEmbedder.open({ folder: tiny });
    const calls = Array.from({ length: 1_200 }, (_, at) => embedder.embedQueries([`send mail ${at}`]));
    const settled = await Promise.allSettled(calls);
    expect(settled.filter(({ status }) => status === 'fulfilled')).toHaveLength(1_000);
    expect((settled[1_199] as PromiseRejectedResult).reason).toBeInstanceOf(EmbedderUnavailableError);
    expect(await embedder.embedQueries(['send mail 1199'])).toHaveLength(1);
    await embedder.close();
  });
});
