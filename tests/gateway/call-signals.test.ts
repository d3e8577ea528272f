import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  type CallEnd,
  CallSignals,
  type SeenCall,
  type SignalReport,
} from '../../src/gateway/call-signals.ts';

const HOUR = 3_600_000;

/** One catalog and task, and a clock that a test moves. */
function front() {
  const clock = { now: 0 };
  const signals = new CallSignals(() => clock.now);
  let calls = 0;
  /** Searches in the same words, unless others are given. */
  const find = (decisionId: string, deadline = HOUR, task = 'job', query = 'refund', tools: string[] = []) =>
    signals.found('shop', task, { decisionId, deadline, query, tools });
  const search = (decisionId: string, query: string, tools: string[]) =>
    find(decisionId, HOUR, 'job', query, tools);
  const call = (decisionId: string, tool: string, end: CallEnd = 'ok', task = 'job') =>
    signals.called('shop', task, { id: `c${calls++}`, decisionId, tool, end });
  const say = (tool: string, value: number | null, decisionId: string | null = null) =>
    signals.reported('shop', 'job', { tool, decisionId, value });
  return { clock, signals, find, search, call, say, end: (task = 'job') => signals.ended('shop', task) };
}

const brief = (reports: readonly SignalReport[]) =>
  reports.map(({ decisionId, tool, outcome, value }) =>
    [decisionId, tool, outcome, ...(value === undefined ? [] : [value])].join(' '),
  );

describe('what a front sees becomes reports', () => {
  it('a call that did not fail is a success of weight 1 when the task ends, and not before', () => {
    const { find, call, end } = front();
    find('a');
    expect(call('a', 'x')).toEqual([]);
    expect(end()).toEqual([
      { decisionId: 'a', tool: 'x', outcome: 'success', weight: 1, idempotencyKey: 'signal/c0' },
    ]);
    expect(end()).toEqual([]);
  });

  it.each(['tool-error', 'invalid-arguments', 'invalid-result', 'timeout'] as const)(
    '%s is a failure of weight 1, unless a later call of the tool from the same slate does its work',
    (bad) => {
      const { find, call, end } = front();
      find('a');
      expect(call('a', 'x', bad)).toEqual([]);
      expect(call('a', 'y', bad)).toEqual([]);
      expect(call('a', 'y')).toEqual([]);
      expect(call('a', 'z')).toEqual([]);
      expect(call('a', 'z', bad)).toEqual([]);
      const reports = end();
      expect(brief(reports)).toEqual(['a x failure', 'a y success', 'a z success']);
      expect(reports[0].weight).toBe(1);
    },
  );

  it.each([
    ['protocol-error', ['a x refused']],
    ['unavailable', ['a x refused']],
    ['cancelled', ['a x unknown']],
    ['input-required', []],
    ['task', []],
  ] as const)('%s says nothing about the tool', (ended, reported) => {
    const { find, call, end } = front();
    find('a');
    expect(brief(call('a', 'x', ended))).toEqual(reported);
    expect(end()).toEqual([]);
  });

  it('counts the successes of jobs that follow one another in one task, each as soon as the next tool is called', () => {
    const { search, call, end } = front();
    const reports: SignalReport[] = [];
    for (let job = 0; job < 10; job++) {
      search(`d${job}`, `job ${job}`, [`t${job}`, `u${job}`]);
      reports.push(...call(`d${job}`, `t${job}`));
    }
    expect(brief(reports)).toEqual(Array.from({ length: 9 }, (_, job) => `d${job} t${job} success`));
    expect(brief(end())).toEqual(['d9 t9 success']);
  });

  it('takes a search for the same job that has the same words or shows the tool again', () => {
    const { search, call } = front();
    search('a', 'send the money back', ['x', 'w']);
    call('a', 'x');
    search('b', 'refund', ['y', 'x']);
    expect(brief(call('b', 'y'))).toEqual(['a x unknown']);
    search('c', 'refund', ['z']);
    expect(brief(call('c', 'z'))).toEqual(['b y unknown']);
    search('d', 'weather', ['v', 'x', 'y']);
    expect(brief(call('d', 'v'))).toEqual(['c z success']);
  });

  it('a tool that failed stays failed, whatever is searched for', () => {
    const { find, call, end } = front();
    find('a');
    call('a', 'x', 'tool-error');
    find('b');
    expect(brief(call('b', 'y'))).toEqual(['a x failure']);
    expect(brief(end())).toEqual(['b y success']);
  });

  it('a success before a search for the same job that leads to another tool teaches nothing', () => {
    const { find, call, end } = front();
    find('a');
    call('a', 'x');
    find('b');
    expect(brief(call('b', 'y'))).toEqual(['a x unknown']);
    expect(brief(end())).toEqual(['b y success']);
  });

  it('a search that leads nowhere, to the same tool, or back to an earlier slate takes nothing back', () => {
    const { find, call, end } = front();
    find('a');
    call('a', 'x');
    find('b');
    expect(call('b', 'x')).toEqual([]);
    expect(call('a', 'z')).toEqual([]);
    find('c');
    expect(brief(end())).toEqual(['a x success', 'b x success', 'a z success']);
  });

  it('after an error the tool that is switched to counts by its own outcome', () => {
    const { find, call, end } = front();
    find('a');
    expect(call('a', 'x', 'tool-error')).toEqual([]);
    expect(call('a', 'y')).toEqual([]);
    find('b');
    expect(brief(call('b', 'z', 'tool-error'))).toEqual(['a x failure', 'a y unknown']);
    expect(brief(end())).toEqual(['b z failure']);
  });

  it('several calls from one slate are all of use', () => {
    const { find, call, end } = front();
    find('a');
    for (const tool of ['x', 'y', 'z']) call('a', tool);
    expect(brief(end())).toEqual(['a x success', 'a y success', 'a z success']);
  });

  it('a call of the same tool from the same slate replaces the one before', () => {
    const { find, call, end } = front();
    find('a');
    call('a', 'x');
    call('a', 'x');
    expect(end()).toMatchObject([{ idempotencyKey: 'signal/c1' }]);
  });

  it('an explicit report overrules everything, before and after the call', () => {
    const { find, call, say, end } = front();
    find('a');
    call('a', 'x');
    call('a', 'y');
    say('x', 0, 'a');
    say('z', 1);
    expect(call('a', 'z', 'tool-error')).toEqual([]);
    expect(call('a', 'x')).toEqual([]);
    expect(brief(end())).toEqual(['a y success']);
  });

  it('with explicit reports a success before another search is worth (2.5 + right)/(5 + n)', () => {
    const { find, call, say } = front();
    find('a');
    call('a', 'x');
    call('a', 'y');
    say('x', 1, 'a');
    find('b');
    // The report came before the search, which tells what kind of call it was about.
    expect(brief(call('b', 'z'))).toEqual([`a y partial ${3.5 / 6}`]);
    say('y', 0, 'a');
    say('y', 0, 'a');
    find('c');
    expect(brief(call('c', 'w'))).toEqual([`b z partial ${3.5 / 7}`]);
    say('z', null, 'b');
    find('d');
    expect(brief(call('d', 'v'))).toEqual([`c w partial ${3.5 / 7}`]);
  });

  it('verdicts count for their catalog alone, and only on calls before another search', () => {
    const { signals, find, call, say } = front();
    find('a');
    call('a', 'x');
    say('x', 1);
    find('b', HOUR, 'other');
    call('b', 'y', 'ok', 'other');
    find('c', HOUR, 'other');
    expect(brief(call('c', 'z', 'ok', 'other'))).toEqual(['b y unknown']);
    find('d');
    call('d', 'w');
    signals.found('bank', 'job', { decisionId: 'e', deadline: HOUR, query: 'pay', tools: [] });
    signals.called('bank', 'job', { id: '1', decisionId: 'e', tool: 'x', end: 'ok' });
    signals.found('bank', 'job', { decisionId: 'f', deadline: HOUR, query: 'pay', tools: [] });
    const next = { id: '2', decisionId: 'f', tool: 'y', end: 'ok' } as const;
    expect(brief(signals.called('bank', 'job', next))).toEqual(['e x unknown']);
  });

  it('what is held is reported before its window ends, once', () => {
    const { clock, signals, find, call, end } = front();
    find('a', 100_000);
    find('b', 500_000);
    call('a', 'x');
    call('b', 'y');
    expect(signals.due()).toEqual([]);
    clock.now = 70_000;
    expect(brief(signals.due())).toEqual(['a x success']);
    expect(signals.due()).toEqual([]);
    find('c', 500_000);
    // It has been reported, and stays so.
    expect(brief(call('c', 'z'))).toEqual(['b y unknown']);
    expect(brief(end())).toEqual(['c z success']);
  });

  it('a task that has to make room for others is reported as if it had ended', () => {
    const { find, call, end } = front();
    find('a', HOUR, 'first');
    call('a', 'x', 'ok', 'first');
    const reports: SignalReport[] = [];
    for (let n = 0; n < 10_000; n++) reports.push(...find(`d${n}`, HOUR, `task ${n}`));
    expect(brief(reports)).toEqual(['a x success']);
    expect(end('first')).toEqual([]);
  });

  it('remembers a bounded number of calls of a task, and loses none', () => {
    const { find, call, end } = front();
    find('a');
    const reports = Array.from({ length: 1_000 }, (_, n) => call('a', `t${n}`)).flat();
    expect([reports.length, end().length]).toEqual([744, 256]);
  });
});

type Event =
  | { readonly kind: 'find' }
  | { readonly kind: 'call'; readonly tool: number; readonly from: number; readonly end: CallEnd }
  | { readonly kind: 'say'; readonly tool: number; readonly value: number | null };

const event: fc.Arbitrary<Event> = fc.oneof(
  fc.record({ kind: fc.constant('find' as const) }),
  fc.record({
    kind: fc.constant('call' as const),
    tool: fc.nat(3),
    from: fc.nat(3),
    end: fc.constantFrom<CallEnd>('ok', 'ok', 'ok', 'tool-error', 'timeout', 'unavailable', 'input-required'),
  }),
  fc.record({
    kind: fc.constant('say' as const),
    tool: fc.nat(3),
    value: fc.constantFrom(1, 0.5, 0, -1, null),
  }),
);

describe('any task', () => {
  it('has at most one report per call, none after an explicit one, and a report for every tool that was called', () => {
    const run = (events: readonly Event[]): void => {
      const { find, signals, end, say } = front();
      const calls: SeenCall[] = [];
      const said = new Set<string>();
      const reports: SignalReport[] = [];
      let searches = 0;
      const expectUnsaid = (some: readonly SignalReport[]): void => {
        for (const { decisionId, tool } of some) expect(said).not.toContain(`${decisionId} ${tool}`);
        reports.push(...some);
      };
      for (const one of [{ kind: 'find' } as const, ...events]) {
        if (one.kind === 'find') expectUnsaid(find(`d${searches++}`));
        else if (one.kind === 'call') {
          const decisionId = `d${Math.min(one.from, searches - 1)}`;
          const call = { id: `c${calls.length}`, decisionId, tool: `t${one.tool}`, end: one.end };
          calls.push(call);
          expectUnsaid(signals.called('shop', 'job', call));
        } else {
          say(`t${one.tool}`, one.value);
          for (let d = 0; d < searches; d++) said.add(`d${d} t${one.tool}`);
        }
      }
      expectUnsaid(end());
      const keys = reports.map(({ idempotencyKey }) => idempotencyKey);
      expect(new Set(keys).size).toBe(keys.length);
      for (const { value = 0, weight } of reports)
        expect([weight, value >= 0 && value <= 1]).toEqual([1, true]);
      for (const { decisionId, tool, end } of calls) {
        if (end === 'input-required' || said.has(`${decisionId} ${tool}`)) continue;
        expect(reports.some((one) => one.decisionId === decisionId && one.tool === tool)).toBe(true);
      }
    };
    fc.assert(fc.property(fc.array(event, { maxLength: 40 }), run), { seed: 16, numRuns: 500 });
  });
});

describe('calls of a merged tool', () => {
  /** A search that showed a merged tool, and calls of it that two members carried out. */
  function called() {
    const { find, signals, say, end } = front();
    find('a', HOUR, 'job', 'refund', ['x']);
    for (const [id, member, kind] of [
      ['1', 'm', 'tool-error'],
      ['2', 'n', 'ok'],
    ] as const) {
      signals.called('shop', 'job', { id, decisionId: 'a', tool: 'x', member, end: kind });
    }
    return { find, signals, say, end };
  }

  it('teach about the member that carried each out', () => {
    expect(brief(called().end())).toEqual(['a m failure', 'a n success']);
  });

  it('are known by the name that was shown, for a report that names it', () => {
    const { signals, say, end } = called();
    expect(signals.calledAs('shop', 'job', 'x', null)).toBe('n');
    expect(signals.calledAs('shop', 'job', 'x', 'a')).toBe('n');
    expect(signals.calledAs('shop', 'job', 'x', 'b')).toBe('x');
    expect(signals.calledAs('shop', 'other', 'x', null)).toBe('x');
    say('x', 0.2);
    expect(end()).toEqual([]);
  });

  it('are left behind by a search for the same job, which shows the merged tool again', () => {
    const { find, signals, end } = called();
    find('b', HOUR, 'job', 'refund it', ['x', 'y']);
    const left = signals.called('shop', 'job', { id: '3', decisionId: 'b', tool: 'y', end: 'ok' });
    expect(brief(left)).toEqual(['a m failure', 'a n unknown']);
    expect(brief(end())).toEqual(['b y success']);
  });
});
