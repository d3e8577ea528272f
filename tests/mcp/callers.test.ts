import { describe, expect, it } from 'vitest';
import { CallSignals } from '../../src/gateway/call-signals.ts';
import { type Caller, Callers, type Task } from '../../src/mcp/callers.ts';

const PAUSE_MS = 5 * 60_000;

/** Callers, and a clock that a test moves. */
function callers() {
  const clock = { now: 0 };
  const ended: Task[] = [];
  return {
    clock,
    ended,
    callers: new Callers(
      () => clock.now,
      (task) => ended.push(task),
    ),
  };
}
const caller = (more: Partial<Caller> = {}): Caller => ({ catalog: 'shop', sessionId: 'one', ...more });

describe('a task', () => {
  it('is what a caller asks without a long pause', () => {
    const { clock, ended, callers: all } = callers();
    const first = all.taskOf(caller());
    clock.now += PAUSE_MS;
    expect(all.taskOf(caller())).toBe(first);
    clock.now += PAUSE_MS + 1;
    expect(all.taskOf(caller()).id).not.toBe(first.id);
    expect(ended).toEqual([first]);
  });

  it('that its caller named keeps its id over a pause', () => {
    const { clock, callers: all } = callers();
    const { id } = all.taskOf(caller({ task: 'turn-1' }));
    clock.now += PAUSE_MS + 1;
    expect(all.taskOf(caller({ task: 'turn-1' })).id).toBe(id);
    expect(id).toMatch(/^turn-1\./);
  });

  it.each([{ sessionId: 'two' }, { userId: 'Ada' }, { unitId: 'team' }])(
    'is of one caller alone, whatever others name theirs: %j',
    (other) => {
      const { callers: all } = callers();
      const named = [caller({ task: '1' }), caller({ task: '1', ...other })].map((one) => all.taskOf(one));
      expect(new Set(named.map(({ id }) => id)).size).toBe(2);
      const signals = new CallSignals(() => 0);
      const [mine, theirs] = named;
      const find = (task: Task, decisionId: string) =>
        signals.found('shop', task.id, { decisionId, deadline: 1e9, query: 'refund', tools: [] });
      const call = (task: Task, decisionId: string, tool: string) =>
        signals.called('shop', task.id, { id: `${decisionId}/${tool}`, decisionId, tool, end: 'ok' });
      find(mine, 'a');
      call(mine, 'a', 'x');
      find(theirs, 'b');
      // Had it been the same task, the search that led to y would have taken back that x was of use.
      expect(call(theirs, 'b', 'y')).toEqual([]);
      expect(signals.ended('shop', mine.id)).toMatchObject([{ tool: 'x', outcome: 'success' }]);
    },
  );

  it('goes on while a request of it is answered, and for ten minutes while somebody thinks about a question', async () => {
    const { clock, ended, callers: all } = callers();
    const task = all.taskOf(caller());
    let answerIt = (_: string): void => {};
    const answered = all.during(
      task,
      () =>
        new Promise<string>((resolve) => {
          answerIt = resolve;
        }),
      (answer) => answer === 'question',
    );
    clock.now += 3 * PAUSE_MS;
    all.sweep();
    expect(all.taskOf(caller())).toBe(task);
    answerIt('question');
    await answered;
    clock.now += 2 * PAUSE_MS;
    all.sweep();
    expect(ended).toEqual([]);
    clock.now += 1;
    all.sweep();
    expect(ended).toEqual([task]);
  });
});
