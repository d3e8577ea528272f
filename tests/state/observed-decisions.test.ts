import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { OUTCOMES } from '../../src/ledger/entry.ts';
import { type KeptReward, REWARD_REASONS, REWARD_STATUSES } from '../../src/state/fold-result.ts';
import { ObservedDecisions, RECORD_GRACE_MS } from '../../src/state/observed/observed-decisions.ts';
import { type ObservedRecord, reportsOf } from '../../src/state/observed/observed-record.ts';
import { decision, MINUTE, START } from './entries.ts';

const GRACE_MS = RECORD_GRACE_MS.log;
const WINDOW_MS = 10 * MINUTE;
const WEEK_MS = 7 * 24 * 60 * MINUTE;

/** The same in plain objects: what the packed records have to behave like. */
class PlainDecisions {
  readonly records = new Map<string, ObservedRecord>();
  droppedThrough = 0;

  get(id: string): ObservedRecord | undefined {
    return structuredClone(this.records.get(id));
  }

  keep(record: ObservedRecord): void {
    this.records.set(record.id, structuredClone(record));
  }

  expire(clock: number): void {
    for (const [id, record] of [...this.records]) {
      const isAhead = record.until > clock + WEEK_MS;
      if (!isAhead && record.until + GRACE_MS >= clock) return;
      this.records.delete(id);
      if (isAhead) this.records.set(id, record);
      else this.droppedThrough = Math.max(this.droppedThrough, record.deadline);
    }
  }
}

/** Ids as the service gives them out, and any others. */
const decisionId = fc.oneof(
  fc
    .integer({ min: 0, max: 20 })
    .map((n) => `default.0mjuq1a2${'bcdefg'[n % 6]}${String(n).padStart(20, '0')}`),
  fc.integer({ min: 0, max: 9 }).map((n) => `default.k${String(n).repeat(32)}`),
  fc.constantFrom('default.a', 'default.', 'other.0mjuq1a2b00000000000000000001', 'default.Ω', '', 'k'),
);
const rewardTail = fc.oneof(
  fc.integer({ min: 0, max: 2 ** 32 }).map((n) => `.${n.toString(16).padStart(16, '0')}`),
  fc.constantFrom('', '.x', '.0123456789ABCDEF', '/t0', '.00000000000000000'),
);
const number = fc.oneof(fc.constantFrom(0, -0, 1, -1, 0.5), fc.double({ min: -2, max: 2, noNaN: true }));
const name = fc.constantFrom('t0', 't1', 'refund_payment', 'größe', 'sc-linucb-memory@2', 'hybrid@13');

const outcome = fc.record(
  {
    status: fc.constantFrom(...REWARD_STATUSES),
    reason: fc.constantFrom(...REWARD_REASONS),
    tool: fc.option(name),
    outcome: fc.constantFrom(...OUTCOMES),
  },
  { requiredKeys: ['status', 'tool', 'outcome'] },
);
const values = { count: fc.nat(300), sum: number, first: number, last: number };
const reports = fc.oneof(
  fc.record({ ...values, called: fc.boolean(), taught: number, weight: number, silent: fc.boolean() }),
  number.map((value) => ({
    ...{ count: 1, sum: value, first: value, last: value },
    ...{ called: true, taught: Math.min(1, Math.max(0, value)), weight: 1, silent: false },
  })),
);
const amount = fc.oneof(
  fc.constant({ sum: 0, of: 0 }),
  number.map((sum) => ({ sum, of: 1 })),
);

const step = fc.oneof(
  fc.record({ kind: fc.constant('report'), id: decisionId, tail: rewardTail, outcome }),
  fc.record({ kind: fc.constant('flood'), id: decisionId, rewards: fc.integer({ min: 50, max: 400 }) }),
  fc.record({ kind: fc.constant('tool'), id: decisionId, name, reports }),
  fc.record({
    kind: fc.constant('close'),
    id: decisionId,
    name,
    case: fc.nat({ max: 2 ** 40 }),
    reward: number,
  }),
  fc.record({ kind: fc.constant('features'), id: decisionId, name, rows: fc.float32Array({ minLength: 1 }) }),
  fc.record({ kind: fc.constant('credit'), id: decisionId, name, amount, values: fc.record(values) }),
  fc.record({
    kind: fc.constant('outcome'),
    id: decisionId,
    known: fc.record(
      {
        whole: number,
        rating: number,
        reward: number,
        sufficed: number,
        learnedRating: number,
        discovered: fc.constant(true as const),
      },
      { requiredKeys: [] },
    ),
  }),
  fc.record({ kind: fc.constant('wait'), minutes: fc.integer({ min: 0, max: 100 }) }),
  fc.record({ kind: fc.constant('restore') }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

/** What a step makes of a record. */
function change(record: ObservedRecord, step: Extract<Step, { id: string }>): void {
  if ('tail' in step) {
    const rewardId = `${step.id}${step.tail}`;
    record.rewards.set(rewardId, { rewardId, ...step.outcome } as KeptReward);
  } else if ('rewards' in step) {
    for (let i = 0; i < step.rewards; i++) {
      const rewardId = `${step.id}.${i.toString(16).padStart(16, 'f')}`;
      record.rewards.set(rewardId, { rewardId, status: 'applied', tool: null, outcome: 'success' });
    }
  } else if ('reports' in step) Object.assign(reportsOf(record, step.name), step.reports);
  else if ('case' in step) {
    record.closed = true;
    record.closedWith = step.reward;
    record.cases.set(step.name, step.case);
  } else if ('known' in step) Object.assign(record.outcome, step.known);
  else if ('rows' in step) record.features.set(step.name, step.rows);
  else {
    reportsOf(record, step.name);
    const tools = [
      { tool: null, ...step.values },
      { tool: step.name, ...step.values },
    ];
    record.credit = { tools, latencyMs: step.amount, cost: step.amount };
  }
}

describe('packed records', () => {
  it('are what plain objects would be, over reports, corrections, closings, expiry and snapshots', () => {
    const steps = fc.array(fc.tuple(step, fc.integer({ min: -100, max: 20 * 24 * 60 })), { maxLength: 80 });
    fc.assert(
      fc.property(steps, (all) => {
        let packed = new ObservedDecisions('default');
        const plain = new PlainDecisions();
        let clock = START;
        for (const [one, skewMinutes] of all) {
          if (one.kind === 'restore') packed = restored(packed);
          else if ('minutes' in one) clock += one.minutes * MINUTE;
          else if ('id' in one) {
            // Now and then it is decided by a clock that is weeks ahead.
            const at = clock + Math.max(0, skewMinutes) * MINUTE;
            const observed = { ...decision('x', ['t0']), id: one.id, at, deadline: at + WINDOW_MS };
            const record = packed.get(one.id) ?? packed.begin(observed, clock);
            change(record, one);
            packed.keep(record);
            plain.keep(record);
          }
          packed.expire(clock, GRACE_MS);
          plain.expire(clock);
          for (const id of plain.records.keys()) deepStrictEqual(packed.get(id), plain.get(id));
          expect([packed.size, packed.droppedThrough]).toEqual([plain.records.size, plain.droppedThrough]);
        }
        deepStrictEqual([...restored(packed).save()], [...packed.save()]);
      }),
      { seed: 11, numRuns: 300 },
    );
  });

  it('count once they are kept, not before', () => {
    const packed = new ObservedDecisions('default');
    packed.begin(decision('a', ['t0']), START);
    expect(packed.has('default.a')).toBe(false);
    packed.keep(packed.begin(decision('a', ['t0']), START));
    packed.get('default.a')!.closed = true;
    expect(packed.get('default.a')!.closed).toBe(false);
  });

  it('are dropped a few at a time after a long pause, oldest first', () => {
    const packed = new ObservedDecisions('default');
    for (let i = 0; i < 2000; i++) {
      packed.keep(packed.begin({ ...decision('x', ['t0']), id: `default.${i}` }, START));
    }
    const sizes = [packed.size];
    while (packed.size > 0) {
      packed.expire(START + WINDOW_MS + GRACE_MS + 1, GRACE_MS);
      sizes.push(packed.size);
    }
    const steps = sizes.slice(1).map((size, i) => sizes[i] - size);
    expect(Math.max(...steps)).toBeLessThan(1000);
    expect(packed.mayBeDropped({ ...decision('x', ['t0']), id: 'default.0' })).toBe(true);
  });

  it('take a tenth of a kilobyte each, names and all', () => {
    const packed = new ObservedDecisions('default');
    for (let i = 0; i < 50_000; i++) {
      const id = `default.0mjuq1a2b${i.toString(16).padStart(20, '0')}`;
      const record = packed.begin({ ...decision('x', ['t0']), id }, START);
      reportsOf(record, `tool_${i % 500}`).called = true;
      record.cases.set('sc-linucb-memory@2', i);
      record.rewards.set(`${id}.${'0'.repeat(16)}`, {
        rewardId: `${id}.${'0'.repeat(16)}`,
        status: 'applied',
        tool: `tool_${i % 500}`,
        outcome: 'success',
      });
      packed.keep(record);
    }
    let bytes = 0;
    for (const block of packed.save()) bytes += block.bytes.length + JSON.stringify(block.names).length;
    expect(bytes / packed.size).toBeLessThan(100);
  });
});

function restored(packed: ObservedDecisions): ObservedDecisions {
  const fresh = new ObservedDecisions('default');
  fresh.droppedThrough = packed.droppedThrough;
  for (const block of packed.save()) fresh.restore(block);
  return fresh;
}
