import { expect, it } from 'vitest';
import { Problem, type ProblemCode } from '../../src/errors/problem.ts';
import { CallSignals } from '../../src/gateway/call-signals.ts';
import { Callers } from '../../src/mcp/callers.ts';
import { type TaskReportParts, TaskReports } from '../../src/mcp/task-reports.ts';

/** A task that calls a tool of each of these decisions and ends; reports on those that begin with the name of a problem fail. */
async function taskOf(...decisionIds: string[]) {
  const log: string[] = [];
  const parts: TaskReportParts = {
    signals: new CallSignals(() => 0),
    rewards: {
      report: async (reports) =>
        reports.map((report) => {
          const { decisionId, outcome } = report as { decisionId: string; outcome: string };
          const [code, isProblem] = decisionId.split('/');
          if (isProblem !== undefined) return { problem: new Problem(code as ProblemCode, code, '') };
          log.push(`${decisionId} ${outcome}`);
          return { rewardId: `${decisionId}.1`, status: 'queued' };
        }),
    },
    tasks: {
      end: async ({ task }) => {
        log.push('end');
        return { task, decisions: 1 };
      },
    },
    onError: (_, error) => log.push(`error ${(error as Problem).code}`),
  };
  const reports = new TaskReports(parts);
  const callers = new Callers(
    () => 0,
    (task) => reports.ended(task),
  );
  const task = callers.taskOf({ catalog: 'default', sessionId: 'one' });
  for (const [at, decisionId] of decisionIds.entries()) {
    const tool = `t${at}`;
    reports.found(task, { query: 'a job', decisionId, tools: [tool], deadline: 1e9 });
    reports.called(task, { id: `${at}`, tool, decisionId, end: 'ok' });
  }
  callers.end('one');
  await reports.idle();
  return log;
}

it('ends a task in which a call named a decision that there is not, and reports its other calls', async () => {
  const log = await taskOf('decision-not-found/1', 'a');
  expect(log).toContain('a success');
  expect(log.at(-1)).toBe('end');
  expect(log.join()).not.toContain('error');
});

it('says which reports were refused for another reason, and goes on', async () => {
  const log = await taskOf('validation-failed/1', 'a');
  expect(log).toEqual(expect.arrayContaining(['error validation-failed', 'a success', 'end']));
});

it('does not end a task while a store is away, since its calls would count as not made', async () => {
  expect(await taskOf('a', 'unavailable/1')).not.toContain('end');
});
