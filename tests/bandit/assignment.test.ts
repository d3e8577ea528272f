import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type Allocation,
  allocate,
  Bucketer,
  type Division,
  movedBasisPoints,
  ownersOf,
  reallocate,
} from '../../bandit/assignment/allocation.ts';
import { LayerAssignment, VariantAssignment } from '../../bandit/assignment/assignment.ts';
import { sha256 } from '../../src/state/experiments/experiment-record.ts';
import golden from '../golden/assignment.json' with { type: 'json' };

const share = ([name, basisPoints]: readonly (string | number)[]) => ({
  name: String(name),
  basisPoints: Number(basisPoints),
});
const halves = [
  { name: 'a', basisPoints: 5000 },
  { name: 'b', basisPoints: 5000 },
];
const rangesOf = (allocation: Allocation) =>
  allocation.ranges.map(({ owner, from, to }) => [owner, from, to]);

describe('golden values made by another language', () => {
  test('SHA-256 of the published texts', () => {
    for (const { text, sha256: digest } of golden.sha256) {
      expect(Buffer.from(sha256(text)).toString('hex')).toBe(digest);
    }
  });

  test('buckets of units', () => {
    for (const { division, salt, unit, bucket } of golden.buckets) {
      expect(
        new Bucketer(division as Division, salt, sha256).bucket(unit),
        `${division} ${salt} ${unit}`,
      ).toBe(bucket);
    }
  });

  test('allocations and what a change of shares moves', () => {
    for (const [first, ...changes] of golden.allocations) {
      let allocation = allocate(first!.shares.map(share));
      expect(rangesOf(allocation)).toEqual(first!.ranges);
      for (const change of changes) {
        const next = reallocate(allocation, change.shares.map(share));
        expect(rangesOf(next)).toEqual(change.ranges);
        expect(movedBasisPoints(allocation, next)).toBe(change.moved);
        allocation = next;
      }
      expect(allocation.version).toBe(1 + changes.length);
    }
  });
});

describe('buckets', () => {
  test('one bucketer asked twice, between other units, answers the same', () => {
    const bucketer = new Bucketer('experiment', 'again', sha256);
    const first = ['u1', 'ü', 'x'.repeat(200)].map((unit) => bucketer.bucket(unit));
    bucketer.bucket('somebody else');
    expect(['u1', 'ü', 'x'.repeat(200)].map((unit) => bucketer.bucket(unit))).toEqual(first);
  });

  test('are hashed from the same bytes as the platform encodes', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'binary' }),
        fc.constantFrom('', '\ud800', 'a\udc00b', '\ud83d'),
        (a, b) => {
          expect(sha256(a + b)).toEqual(sha256(new TextEncoder().encode(a + b)));
        },
      ),
    );
  });
});

describe('allocations', () => {
  const shares = fc
    .uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { minLength: 1 })
    .chain((names) =>
      fc
        .array(fc.nat(1000), { minLength: names.length, maxLength: names.length })
        .map((weights) => names.map((name, i) => ({ name, weight: weights[i] }))),
    )
    .map((weighted) => {
      const total = Math.max(
        1,
        weighted.reduce((sum, { weight }) => sum + weight, 0),
      );
      return weighted.map(({ name, weight }) => ({
        name,
        basisPoints: Math.floor((weight / total) * 10_000),
      }));
    });

  test('every owner has its share, and no smaller number of buckets could have changed owner', () => {
    fc.assert(
      fc.property(shares, shares, (before, after) => {
        const old = allocate(before);
        const now = reallocate(old, after);
        const owners = ownersOf(now);
        for (const { name, basisPoints } of after) {
          expect(owners.filter((owner) => owner === name)).toHaveLength(basisPoints);
        }
        const lost = before.reduce((sum, { name, basisPoints }) => {
          return sum + Math.max(0, basisPoints - (after.find((s) => s.name === name)?.basisPoints ?? 0));
        }, 0);
        const won = after.reduce((sum, { name, basisPoints }) => {
          return sum + Math.max(0, basisPoints - (before.find((s) => s.name === name)?.basisPoints ?? 0));
        }, 0);
        expect(movedBasisPoints(old, now)).toBe(Math.max(lost, won));
      }),
      { numRuns: 40 },
    );
  });

  test('shares that make no sense are refused', () => {
    expect(() => allocate([{ name: 'a', basisPoints: 0.5 }])).toThrow(/whole basis points/);
    expect(() => allocate([{ name: 'a', basisPoints: -1 }])).toThrow(/whole basis points/);
    expect(() => allocate([halves[0], halves[0]])).toThrow(/two shares/);
    expect(() => allocate([...halves, { name: 'c', basisPoints: 1 }])).toThrow(/10001/);
    expect(() => reallocate(allocate(halves), [...halves, { name: 'c', basisPoints: 1 }])).toThrow(/10001/);
  });
});

describe('assignment', () => {
  test('a unit that no change of shares touched keeps its variant', () => {
    const before = allocate(halves);
    const after = reallocate(before, [share(['a', 4000]), share(['b', 5000]), share(['c', 1000])]);
    const old = new VariantAssignment({ salt: 's', variants: before }, sha256);
    const now = new VariantAssignment({ salt: 's', variants: after }, sha256);
    const moves = new Set<string>();
    for (let i = 0; i < 5000; i++) {
      const [from, to] = [old.variantOf(`u${i}`), now.variantOf(`u${i}`)];
      if (from !== to) moves.add(`${from}>${to}`);
    }
    expect([...moves]).toEqual(['a>c']);
  });

  test('variants must cover all buckets; a layer need not', () => {
    const part = allocate([{ name: 'a', basisPoints: 2500 }]);
    expect(() => new VariantAssignment({ salt: 's', variants: part }, sha256)).toThrow(/add up to 2500/);
    const layer = new LayerAssignment({ salt: 's', experiments: part }, sha256);
    const inside = Array.from({ length: 4000 }, (_, i) => layer.experimentOf(`u${i}`)).filter(
      (e) => e === 'a',
    );
    expect(inside.length / 4000).toBeCloseTo(0.25, 1);
  });

  test('the place in the layer says nothing about the variant', () => {
    const layer = new LayerAssignment({ salt: 's', experiments: allocate(halves) }, sha256);
    const variant = new VariantAssignment({ salt: 's', variants: allocate(halves) }, sha256);
    let same = 0;
    for (let i = 0; i < 20_000; i++)
      if (layer.experimentOf(`u${i}`) === variant.variantOf(`u${i}`)) same += 1;
    expect(Math.abs(same - 10_000)).toBeLessThan(4 * Math.sqrt(5000));
  });
});
