import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { EmbedderUnavailableError } from '../../src/models/embedder.ts';
import { OnnxEmbedder } from '../../src/models/onnx/onnx-embedder.ts';
import { embedderContract } from '../contracts/embedder.contract.ts';
import { writeTinyModel } from './tiny-model.ts';

const folder = mkdtempSync(join(tmpdir(), 'bandolier-embedder-'));
afterAll(() => rmSync(folder, { recursive: true }));
const tiny = writeTinyModel(join(folder, 'tiny'));

embedderContract('OnnxEmbedder with a tiny model', () => OnnxEmbedder.open({ folder: tiny }));

describe('OnnxEmbedder', () => {
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
