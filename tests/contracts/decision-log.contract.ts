import { deepStrictEqual } from 'node:assert/strict';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import {
  type Decision,
  type Discovery,
  headOf,
  withDiscoveries,
  withoutDiscoveries,
} from '../../src/decisions/decision.ts';
import type { DecisionLog, DecisionLogs } from '../../src/decisions/decision-log.ts';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { taskIdKey, taskKey, unitKey } from '../../src/ledger/unit.ts';
import { decision as arbitraryDecision, sampleDecision } from '../decisions/arbitrary-decision.ts';

/** One place in which decisions are kept, used by one process at a time. */
export interface DecisionPlace {
  /** Connects to it, as a starting process does. */
  connect(): Promise<DecisionLogs>;
  /** Decisions expire after so many milliseconds. */
  readonly retainMs: number;
  /** The time by which they do; ms since the epoch. */
  now(): number;
  /** Lets time pass: a clock is turned, or really waited for. */
  advance(ms: number): Promise<void>;
  dispose(): Promise<void>;
}

/** Whether a test lets decisions expire. Where time is really waited for, the others need a time that they cannot reach. */
export type Retention = 'seconds' | 'hours';

/** What every implementation of `DecisionLogs` and `DecisionLog` keeps. `createPlace` makes an empty one. */
export function decisionLogContract(
  name: string,
  createPlace: (retention: Retention) => Promise<DecisionPlace>,
): void {
  describe(`${name} as a decision log`, () => {
    let place: DecisionPlace;
    let logs: DecisionLogs;

    async function start(retention: Retention = 'hours'): Promise<DecisionLog> {
      place = await createPlace(retention);
      logs = await place.connect();
      return logs.open('default');
    }

    async function restart(): Promise<DecisionLog> {
      await logs.close();
      logs = await place.connect();
      return logs.open('default');
    }

    const made = (id: string): Decision => sampleDecision(`default.${id}`, place.now());

    afterEach(async () => {
      await logs.close();
      await place.dispose();
    });

    it('is empty at first', async () => {
      const log = await start();
      expect(await log.get('default.a')).toBeNull();
      expect(await log.activate('default.a', 1)).toBe('unknown');
      expect(await idsOf(log)).toEqual([]);
    });

    it('finds the log of a catalog that has one', async () => {
      await (await start()).append(made('a'));
      expect((await (await logs.find('default'))?.get('default.a'))?.id).toBe('default.a');
      await restart();
      expect((await (await logs.find('default'))?.get('default.a'))?.id).toBe('default.a');
    });

    it('finds no decision in a catalog without a log', async () => {
      await start();
      expect((await (await logs.find('other'))?.get('other.a')) ?? null).toBeNull();
    });

    it('tells the head of a decision, with its activation', async () => {
      const log = await start();
      const decision = { ...made('a'), activation: 'later' as const, activatedAt: null };
      await log.append(decision);
      expect(await log.head('default.a')).toEqual(headOf(decision));
      expect(headOf(decision).shown.length).toBeGreaterThan(0);
      await log.activate('default.a', 1000);
      const ids = ['default.a', 'default.unknown', 'default.a'];
      const activated = { ...headOf(decision), activatedAt: 1000 };
      expect(await Promise.all(ids.map((id) => log.head(id)))).toEqual([activated, null, activated]);
    });

    it('gives many decisions to be used, in the order in which they were asked for, with their activations', async () => {
      const log = await start();
      const later = { ...made('a'), activation: 'later' as const, activatedAt: null };
      await log.append(later);
      const b = made('b');
      await log.append(b);
      await log.activate('default.a', 1000);
      for (const open of [async () => log, restart]) {
        const reader = await open();
        const ids = ['default.b', 'default.unknown', 'default.a', 'default.b'];
        const each = await Promise.all(ids.map((id) => reader.get(id)));
        expect(each.map((one) => one?.activatedAt)).toEqual([b.activatedAt, undefined, 1000, b.activatedAt]);
        expect(await reader.useAll(ids, (one, index) => ({ one, index }))).toEqual(
          each.map((one, index) => ({ one, index })),
        );
        expect(await reader.useAll([], (one) => one)).toEqual([]);
      }
    });

    it('adds discoveries to a decision and its head, in order, over a restart', async () => {
      const log = await start();
      const decision = { ...made('a'), activatedAt: place.now() };
      const free = decision.candidates.filter((_, index) => !decision.slate.includes(index));
      expect(free.length).toBeGreaterThan(2);
      const found = (tools: string[]): Discovery => ({
        ...{
          at: place.now(),
          tools,
          propensity: tools.map(() => 0.25),
          hashes: tools.map((tool) => `#${tool}`),
        },
        ...{ sufficiency: 0.5, key: 'k', request: 'r' },
      });
      expect(await log.discover('default.a', found([free[0]]), 0)).toBe('unknown');
      await log.append(decision);
      await log.append(made('b'));
      const [one, two] = [found([free[2], free[0]]), found([free[1]])];
      expect(await log.discover('default.a', one, 0)).toBe('added');
      expect(await log.discover('default.a', two, 0)).toBe('moved');
      expect(await log.discover('default.a', two, 1)).toBe('added');
      const grown = withDiscoveries(decision, [one, two]);
      expect(grown.slate).toHaveLength(decision.slate.length + 3);
      expect(withoutDiscoveries(grown)).toEqual(decision);
      for (const open of [async () => log, restart]) {
        const reader = await open();
        expect(await reader.get('default.a')).toEqual(grown);
        expect(await reader.head('default.a')).toEqual(headOf(grown));
        expect((await reader.get('default.b'))?.discoveries).toBeUndefined();
        const read = new Map<string, number | undefined>();
        for await (const { id, discoveries } of reader.read()) read.set(id, discoveries?.length);
        expect([...read].sort()).toEqual([
          ['default.a', 2],
          ['default.b', undefined],
        ]);
        for await (const logged of reader.newestFirst()!) {
          expect(logged.decision.discoveries?.length).toBe(read.get(logged.decision.id));
        }
        expect(await reader.append(decision)).toBe(false);
      }
    });

    it('adds one of several discoveries at once, and each of those that are made again after it', async () => {
      const log = await start();
      const decision = { ...made('a'), activatedAt: place.now() };
      await log.append(decision);
      const at = place.now();
      const discovery = (n: number): Discovery => ({ at: at + n, tools: [], propensity: [], hashes: [] });
      const answers = await Promise.all([1, 2, 3, 4].map((n) => log.discover('default.a', discovery(n), 0)));
      expect(answers.filter((answer) => answer === 'added')).toHaveLength(1);
      expect(answers.filter((answer) => answer === 'moved')).toHaveLength(3);
      expect((await log.get('default.a'))?.discoveries).toHaveLength(1);
      expect(await log.discover('default.a', discovery(5), 1)).toBe('added');
      expect(await log.activate('default.a', 1)).toBe('again');
      expect((await (await restart()).get('default.a'))?.discoveries).toHaveLength(2);
    });

    it('finds the shown decisions of a task, newest first, over a restart, until they expire', async () => {
      const [log, task] = [await start('seconds'), taskKey({ task: 'job', owner: 'anna' })];
      const at = place.now();
      const of = (id: string, n: number, more: Partial<Decision> = {}): Decision => {
        return { ...made(id), at: at + n, deadline: at + n + 600_000, activatedAt: at, task, ...more };
      };
      const bens = taskKey({ task: 'job', owner: 'ben' });
      const later = of('c', 3, { activation: 'later', activatedAt: null });
      for (const decision of [of('a', 1), of('b', 2), later, of('d', 4, { task: bens })]) {
        await log.append(decision);
      }
      await log.append(made('e'));
      const found = async (open: DecisionLog, key: string) => (await open.ofTask(key)).map(({ id }) => id);
      expect(await found(log, task)).toEqual(['default.b', 'default.a']);
      expect(await found(log, taskIdKey(task))).toEqual(['default.d', 'default.b', 'default.a']);
      expect((await log.ofTask(bens))[0]).toEqual(headOf(of('d', 4, { task: bens })));
      await log.activate('default.c', at + 5);
      expect(new Set(await found(log, task))).toEqual(new Set(['default.a', 'default.b', 'default.c']));
      expect(await found(log, taskKey({ task: 'job' }))).toHaveLength(4);
      expect(await found(log, taskKey({ task: 'other' }))).toEqual([]);
      const again = await restart();
      expect(new Set(await found(again, task))).toEqual(new Set(['default.a', 'default.b', 'default.c']));
      await place.advance(place.retainMs + 10);
      expect(await found(again, task)).toEqual([]);
    });

    it('finds the newest decisions of a thread, also of one that was made in a task', async () => {
      const [log, task, thread] = [await start(), taskKey({ task: 'job' }), unitKey('a thread')];
      const at = place.now();
      for (const [n, id] of ['a', 'b', 'c'].entries()) {
        await log.append({ ...made(id), at: at + n, activatedAt: at, thread, ...(id === 'b' && { task }) });
      }
      for (const open of [log, await restart()]) {
        expect((await open.ofTask(thread, 2)).map(({ id }) => id)).toEqual(['default.c', 'default.b']);
        expect((await open.ofTask(task)).map(({ id }) => id)).toEqual(['default.b']);
      }
    });

    it('finds a shown decision of a thread beside many that never were, and one first in which more was discovered', async () => {
      const [log, thread, at] = [await start(), unitKey('a thread'), place.now()];
      const found = async (open: DecisionLog) => (await open.ofTask(thread, 2)).map(({ id }) => id);
      const later = { activation: 'later' as const, activatedAt: null };
      for (const [n, id] of ['a', 'b', 'c', 'd', 'e', 'f'].entries()) {
        const shown = n < 2 ? { activatedAt: at + n } : later;
        await log.append({ ...made(id), at: at + n, deadline: at + 600_000, thread, ...shown });
      }
      expect(await found(log)).toEqual(['default.b', 'default.a']);
      await log.activate('default.c', at + 10);
      expect(await found(log)).toEqual(['default.c', 'default.b']);
      await log.discover('default.a', { at: at + 11, tools: [], propensity: [], hashes: [] }, 0);
      for (const open of [log, await restart()])
        expect(await found(open)).toEqual(['default.a', 'default.c']);
    });

    it('gives back any decision bit for bit, also after a restart', async () => {
      const log = await start();
      const samples = fc.sample(arbitraryDecision, { numRuns: 30, seed: 7 });
      const decisions = samples.map((sample, i) => ({ ...sample, id: `default.${i}`, at: place.now() }));
      await Promise.all(decisions.map((decision) => log.append(decision)));
      const again = await restart();
      for (const decision of decisions) deepStrictEqual(await again.get(decision.id), decision);
    });

    it('keeps the first of several decisions with one id, over a restart', async () => {
      let log = await start();
      const first = { ...made('a'), request: 'one' };
      expect(await log.append(first)).toBe(true);
      expect(await log.append({ ...first, request: 'other' })).toBe(false);
      expect(await log.append(first)).toBe(false);
      expect(await log.get('default.a')).toEqual(first);
      log = await restart();
      expect(await log.append({ ...first, request: 'other' })).toBe(false);
      expect(await log.get('default.a')).toEqual(first);
    });

    it('tells one of several appends at once that it is the first, were they alike to the last bit', async () => {
      const log = await start();
      const alike = made('a');
      const others = ['b', 'c', 'd'].map((request) => ({ ...alike, request }));
      const answers = await Promise.all([alike, alike, ...others, alike].map((one) => log.append(one)));
      expect(answers.filter((isFirst) => isFirst)).toHaveLength(1);
      expect(await idsOf(log)).toEqual(['default.a']);
    });

    it('finds every decision that was acknowledged while many were made at once', async () => {
      const log = await start();
      const ids = Array.from({ length: 300 }, (_, i) => `default.${i}`);
      await Promise.all(ids.map((id) => log.append(sampleDecision(id, place.now(), 2))));
      for (const reader of [log, await restart()]) {
        for (const id of ids) expect((await reader.get(id))?.id).toBe(id);
        expect((await idsOf(reader)).sort()).toEqual([...ids].sort());
      }
      expect(await (await logs.open('default')).get('default.300')).toBeNull();
    });

    it('keeps the first time of activation, over a restart', async () => {
      const log = await start();
      await log.append(made('a'));
      await log.append(made('b'));
      await log.append({ ...made('c'), activation: 'now', activatedAt: 123 });
      expect((await log.get('default.a'))?.activatedAt).toBeNull();
      expect(await log.activate('default.a', 1000)).toBe('first');
      expect(await log.activate('default.a', 2000)).toBe('again');
      expect(await log.activate('default.c', 3000)).toBe('again');
      expect(await log.activate('default.unknown', 1)).toBe('unknown');
      for (const reader of [log, await restart()]) {
        const times = [];
        for (const id of ['a', 'b', 'c']) times.push((await reader.get(`default.${id}`))?.activatedAt);
        expect(times).toEqual([1000, null, 123]);
        const read: (number | null)[] = [];
        for await (const { activatedAt } of reader.read()) read.push(activatedAt);
        expect(read).toEqual([1000, null, 123]);
        expect(await reader.activate('default.a', 4000)).toBe('again');
      }
    });

    it('agrees with itself when a decision is activated many times at once', async () => {
      const log = await start();
      await log.append(made('a'));
      const times = Array.from({ length: 10 }, (_, i) => 1000 + i);
      const answers = await Promise.all(times.map((at) => log.activate('default.a', at)));
      expect(answers.sort()).toEqual([...times.slice(1).map(() => 'again'), 'first']);
      const first = (await log.get('default.a'))?.activatedAt;
      expect(times).toContain(first);
      expect((await (await restart()).get('default.a'))?.activatedAt).toBe(first);
    });

    it('reads decisions in the order in which they were made', async () => {
      const log = await start();
      const ids = Array.from({ length: 40 }, (_, i) => `default.${(i * 17) % 40}`);
      for (const id of ids) {
        await log.append(sampleDecision(id, place.now(), 2));
        await place.advance(1);
      }
      expect(await idsOf(log)).toEqual(ids);
    });

    it('reads the newest first, and goes on where a page ended', async () => {
      const log = await start('seconds');
      const ids = Array.from({ length: 200 }, (_, i) => `default.${String(i).padStart(4, '0')}`);
      // Half of them share their moment with another one, and forty with all others.
      const times = ids.map((_, i) => place.now() - 1_000 + (i < 40 ? 0 : Math.floor(i / 2)));
      for (const [i, id] of ids.entries()) {
        const later = { activation: 'later' as const, activatedAt: null };
        await log.append({ ...sampleDecision(id, times[i], 2), ...later });
      }
      await log.activate('default.0007', 1_000);
      const read: { readonly id: string; readonly at: number; readonly activatedAt: number | null }[] = [];
      let cursor: string | undefined;
      for (let before = -1; before < read.length; ) {
        before = read.length;
        let left = 17;
        for await (const logged of log.newestFirst(cursor)!) {
          read.push(logged.decision);
          cursor = logged.cursor;
          if (--left === 0) break;
        }
        if (before === 51) await log.append(made('new'));
      }
      expect(read.map(({ at }) => at)).toEqual([...times].reverse());
      expect(read.map(({ id }) => id).sort()).toEqual(ids);
      expect(read.filter(({ activatedAt }) => activatedAt !== null).map(({ id }) => id)).toEqual([
        'default.0007',
      ]);
      expect(log.newestFirst('no cursor')).toBeNull();
      await place.advance(place.retainMs);
      for await (const { decision } of log.newestFirst()!) expect.unreachable(decision.id);
    });

    it('counts decisions by the hour in which they were made, activations not among them', async () => {
      let log = await start();
      const hour = Math.floor(place.now() / 3_600_000) * 3_600_000;
      for (const id of ['a', 'b', 'c']) await log.append(made(id));
      await log.activate('default.a', place.now());
      expect(await log.countSince(hour)).toBe(3);
      log = await restart();
      expect(await log.countSince(hour)).toBe(3);
      expect(await log.countSince(hour + 2 * 3_600_000)).toBe(0);
    });

    it('forgets decisions when they expire, and not before', async () => {
      const log = await start('seconds');
      await log.append(made('old'));
      await log.activate('default.old', 5);
      await place.advance(place.retainMs / 2);
      expect((await log.get('default.old'))?.activatedAt).toBe(5);
      await log.append(made('young'));
      await place.advance(place.retainMs / 2);
      expect(await log.get('default.old')).toBeNull();
      expect(await log.activate('default.old', 6)).toBe('unknown');
      expect(await idsOf(log)).toEqual(['default.young']);
      const again = await restart();
      expect(await again.get('default.old')).toBeNull();
      expect((await again.get('default.young'))?.id).toBe('default.young');
      await place.advance(place.retainMs / 2);
      expect(await idsOf(again)).toEqual([]);
      await again.append(made('new'));
      expect(await idsOf(again)).toEqual(['default.new']);
    });

    it('misses no decision that was there when reading began, while others expire and come', async () => {
      const log = await start('seconds');
      const names = (kind: string) => Array.from({ length: 250 }, (_, i) => `default.${kind}-${1000 + i}`);
      const soon = place.now() - place.retainMs + 1_500;
      // All at once: one after the other they take longer, on a busy machine, than they are kept.
      await Promise.all(names('old').map((id) => log.append(sampleDecision(id, soon, 2))));
      const at = place.now();
      await Promise.all(names('young').map((id) => log.append(sampleDecision(id, at, 2))));
      const read: string[] = [];
      for await (const { id } of log.read()) {
        if (read.length === 0) {
          await place.advance(1_500);
          await log.append(made('new'));
        }
        read.push(id);
      }
      expect(read).toEqual([...new Set(read)]);
      expect(read).toEqual(expect.arrayContaining(names('young')));
    });

    it('releases the log of a catalog that another process has deleted, and opens another one', async () => {
      const log = await start();
      await logs.release('default');
      await logs.release('never-existed');
      await expect(log.append(made('late'))).rejects.toThrow(StoreUnavailableError);
      const anew = await logs.open('default');
      expect(await anew.append(made('a'))).toBe(true);
      expect(await idsOf(anew)).toEqual(['default.a']);
    });

    it('keeps catalogs apart, opens each once, and removes one for good', async () => {
      const log = await start();
      expect(await logs.open('default')).toBe(log);
      const other = await logs.open('other');
      await log.append(made('a'));
      await other.append(sampleDecision('other.a', place.now()));
      expect(await other.get('default.a')).toBeNull();
      await logs.remove('other');
      await logs.remove('never-existed');
      const empty = await logs.open('other');
      expect(await empty.get('other.a')).toBeNull();
      await empty.append(sampleDecision('other.b', place.now()));
      expect(await idsOf(empty)).toEqual(['other.b']);
      expect(await idsOf(log)).toEqual(['default.a']);
    });
  });
}

async function idsOf(log: DecisionLog): Promise<string[]> {
  const ids: string[] = [];
  for await (const { id } of log.read()) ids.push(id);
  return ids;
}
