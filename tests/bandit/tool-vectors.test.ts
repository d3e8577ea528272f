import { describe, expect, it } from 'vitest';
import { ToolVectors } from '../../bandit/tool-vectors.ts';
import { BOTH } from './kernels/both-kernels.ts';

describe.each(BOTH)('tool vectors on %s kernels', (_name, create) => {
  it('keep what was put, through growth, and zeros elsewhere', () => {
    const kernels = create();
    const vectors = new ToolVectors(kernels, 5);
    vectors.put(3, Float32Array.of(1, 2, 3, 4, 5));
    vectors.put(1000, Float32Array.of(6, 7, 8, 9, 10));
    expect([...vectors.get(3)]).toEqual([1, 2, 3, 4, 5]);
    expect([...vectors.get(1000)]).toEqual([6, 7, 8, 9, 10]);
    expect([...vectors.get(999)]).toEqual([0, 0, 0, 0, 0]);
    expect(vectors.stride).toBe(8);
    expect(vectors.values).toHaveLength(vectors.capacity * 8);
    vectors.clear(3);
    expect([...vectors.get(3)]).toEqual([0, 0, 0, 0, 0]);
    vectors.free();
    expect(kernels.allocatedBytes).toBe(0);
  });

  it('tell by a version that the vector at a slot is another one', () => {
    const vectors = new ToolVectors(create(), 1);
    const versions = [vectors.version(2)];
    for (const vector of [Float32Array.of(1), Float32Array.of(2), null]) {
      vectors.put(2, vector);
      versions.push(vectors.version(2));
    }
    expect(new Set(versions).size).toBe(4);
    expect(vectors.version(1)).toBe(versions[0]);
  });

  it('may have no dimensions at all', () => {
    const vectors = new ToolVectors(create(), 0);
    vectors.put(100, new Float32Array(0));
    expect(vectors.get(100)).toHaveLength(0);
  });

  it('refuse what is no vector and no slot', () => {
    const vectors = new ToolVectors(create(), 2);
    expect(() => vectors.put(0, Float32Array.of(1))).toThrow('2 dimensions here, got 1');
    expect(() => vectors.put(0, Float32Array.of(1, Number.NaN))).toThrow('dimension 1 of a vector is NaN');
    expect(() => vectors.put(-1, null)).toThrow('got -1');
    expect(() => vectors.get(vectors.capacity)).toThrow('there is no slot');
    expect(() => new ToolVectors(create(), 1.5)).toThrow('whole number');
  });
});
