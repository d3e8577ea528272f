import { expect, it } from 'vitest';
import { agentParameters } from '../../../bench/itr/agent.ts';
import { measure } from '../../../bench/itr/measures.ts';
import { NO_DISCOVERY, play } from '../../../bench/itr/play.ts';
import type { Served, Strategy } from '../../../bench/itr/strategies.ts';
import { readTasks, TASK_SETS, type Task } from '../../../bench/itr/tasks.ts';
import { readTools } from '../../../bench/itr/tool-box.ts';

const tools = readTools();
const names = tools.map(({ definition }) => definition.name);
const flawless = {
  ...agentParameters(),
  distractor: 0,
  own: 0,
  prompt: 0,
  unguided: 1,
  doubts: 0,
  notices: 1,
};

function served(shown: readonly string[]): Served {
  return {
    view: { tools: shown, instructions: new Set(), promptShare: 0 },
    tokens: { prefix: 0, changing: 100, appended: 0 },
  };
}

const everything: Strategy = { name: 'everything', serve: async () => served(names) };

/** Has the tools of a task from the second step on only, once more is asked for. */
function without(hidden: ReadonlySet<string>): Strategy {
  const shown = names.filter((name) => !hidden.has(name));
  return { name: 'without', serve: async () => served(shown), more: async () => served(names) };
}

const common = { tools, gate: NO_DISCOVERY, key: 'test' };

it('an agent without faults does every task in as many steps as it has', async () => {
  for (const task of TASK_SETS.flatMap(readTasks)) {
    const episode = await play(task, everything, { ...common, agent: flawless });
    expect(episode.succeeded, task.id).toBe(true);
    expect(episode.steps, task.id).toHaveLength(task.hops.length);
  }
});

it('an ordinary agent does less, and the same in each run', async () => {
  const tasks = readTasks('T2');
  const played = async () => {
    const options = { ...common, agent: agentParameters() };
    return measure(await Promise.all(tasks.map((task) => play(task, everything, options))));
  };
  const first = await played();
  expect(first.success).toBeLessThan(1);
  expect(first.success).toBeGreaterThan(0);
  expect(await played()).toEqual(first);
});

it('a tool that is hidden is a miss; discovery brings it, for another request', async () => {
  const task: Task = readTasks('T1')[0];
  const strategy = without(new Set(task.hops[1].gold));
  const missed = await play(task, strategy, { ...common, agent: flawless });
  expect(missed).toMatchObject({ succeeded: false, missed: true });
  const found = await play(task, strategy, { ...common, agent: flawless, gate: { rating: true, least: 0 } });
  expect(found).toMatchObject({ succeeded: true, missed: false });
  expect(found.steps.map(({ discovery }) => discovery)).toEqual([false, true, false]);
});
