import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { packageRoot } from '../../config/package-root.ts';
import { OnnxEmbedder } from '../../src/models/onnx/onnx-embedder.ts';
import { embedderContract } from '../contracts/embedder.contract.ts';

// A transformer of 23 MB, which is no part of the repository.
const folder = join(packageRoot(), '..', 'shared', 'models', 'minilm-int8');
const isThere = existsSync(folder);
if (!isThere) it.skip(`needs all-MiniLM-L6-v2 in ${folder}, which is not there`, () => undefined);

describe.skipIf(!isThere)('a real transformer', () => {
  embedderContract('OnnxEmbedder with MiniLM', () => OnnxEmbedder.open({ folder }));

  let embedder: OnnxEmbedder;
  beforeAll(async () => {
    embedder = await OnnxEmbedder.open({ folder });
  });
  afterAll(() => embedder.close());

  const cosine = (a: Float32Array, b: Float32Array): number =>
    a.reduce((sum, value, at) => sum + value * b[at], 0);

  it('knows what belongs together where no word is the same', async () => {
    const [query] = await embedder.embedQueries(['Will I need an umbrella tomorrow?']);
    const [forecast, refund] = await embedder.embedDocuments([
      'get forecast: Weather of the coming days at a place.',
      'create refund: Gives a customer the money of an order back.',
    ]);
    expect(embedder.dimensions).toBe(384);
    expect(cosine(query, forecast)).toBeGreaterThan(cosine(query, refund) + 0.2);
  });
});
