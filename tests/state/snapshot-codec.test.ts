import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry } from '../../src/ledger/entry.ts';
import { fold } from '../../src/state/fold.ts';
import { decodeSnapshot, encodeSnapshot, encodeSnapshotParts } from '../../src/state/snapshot-codec.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import {
  decision,
  emptyState,
  instruction,
  observe,
  putInstructions,
  putTools,
  report,
  START,
  Story,
  tool,
} from './entries.ts';
import { assignment, create, exposure, exposures, move } from './experiment-entries.ts';

/** Bytes. */
const LONGEST_PART = 512 * 1024;

const context = () => ({ kernels: createTypescriptKernels(), derived: true });

/** Arbitrary histories of one small catalog. */
const history: fc.Arbitrary<Entry[]> = fc
  .array(
    fc.record({
      kind: fc.constantFrom('put', 'remove', 'reward', 'more', 'repeat', 'instruct', 'approve', 'withdraw'),
      source: fc.constantFrom('api', 'mail'),
      tool: fc.integer({ min: 0, max: 5 }),
      other: fc.integer({ min: 0, max: 5 }),
      id: fc.integer({ min: 0, max: 8 }),
      value: fc.double({ min: -1, max: 1, noNaN: true }),
      minutes: fc.integer({ min: 0, max: 90 }),
    }),
    { minLength: 1, maxLength: 40 },
  )
  .map((steps) =>
    steps.map(({ kind, source, tool: index, other, id, value, minutes }, step) => {
      const at = START + minutes * 60_000;
      if (kind === 'put') {
        return putTools([tool(`t${index}`, { description: `words ${value}` })], { at, source });
      }
      if (kind === 'instruct' || kind === 'approve') {
        const text = `words ${Math.sign(value)}`;
        return putInstructions(
          [instruction(`i${index}`, { text, ...(kind === 'approve' && { status: 'approved' }) })],
          { at, actor: source },
        );
      }
      if (kind === 'withdraw') return putInstructions([], { remove: [`i${index}`], at });
      if (kind === 'remove') return putTools([], { remove: [`t${index}`], at });
      const tools = [...new Set([`t${index}`, `t${other}`])];
      const rewardId = kind === 'repeat' ? `r${id}` : `r${step}`;
      return observe(
        decision(String.fromCharCode(97 + id), tools),
        [report(rewardId, `t${index}`, { value, at })],
        {
          closes: kind !== 'more',
        },
      );
    }),
  );

describe('snapshots', () => {
  it('restore to the same bits, and folding goes on to the same bits from any point', () => {
    fc.assert(
      fc.property(history, fc.nat(), (entries, cut) => {
        const story = Story.withTools(3);
        const middle = cut % entries.length;
        let resumed = story.state;
        for (const [index, entry] of entries.entries()) {
          if (index === middle) {
            const bytes = encodeSnapshot(story.state);
            resumed = decodeSnapshot(bytes, 'default', context());
            expect(Buffer.compare(encodeSnapshot(resumed), bytes)).toBe(0);
          }
          const position = story.entries.length + 1;
          story.tell(entry);
          if (index >= middle) fold(resumed, { position, entry });
        }
        expect(Buffer.compare(encodeSnapshot(resumed), encodeSnapshot(story.state))).toBe(0);
      }),
      { numRuns: 60 },
    );
  });

  it('are the same whether derived values are kept or not', () => {
    fc.assert(
      fc.property(history, (entries) => {
        const story = Story.withTools(3);
        for (const entry of entries) story.tell(entry);
        const canonical = decodeSnapshot(encodeSnapshot(emptyState()), 'default', {
          ...context(),
          derived: false,
        });
        for (const [index, entry] of story.entries.entries()) fold(canonical, { position: index + 1, entry });
        expect(Buffer.compare(encodeSnapshot(canonical), encodeSnapshot(story.state))).toBe(0);
      }),
      { numRuns: 40 },
    );
  });

  it('are refused when a byte changed, when cut short, and when of another catalog', () => {
    const story = Story.withTools(3);
    story.rewards(observe(decision('a', ['t0', 't1']), [report('r1', 't0')]));
    const bytes = encodeSnapshot(story.state);
    fc.assert(
      fc.property(fc.nat(bytes.length - 1), fc.integer({ min: 1, max: 255 }), (at, flip) => {
        const damaged = Uint8Array.from(bytes);
        damaged[at] ^= flip;
        expect(() => decodeSnapshot(damaged, 'default', context())).toThrow();
        expect(() => decodeSnapshot(bytes.subarray(0, at), 'default', context())).toThrow();
      }),
      { numRuns: 100 },
    );
    expect(() => decodeSnapshot(bytes, 'other', context())).toThrow(/catalog "default"/);
  });

  it('are refused by name when another version wrote them', () => {
    const bytes = Buffer.from(encodeSnapshot(emptyState()));
    bytes.writeUInt32LE(2, 4);
    expect(() => decodeSnapshot(bytes, 'default', context())).toThrow(
      /has version 2; version 17 can be read/,
    );
  });

  it('come in parts: what a catalog has many of makes more of them, none of them longer', () => {
    const story = Story.withTools(3);
    story.tell(putTools(Array.from({ length: 2000 }, (_, i) => tool(`more${i}`))));
    story.tell(create());
    move(story, { action: 'start' });
    const { state } = story;
    const parts = (): number[] => [...encodeSnapshotParts(state)].map(({ length }) => length);
    const few = parts();
    for (let i = 0; i < 9000; i++) {
      const id = `default.0mjuq1a2b${i.toString(16).padStart(20, '0')}`;
      const record = state.decisions.begin({ ...decision('a', ['t0']), id }, START);
      record.rewards.set(`${id}.x`, {
        rewardId: `${id}.x`,
        status: 'applied',
        reason: 'no-tool-named',
        tool: null,
        outcome: 'success',
      });
      state.decisions.keep(record);
      state.refused.add({ rewardId: `${id}.x`, status: 'late', reason: 'record-expired' });
      state.remember(`tools/${i}`, { outcome: { kind: 'settings', policyVersion: 'hybrid@1' } });
      state.limits.spend(1 + i, 0, 1, START, 1);
    }
    story.tell(
      exposures(Array.from({ length: 9000 }, (_, i) => exposure(`default.${i}`, assignment(i, 'new')))),
    );
    const { policy } = state.learners.active;
    const query = { embedding: null, terms: { terms: Uint32Array.of(7), weights: Float32Array.of(1) } };
    for (let slot = 0; slot < 300; slot++) {
      policy.learn({ query, slot, similarity: 0, extras: new Float32Array(policy.extras.length) }, 1, 1);
    }
    expect(parts().length).toBeGreaterThan(few.length + 40);
    expect(Math.max(...parts())).toBeLessThan(LONGEST_PART);
    const bytes = encodeSnapshot(state);
    expect(bytes.length).toBeGreaterThan(6 * LONGEST_PART);
    expect(Buffer.compare(encodeSnapshot(decodeSnapshot(bytes, 'default', context())), bytes)).toBe(0);
  });
});
