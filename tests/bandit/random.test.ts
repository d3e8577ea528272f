import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { hash64, philox4x32, randomFor } from '../../bandit/random.ts';

interface Golden {
  readonly philox: readonly { counter: string[]; key: string[]; output: string[] }[];
  readonly fnv1a: readonly { text: string; hash: string }[];
  readonly uniform: readonly { key: string; counter: number; value: number }[];
}

const golden: Golden = JSON.parse(readFileSync(new URL('../golden/random.json', import.meta.url), 'utf8'));

const words = (hex: readonly string[]) => Uint32Array.from(hex, (word) => Number.parseInt(word, 16));

describe('random numbers', () => {
  it.each(golden.philox)('philox4x32-10 of counter $counter', ({ counter, key, output }) => {
    const out = new Uint32Array(4);
    philox4x32(words(counter), words(key), out);
    expect(out).toEqual(words(output));
  });

  it.each(golden.fnv1a)('FNV-1a of "$text"', ({ text, hash }) => {
    const [low, high] = hash64(text);
    expect((BigInt(high) << 32n) | BigInt(low)).toBe(BigInt(`0x${hash}`));
  });

  it.each(golden.uniform)('draw $counter of "$key"', ({ key, counter, value }) => {
    expect(randomFor(key).uniform(counter)).toBe(value);
  });

  it('are uniform, within (0, 1), and independent of the order in which they are asked for', () => {
    const random = randomFor('uniformity');
    const count = 50_000;
    const bins = new Int32Array(20);
    let lagged = 0;
    for (let i = 0; i < count; i++) {
      const value = random.uniform(i);
      expect(value > 0 && value < 1).toBe(true);
      bins[Math.floor(value * 20)]++;
      lagged += (value - 0.5) * (random.uniform(i + 1) - 0.5);
    }
    const expected = count / 20;
    const chiSquare = bins.reduce((sum, found) => sum + (found - expected) ** 2 / expected, 0);
    // 19 degrees of freedom: 43.8 is the 99.9 % point.
    expect(chiSquare).toBeLessThan(43.8);
    expect(Math.abs((lagged / count) * 12)).toBeLessThan(0.02);
    expect(random.uniform(7)).toBe(randomFor('uniformity').uniform(7));
  });

  it('refuse what is no counter', () => {
    expect(() => randomFor('x').uniform(-1)).toThrow('got -1');
    expect(() => randomFor('x').uniform(0.5)).toThrow('got 0.5');
  });
});
