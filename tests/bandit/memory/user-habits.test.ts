import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { chosenContext } from '../../../bandit/chosen-context.ts';
import { type ToolCounts, UserHabits } from '../../../bandit/memory/user-habits.ts';
import type { ChosenContext } from '../../../bandit/policy.ts';

const MONTH = 30 * 86_400_000;
const USERS = 3;
const ANY = -1;

interface Row {
  readonly item: number;
  readonly slot: number;
  p: number;
  n: number;
}

/** Habits as plainly as they are described: objects, and a sort to find who or what makes room. */
class NaiveHabits {
  /** The one who was quiet longest first. */
  users: { unit: number; at: number; rows: Row[] }[] = [];

  note({ unit, at, items }: ChosenContext, slot: number, reward: number, weight: number): void {
    let user = this.users.find((one) => one.unit === unit);
    if (user === undefined && reward === 0) return;
    this.users = this.users.filter((one) => one !== user);
    user ??= { unit, at, rows: [] };
    this.users = [...this.users, user].slice(-USERS);
    const kept = 0.5 ** (Math.max(0, at - user.at) / MONTH);
    user.at = Math.max(user.at, at);
    for (const row of user.rows) [row.p, row.n] = [kept * row.p, kept * row.n];
    this.#addAll(user.rows, items, slot, weight, reward, 1 - reward);
  }

  correct({ unit, at, items }: ChosenContext, slot: number, from: number, to: number, weight: number): void {
    let user = this.users.find((one) => one.unit === unit);
    if (user === undefined && to > from) {
      user = { unit, at, rows: [] };
      this.users = [...this.users, user].slice(-USERS);
    }
    if (user !== undefined) this.#addAll(user.rows, items, slot, weight * (to - from), 1, -1);
  }

  scaleTool(slot: number, factor: number): void {
    for (const user of this.users) {
      for (const row of user.rows) if (row.slot === slot) [row.p, row.n] = [factor * row.p, factor * row.n];
      if (factor === 0) user.rows = user.rows.filter((row) => row.slot !== slot);
    }
  }

  forget(unit: number): void {
    this.users = this.users.filter((one) => one.unit !== unit);
  }

  recall({ unit, at, items }: ChosenContext): { own: number[][]; withItems: number[][] } {
    const user = this.users.find((one) => one.unit === unit) ?? { at: 0, rows: [] };
    const kept = 0.5 ** (Math.max(0, at - user.at) / MONTH);
    const of = (weightOf: (item: number) => number): number[][] => {
      const slots = [...new Set(user.rows.filter((row) => weightOf(row.item) > 0).map((row) => row.slot))];
      return slots.map((slot) => {
        const rows = user.rows.filter((row) => row.slot === slot);
        const sum = (value: (row: Row) => number): number =>
          rows.reduce((total, row) => total + kept * weightOf(row.item) * value(row), 0);
        return [slot, sum((row) => row.p), sum((row) => row.p + row.n)];
      });
    };
    const place = new Map(items.map(({ number }, at) => [number, 1 / (at + 1)]));
    return { own: of((item) => (item === ANY ? 1 : 0)), withItems: of((item) => place.get(item) ?? 0) };
  }

  /** @param p, n per weight */
  #addAll(
    rows: Row[],
    items: ChosenContext['items'],
    slot: number,
    weight: number,
    p: number,
    n: number,
  ): void {
    for (const [at, item] of [ANY, ...items.map(({ number }) => number)].entries()) {
      const share = at === 0 ? weight : weight * (1 / at);
      this.#add(rows, item, slot, share * p, share * n);
    }
  }

  #add(rows: Row[], item: number, slot: number, p: number, n: number): void {
    let row = rows.find((one) => one.item === item && one.slot === slot);
    if (row === undefined) {
      if (p <= 0) return;
      if (rows.length === 64) {
        const [fewest] = rows.toSorted((a, b) => a.p + a.n - (b.p + b.n));
        rows.splice(rows.indexOf(fewest), 1);
      }
      row = { item, slot, p: 0, n: 0 };
      rows.push(row);
    }
    [row.p, row.n] = [Math.max(0, row.p + p), Math.max(0, row.n + n)];
    if (row.p === 0) rows.splice(rows.indexOf(row), 1);
    const scale = Math.min(1, 5 / (row.p + row.n));
    [row.p, row.n] = [row.p * scale, row.n * scale];
  }
}

type Step = (habits: UserHabits | NaiveHabits) => void;

const unit = fc.integer({ min: 1, max: 4 });
const slot = fc.integer({ min: 0, max: 11 });
const quarter = fc.integer({ min: 0, max: 4 }).map((value) => value / 4);
/** Clocks go on, go back, and are far ahead now and then. */
const time = fc.oneof(
  { weight: 9, arbitrary: fc.integer({ min: 0, max: 12 }).map((months) => months * MONTH) },
  { weight: 1, arbitrary: fc.constantFrom(-1e15, -1, 1e13, Number.MAX_VALUE) },
);
const chosen: fc.Arbitrary<ChosenContext> = fc.record({
  unit,
  at: time,
  items: fc
    .uniqueArray(fc.integer({ min: 0, max: 9 }), { maxLength: 3 })
    .map((numbers) => numbers.map((number) => ({ number }))),
  features: fc.constant([1]),
});
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 12,
    arbitrary: fc.tuple(chosen, slot, quarter, fc.constantFrom(0.25, 1, 3)).map(
      (args): Step =>
        (habits) =>
          habits.note(...args),
    ),
  },
  {
    weight: 3,
    arbitrary: fc.tuple(chosen, slot, quarter, quarter, fc.constantFrom(0.25, 1)).map(
      (args): Step =>
        (habits) =>
          habits.correct(...args),
    ),
  },
  {
    weight: 1,
    arbitrary: fc.tuple(slot, fc.constantFrom(0, 0.5)).map(
      (args): Step =>
        (habits) =>
          habits.scaleTool(...args),
    ),
  },
  {
    weight: 1,
    arbitrary: unit.map(
      (one): Step =>
        (habits) =>
          void habits.forget(one),
    ),
  },
);
const life = fc.array(step, { maxLength: 150 });

function lived(steps: readonly Step[]): UserHabits {
  const habits = new UserHabits(USERS);
  for (const one of steps) one(habits);
  return habits;
}

const rowsOf = (counts: ToolCounts): number[][] =>
  Array.from(counts, ([of, { positives, trials }]) => [of, positives, trials]);

const bySlot = (rows: number[][]): number[][] => rows.toSorted(([a], [b]) => a - b);

function expectClose(actual: number[][], expected: number[][]): void {
  // What has decayed to nothing may be there or not.
  const [a, b] = [actual, expected].map((rows) => bySlot(rows).filter(([, , trials]) => trials > 1e-12));
  expect(a.map(([of]) => of)).toEqual(b.map(([of]) => of));
  for (const [i, row] of a.entries()) for (const j of [1, 2]) expect(row[j]).toBeCloseTo(b[i][j], 9);
}

describe('habits of users', () => {
  it('are what a plain account of them says, whatever clocks do', () => {
    fc.assert(
      fc.property(life, fc.array(chosen, { minLength: 1, maxLength: 8 }), (steps, questions) => {
        const [habits, naive] = [new UserHabits(USERS), new NaiveHabits()];
        for (const one of steps) for (const each of [habits, naive]) one(each);
        expect(habits.size).toBe(naive.users.length);
        for (const question of questions) {
          const [{ own, withItems }, expected] = [habits.recall(question), naive.recall(question)];
          expectClose(rowsOf(own), expected.own);
          expectClose(rowsOf(withItems), expected.withItems);
        }
      }),
      { numRuns: 150 },
    );
  });

  it('are bounded: in users, in rows, in what a row counts', () => {
    fc.assert(
      fc.property(life, (steps) => {
        const habits = lived(steps);
        expect(habits.size).toBeLessThanOrEqual(USERS);
        expect(habits.bytes).toBeLessThanOrEqual(USERS * 64 * 32);
        const { 'habits.rows': rows, 'habits.offsets': offsets } = habits.save();
        for (let user = 0; user < habits.size; user++) {
          expect(Number(offsets[user + 1]) - Number(offsets[user])).toBeLessThanOrEqual(64 * 4);
        }
        for (let at = 0; at < rows.length; at += 4) {
          const [p, n] = [Number(rows[at + 2]), Number(rows[at + 3])];
          expect(p).toBeGreaterThanOrEqual(0);
          expect(n).toBeGreaterThanOrEqual(0);
          expect(p + n).toBeLessThanOrEqual(5 + 1e-12);
        }
      }),
      { numRuns: 100 },
    );
  });

  it('count half after thirty days, less and less, and never more at an earlier time', () => {
    fc.assert(
      fc.property(life, chosen, (steps, question) => {
        const habits = lived(steps);
        const at = (when: number): number[] =>
          rowsOf(habits.recall({ ...question, at: when }).own).map(([, p]) => p);
        const latest = Math.max(...Array.from(habits.save()['habits.times'], Number), 0);
        fc.pre(latest <= 1e13);
        const now = at(latest);
        expect(at(latest + MONTH)).toEqual(now.map((p) => expect.closeTo(p / 2, 12)));
        const earlier = at(-1e15);
        for (const [i, p] of now.entries()) expect(p).toBeLessThanOrEqual(earlier[i]);
      }),
      { numRuns: 60 },
    );
  });

  it('are erased whole, and those of others stay bit for bit', () => {
    fc.assert(
      fc.property(life, chosen, (steps, question) => {
        const habits = lived(steps);
        const others = [1, 2, 3, 4].filter((one) => one !== question.unit);
        const known = () => others.map((one) => habits.recall({ ...question, unit: one }));
        const before = known();
        habits.forget(question.unit);
        expect(habits.recall(question)).toEqual({ own: new Map(), withItems: new Map() });
        expect(Array.from(habits.save()['habits.units'])).not.toContain(question.unit);
        expect(known()).toEqual(before);
      }),
      { numRuns: 60 },
    );
  });

  it('go on after they were saved as if they had not been', () => {
    fc.assert(
      fc.property(life, life, (first, then) => {
        const habits = lived(first);
        const loaded = UserHabits.load(USERS, habits.save());
        for (const one of then) for (const each of [habits, loaded]) one(each);
        expect(loaded.save()).toEqual(habits.save());
      }),
      { numRuns: 60 },
    );
  });

  it('learn again at once from a user whose clock was far ahead', () => {
    const habits = new UserHabits(USERS);
    const context = { unit: 1, at: 0, items: [{ number: 7 }], features: [1] };
    for (const at of [0, 1e13, MONTH]) habits.note({ ...context, at }, 2, 1, 1);
    const { own, withItems } = habits.recall({ ...context, at: MONTH });
    for (const counts of [own, withItems]) expect(counts.get(2)?.positives).toBeCloseTo(2, 9);
  });

  const one = { unit: 7, at: 0, items: [{ number: 5 }], features: [1] };

  it('count a first outcome that is corrected to a success as they do for a user who is known', () => {
    const [fresh, known] = [new UserHabits(USERS), new UserHabits(USERS)];
    known.note(one, 3, 1, 1);
    for (const habits of [fresh, known]) {
      habits.note(one, 1, 0, 1);
      habits.correct(one, 1, 0, 1, 1);
      expect(habits.recall(one).own.get(1)).toEqual({ positives: 1, trials: 1 });
      expect(habits.recall(one).withItems.get(1)).toEqual({ positives: 1, trials: 1 });
    }
    fresh.correct({ ...one, unit: 8 }, 1, 1, 0, 1);
    expect(fresh.size).toBe(1);
  });

  it('lose the oldest of the rows with the fewest outcomes when they are full', () => {
    const habits = new UserHabits(USERS);
    // A row for whatever was chosen, and one for each item.
    for (let number = 0; number < 64; number++) habits.note({ ...one, items: [{ number }] }, 2, 1, 1);
    const known = (number: number) => habits.recall({ ...one, items: [{ number }] }).withItems.size === 1;
    expect([0, 1, 62, 63].map(known)).toEqual([false, true, true, true]);
  });

  it('are not walked through for a tool that nobody has a habit of', () => {
    const habits = new UserHabits(USERS);
    for (const unit of [1, 2, 3, 4]) habits.note({ ...one, unit }, unit, 1, 1);
    habits.note({ ...one, unit: 4 }, 5, 1, 1);
    habits.correct({ ...one, unit: 4 }, 5, 1, 0, 1);
    habits.forget(3);
    for (const each of [habits, UserHabits.load(USERS, habits.save())]) {
      const walked = vi.spyOn(Map.prototype, 'values');
      for (const slot of [0, 1, 3, 5]) each.scaleTool(slot, 0);
      expect(walked).not.toHaveBeenCalled();
      for (const slot of [2, 4]) each.scaleTool(slot, 0);
      expect(walked).toHaveBeenCalledTimes(2);
      walked.mockRestore();
      expect(each.save()['habits.rows']).toHaveLength(0);
    }
  });

  it.each([
    ['no number as its time', 1, Number.NaN, [{ number: 1 }], [1]],
    ['an endless time', 1, Number.POSITIVE_INFINITY, [{ number: 1 }], [1]],
    ['no unit', 0, 0, [{ number: 1 }], [1]],
    ['an item that is no number', 1, 0, [{ number: Number.NaN }], [1]],
    ['a feature that is no number', 1, 0, [{ number: 1 }], [Number.NaN]],
  ])('learn nothing from a choice with %s', (_, of, at, items, features) => {
    expect(chosenContext(of, at, { items, features })).toBeUndefined();
  });
});
