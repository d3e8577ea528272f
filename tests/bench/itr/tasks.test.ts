import { describe, expect, it } from 'vitest';
import { readInstructions, unknownLabels } from '../../../bench/itr/instructions.ts';
import { catalogOf, readTasks, split, TASK_SETS } from '../../../bench/itr/tasks.ts';
import { readTools, World } from '../../../bench/itr/tool-box.ts';
import { ESTIMATE } from '../../../src/tokens/estimate.ts';

const tools = readTools();
const tasks = TASK_SETS.flatMap(readTasks);

function played(hops: (typeof tasks)[number]['hops']): World {
  const world = new World(tools);
  for (const { gold, given } of hops) world.call(gold[0], given);
  return world;
}

describe('the tools', () => {
  it('are 120 with names of their own and valid schemas', () => {
    expect(new Set(tools.map(({ definition }) => definition.name)).size).toBe(120);
    for (const { definition, key, required } of tools) {
      const { properties } = definition.inputSchema as { properties: Record<string, { type: string }> };
      expect(properties[key].type, definition.name).toMatch(/string|integer|number|boolean|array/);
      expect(Object.keys(properties)).toEqual(expect.arrayContaining([...required]));
    }
  });

  it('refuse a call without a required argument and change nothing', () => {
    const world = new World(tools);
    expect(world.call('billing_refund_payment', { paymentId: 'PAY-1', amount: '5' })).toBe(false);
    expect(world.record('refunds/PAY-1')).toBeUndefined();
  });

  it('keep only arguments that they have', () => {
    const world = new World(tools);
    expect(world.call('crm_add_note', { accountId: 'C-1', text: 'a note', amount: '5' })).toBe(true);
    expect([...world.record('notes/C-1')!.keys()]).toEqual(['accountId', 'text']);
  });
});

describe('the tasks', () => {
  it('are of the kinds of the paper', () => {
    const numbers = TASK_SETS.map((set) => readTasks(set).map(({ hops }) => hops.length));
    expect(numbers.map(({ length }) => length)).toEqual([40, 30, 30]);
    const [one, two, three] = numbers.map((lengths) => [Math.min(...lengths), Math.max(...lengths)]);
    expect(one).toEqual([1, 3]);
    expect(two).toEqual([5, 5]);
    expect(three).toEqual([2, 5]);
  });

  it.each(tasks.map((task) => [task.id, task] as const))(
    '%s is done by its own calls and by no fewer',
    (_, task) => {
      expect(task.missing(played(task.hops))).toEqual([]);
      expect(task.missing(new World(tools))).not.toEqual([]);
      for (const [at, { gold }] of task.hops.entries()) {
        const repeated = task.hops.some((hop, other) => other !== at && hop.gold[0] === gold[0]);
        if (repeated) continue;
        const without = task.hops.filter((_hop, other) => other !== at);
        expect(task.missing(played(without)), `without ${gold[0]}`).not.toEqual([]);
      }
    },
  );

  it('see a field that was set to something else', () => {
    const task = tasks.find(({ id }) => id === 'T1-01')!;
    const wrong = task.hops.map((hop) => ({ ...hop, given: { ...hop.given, amount: '480' } }));
    expect(task.missing(played(wrong))).toEqual(['refunds/PAY-8812 amount=240 reason=duplicate']);
  });

  it('name tools and instructions that there are', () => {
    const names = new Set(tools.map(({ definition }) => definition.name));
    const gold = tasks.flatMap(({ hops }) => hops.flatMap((hop) => hop.gold));
    expect(gold.filter((name) => !names.has(name))).toEqual([]);
    expect(unknownLabels(readInstructions(tools), tasks)).toEqual([]);
  });

  it('are divided into those to choose on and those to report', () => {
    const { choose, report } = split(tasks);
    expect(new Set([...choose, ...report]).size).toBe(100);
    expect([choose.length, report.length]).toEqual([34, 66]);
  });
});

it('smaller catalogs are part of larger ones', () => {
  const namesOf = (size: number) => catalogOf(tools, tasks, size).map(({ definition }) => definition.name);
  expect(namesOf(40)).toEqual(expect.arrayContaining(namesOf(8)));
  expect(namesOf(120)).toEqual(expect.arrayContaining(namesOf(40)));
});

it('instructions have ids of their own, and are the same in each run', () => {
  const instructions = readInstructions(tools);
  expect(new Set(instructions.map(({ id }) => id)).size).toBe(instructions.length);
  expect(readInstructions(readTools())).toEqual(instructions);
  const tokens = instructions.map(({ text }) => ESTIMATE.count(text));
  expect(tokens.reduce((sum, count) => sum + count, 0)).toBeGreaterThan(15_000);
});
