import { describe, expect, it } from 'vitest';
import { judgePlan, ScriptedPlanner } from '../../../bench/context/planner.ts';
import { simulatedWorld } from '../../../bench/context/world.ts';

const world = simulatedWorld(1);
const planner = new ScriptedPlanner(world.training.flatMap(({ queries }) => queries));
const query = world.test
  .flatMap(({ queries }) => queries)
  .find(({ args, text }) => args.contact !== undefined && !text.includes(args.contact))!;
const { contact } = query.args;
const given = {
  query: query.text,
  tools: query.tools,
  context: [`Phone, call: Missed call from ${contact}`],
};

describe('the scripted planner', () => {
  it('takes an argument from the items that it is given, and invents one where nothing names it', () => {
    expect(planner.plan(given, query.tools, ['contact'], 0).args).toEqual({ contact });
    const without = planner.plan({ ...given, context: [] }, query.tools, ['contact'], 0);
    expect(without.args.contact).not.toBe(contact);
    expect(judgePlan(without, query).isInvented).toBe(true);
  });

  it('takes what the query names before what an item names, and the better item before the others', () => {
    const other = contact === 'Nina Berg' ? 'Omar Cole' : 'Nina Berg';
    const call = (text: string, context: readonly string[]) =>
      planner.plan({ ...given, query: text, context }, query.tools, ['contact'], 0).args.contact;
    expect(call(`Call ${other}`, given.context)).toBe(other);
    expect(call(query.text, [...given.context, `From ${other}: hello`])).toBe(contact);
  });

  it('chooses among the tools that it is shown alone, one that fits nearly always', () => {
    const plans = (tools: readonly string[]): string[] =>
      Array.from(
        { length: 400 },
        (_, key) => planner.plan({ ...given, tools }, query.tools, ['contact'], key).tool,
      );
    expect(new Set(plans(['music.pause', 'music.skip']))).toEqual(new Set(['music.pause']));
    const right = plans(['music.pause', query.tools[0]]).filter((tool) => tool === query.tools[0]);
    expect(right.length).toBeGreaterThan(365);
    expect(right.length).toBeLessThan(395);
  });
});

it('a plan is right by its tree with any tool that fits and arguments that name the thing, to the letter with the best and the same', () => {
  const [best, second] = query.tools;
  const judged = (tool: string, value: string | undefined) =>
    judgePlan({ tool, args: value === undefined ? {} : { contact: value } }, query);
  expect(judged(best, contact)).toEqual({ isTree: true, isExact: true, isInvented: false });
  expect(judged(second, `Call ${contact}`)).toEqual({ isTree: true, isExact: false, isInvented: false });
  expect(judged('music.pause', contact)).toEqual({ isTree: false, isExact: false, isInvented: false });
  expect(judged(best, 'somebody else')).toEqual({ isTree: false, isExact: false, isInvented: true });
  expect(judged(best, undefined).isInvented).toBe(true);
});
