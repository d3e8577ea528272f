import { readFileSync } from 'node:fs';
import type { World } from './tool-box.ts';

/** One step of a task, and what the agent should do. */
export interface Hop {
  /** In the words of the one who gave the task. */
  readonly said: string;
  /** What the agent is to do, in words with which it would look for a tool that does it. */
  readonly need: string;
  /** The tools that are right for it. */
  readonly gold: readonly string[];
  readonly given: Readonly<Record<string, string>>;
  /** Ids of the instructions that govern this step. */
  readonly instructions: readonly string[];
}

export interface Task {
  readonly id: string;
  readonly set: 'T1' | 'T2' | 'T3';
  readonly text: string;
  readonly hops: readonly Hop[];
  /** Returns what is missing in the end state; nothing: the task is done. */
  missing(world: World): string[];
}

export const TASK_SETS = ['T1', 'T2', 'T3'] as const;

/**
 * The tasks of a set, in the order of its file. A task is `id | text`, then a line for each step, `- said | need => tool
 * argument=value; … ~ instructions`, then `= what has to be there in the end`: `known collection/key`, or `collection/key field=value …`.
 */
export function readTasks(set: Task['set']): Task[] {
  const text = readFileSync(new URL(`${set.toLowerCase()}.txt`, import.meta.url), 'utf8');
  return text
    .trim()
    .split(/\n(?=T\d-)/)
    .map((block) => taskOf(set, block.split('\n')));
}

function taskOf(set: Task['set'], [head, ...lines]: readonly string[]): Task {
  const [id, text] = head.split(' | ');
  const hops = lines.filter((line) => line.startsWith('- ')).map(hopOf);
  const wanted = lines
    .find((line) => line.startsWith('= '))!
    .slice(2)
    .split('; ')
    .map(conditionOf);
  return {
    ...{ id, set, text, hops },
    missing: (world) => wanted.filter(({ holds }) => !holds(world)).map((condition) => condition.text),
  };
}

function hopOf(line: string): Hop {
  const [words, done] = line.slice(2).split(' => ');
  const [said, need] = words.split(' | ');
  const [call, labels = ''] = done.split(' ~ ');
  const [, tool, rest] = /^(\S+) (.*)$/.exec(call)!;
  const given = rest
    .split('; ')
    .map((pair) => [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)]);
  const instructions = labels === '' ? [] : labels.split(', ');
  return { said, need, gold: [tool], given: Object.fromEntries(given), instructions };
}

interface Condition {
  readonly text: string;
  holds(world: World): boolean;
}

function conditionOf(text: string): Condition {
  if (text.startsWith('known ')) return { text, holds: (world) => world.knows(text.slice('known '.length)) };
  // Keys and values have blanks in them: a field begins where a word is followed by "=".
  const [at, ...fields] = text.split(/ (?=\w+=)/);
  const pairs = fields.map((field) => [
    field.slice(0, field.indexOf('=')),
    field.slice(field.indexOf('=') + 1),
  ]);
  return {
    text,
    holds: (world) => {
      const record = world.record(at);
      return record !== undefined && pairs.every(([field, value]) => record.get(field) === value);
    },
  };
}

/** Every third task of a set is there to choose settings on and to learn from; figures are reported on the others. */
export function split(tasks: readonly Task[]): { readonly choose: Task[]; readonly report: Task[] } {
  return {
    choose: tasks.filter((_, at) => at % 3 === 0),
    report: tasks.filter((_, at) => at % 3 !== 0),
  };
}

/** So many tools, those that most steps need first; then in the order of the file. */
export function catalogOf<T extends { readonly definition: { readonly name: string } }>(
  tools: readonly T[],
  tasks: readonly Task[],
  size: number,
): T[] {
  const uses = new Map<string, number>();
  for (const { gold } of tasks.flatMap(({ hops }) => hops)) {
    for (const name of gold) uses.set(name, (uses.get(name) ?? 0) + 1);
  }
  const usesOf = ({ definition }: T) => uses.get(definition.name) ?? 0;
  return [...tools].sort((a, b) => usesOf(b) - usesOf(a)).slice(0, size);
}
