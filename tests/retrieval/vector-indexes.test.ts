import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import { ExactIndex } from '../../src/retrieval/vectors/exact-index.ts';
import { HnswIndex } from '../../src/retrieval/vectors/hnsw-index.ts';
import { vectorIndexes } from '../../src/retrieval/vectors/vector-indexes.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';

const dataDir = mkdtempSync(join(tmpdir(), 'bandolier-vector-indexes-'));
afterAll(() => rmSync(dataDir, { recursive: true }));

async function indexWith(load: Parameters<typeof vectorIndexes>[2]) {
  const notices: string[] = [];
  const create = await vectorIndexes(dataDir, (message) => notices.push(message), load);
  const kernels = createTypescriptKernels();
  const vectors = new ToolVectors(kernels, 4);
  const index = create(kernels, vectors, () => {});
  index.free();
  vectors.free();
  expect(kernels.allocatedBytes).toBe(0);
  return { index, notices };
}

describe('vectorIndexes', () => {
  it('compares every tool where the package for graphs is not there, and says so', async () => {
    const { index, notices } = await indexWith(async () => {
      throw new Error("Cannot find package 'hnswlib-node'\nImported from somewhere");
    });
    expect(index).toBeInstanceOf(ExactIndex);
    expect(notices).toEqual([
      expect.stringMatching(
        /^hnswlib-node cannot be loaded \(.*Cannot find package.*\): every query is compared/,
      ),
    ]);
    expect(notices[0]).not.toContain('Imported');
  });

  it('builds graphs where it is there, and clears away what a crash left behind', async () => {
    const left = join(dataDir, 'vector-graphs', 'half.graph');
    mkdirSync(join(dataDir, 'vector-graphs'));
    writeFileSync(left, 'half');
    const { index, notices } = await indexWith(async () => ({ HierarchicalNSW: class {} as never }));
    expect(index).toBeInstanceOf(HnswIndex);
    expect(notices).toEqual([]);
    expect(existsSync(left)).toBe(false);
  });
});
