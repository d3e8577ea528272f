import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ConfusablePairs } from '../../src/state/confusable-pairs.ts';
import { decodeSnapshot, encodeSnapshot, stateDigest } from '../../src/state/snapshot-codec.ts';
import { columnsOf, decision, observe, report, Story } from './entries.ts';

describe('confusable pairs', () => {
  it('counts what a naive table counts, while there is room', () => {
    const slot = fc.integer({ min: 0, max: 9 });
    fc.assert(
      fc.property(fc.array(fc.tuple(slot, slot), { maxLength: 300 }), (notes) => {
        const pairs = new ConfusablePairs();
        for (const [called, shown] of notes) pairs.note(called, shown);
        const times = (a: number, b: number) => notes.filter(([x, y]) => x === a && y === b).length;
        const expected: object[] = [];
        for (let a = 0; a < 10; a++) {
          for (let b = a + 1; b < 10; b++) {
            const [lower, higher] = [times(a, b), times(b, a)];
            if (lower > 0 && higher > 0 && lower + higher >= 4) {
              expected.push({ slots: [a, b], confused: lower + higher });
            }
          }
        }
        expect(new Set(pairs.pairs())).toEqual(new Set(expected));
        const restored = new ConfusablePairs();
        restored.restore(pairs.save());
        expect(restored.save()).toEqual(pairs.save());
      }),
    );
  });

  it('keeps what is confused often when there are too many pairs, in bounded space', () => {
    const pairs = new ConfusablePairs();
    for (let times = 0; times < 100; times++) {
      pairs.note(1, 2);
      pairs.note(2, 1);
    }
    for (let other = 0; other < 20_000; other++) pairs.note(10 + other, 50_000 + other);
    expect(pairs.save().length / 4).toBeLessThanOrEqual(4096);
    expect(pairs.pairs()[0]).toMatchObject({ slots: [1, 2] });
    pairs.forget(2);
    expect(pairs.pairs()).toEqual([]);
  });

  it('come from decisions in which now the one and now the other is called, and both fit', () => {
    const story = Story.withTools(4);
    const { confusable, tools } = story.state;
    const slots = ['t0', 't1', 't2', 't3'].map((name) => tools.get(name)!.slot);
    const columns = columnsOf(Float32Array.of(0.9, 0.88, 0.3, 0.87));
    const called = ['t0', 't1', 't0', 't1'];
    for (const [at, tool] of called.entries()) {
      const made = decision(`d${at}`, ['t0', 't1', 't2', 't3'], { columns });
      story.tell(
        observe(made, [report(`r${at}`, tool), report(`w${at}`, null, { value: 0, outcome: 'failure' })]),
      );
    }
    // t3 fits as well, and was never called; t2 was called in its place by nobody, and does not fit.
    expect(confusable.pairs()).toEqual([{ slots: [slots[0], slots[1]], confused: 4 }]);
    const restored = decodeSnapshot(encodeSnapshot(story.state), 'default', {
      kernels: story.kernels,
      derived: true,
    });
    expect(stateDigest(restored)).toEqual(stateDigest(story.state));
    expect(restored.confusable.pairs()).toEqual(confusable.pairs());
    story.tell({ kind: 'forget', key: 'forget/1', at: 1, tool: 't0' });
    expect(confusable.pairs()).toEqual([]);
  });
});
