import { createHash } from 'node:crypto';
import type {
  InstructionDefinition,
  InstructionDraft,
  InstructionKind,
} from '../ledger/instruction-definition.ts';
import type { PromptUnit } from './split-prompt.ts';

/** What stands first in a prompt unless somebody says otherwise. */
const PRIORITIES: Readonly<Record<InstructionKind, number>> = {
  safety: 100,
  role: 90,
  policy: 50,
  style: 40,
  exemplar: 20,
};

/** Share of the words that a unit and an instruction have in common from which on it is the same one, rewritten. */
const SAME_FROM = 0.5;
/** What the same headings add to that share when several instructions could be meant. */
const SAME_PLACE = 0.25;
const MAX_SLUG = 60;
const MAX_TAGS = 64;

export interface PromptPlan {
  /** In the order of the prompt. */
  readonly units: readonly PlannedUnit[];
  /** Ids of instructions of this prompt that are not in it any more. */
  readonly removed: readonly string[];
}

export interface PlannedUnit {
  readonly instruction: InstructionDraft;
  readonly change: 'added' | 'changed' | 'unchanged';
  readonly tokens: number;
}

/**
 * Returns what a prompt changes of the instructions that came from it before: those whose id begins with `name/`. A unit that is
 * there word for word keeps its id, and one that was rewritten gets the id of the instruction that it is most like, with the
 * kind, priority and other members that people may have given it since, except those that are stated now. So a changed paragraph changes one instruction,
 * which goes on being served as it was approved until its change is. A new unit is named for its headings and its words.
 */
export function planPrompt(
  name: string,
  units: readonly PromptUnit[],
  stored: readonly InstructionDefinition[],
  { kind, domain }: { readonly kind?: InstructionKind; readonly domain?: string } = {},
): PromptPlan {
  const own = new Map(
    stored.filter(({ id }) => id.startsWith(`${name}/`)).map((definition) => [definition.id, definition]),
  );
  const matched = matches(name, units, own);
  const taken = new Set([...matched.values()].map(({ id }) => id));
  const removed = [...own.keys()].filter((id) => !taken.has(id));
  const planned = units.map((unit, at): PlannedUnit => {
    const { text, tokens } = unit;
    const known = matched.get(at);
    if (known !== undefined) {
      const { status: _, ...rest } = { ...withMembers(known, { kind, domain }), text };
      const isSame = known.text === text && rest.kind === known.kind && rest.domain === known.domain;
      return { instruction: rest, change: isSame ? 'unchanged' : 'changed', tokens };
    }
    const id = newId(name, unit, taken);
    taken.add(id);
    const guessed = kind ?? unit.kind;
    const titles = [...new Set([...unit.path, ...unit.topics])].filter((title) => title.trim() !== '');
    const instruction: InstructionDraft = {
      ...{ id, text, kind: guessed, priority: PRIORITIES[guessed] },
      ...(domain !== undefined && { domain }),
      ...(titles.length > 0 && { tags: titles.slice(0, MAX_TAGS).map((title) => title.slice(0, 256)) }),
    };
    return { instruction, change: 'added', tokens };
  });
  return { units: planned, removed };
}

/** Returns an instruction of this kind and domain; a priority that is its kind's changes with the kind. */
export function withMembers(
  known: InstructionDefinition,
  { kind = known.kind, domain = known.domain }: { readonly kind?: InstructionKind; readonly domain?: string },
): InstructionDefinition {
  const isDefault = known.priority === PRIORITIES[known.kind];
  return {
    ...known,
    ...{ kind, priority: isDefault ? PRIORITIES[kind] : known.priority },
    ...(domain !== undefined && { domain }),
  };
}

/** Name under which most of the texts that a plan adds are there already: that of a file that was renamed. Null: none. */
export function earlierName({ units }: PromptPlan, stored: readonly InstructionDefinition[]): string | null {
  const texts = new Set(
    units.filter(({ change }) => change === 'added').map((unit) => unit.instruction.text),
  );
  const counts = new Map<string, number>();
  for (const { id, text } of stored) {
    const [name, ...rest] = id.split('/');
    if (rest.length > 0 && texts.has(text)) counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const [most] = [...counts].sort(([, a], [, b]) => b - a);
  return most !== undefined && most[1] * 2 > units.length ? most[0] : null;
}

/** Name of the prompt of a file, as ids begin with it. */
export function promptName(file: string): string {
  const base = file.replace(/^.*[/\\]/, '').replace(/\.[^.]*$/, '');
  return slugOf(base) || 'prompt';
}

/** The instruction that each unit is, by the position of the unit: first those with the same text, then the most alike. */
function matches(
  name: string,
  units: readonly PromptUnit[],
  own: ReadonlyMap<string, InstructionDefinition>,
): ReadonlyMap<number, InstructionDefinition> {
  const found = new Map<number, InstructionDefinition>();
  const left = new Map(own);
  for (const [at, { text }] of units.entries()) {
    const same = [...left.values()].find((one) => one.text === text);
    if (same === undefined) continue;
    found.set(at, same);
    left.delete(same.id);
  }
  const words = new Map([...left.values()].map((one) => [one.id, wordsOf(one.text)]));
  const pairs = units.flatMap((unit, at) => {
    if (found.has(at)) return [];
    const mine = wordsOf(unit.text);
    const place = placeOf(name, unit);
    return [...words].flatMap(([id, theirs]) => {
      const shared = sharedOf(mine, theirs);
      return shared < SAME_FROM
        ? []
        : [{ at, id, score: shared + (id.startsWith(`${place}-`) ? SAME_PLACE : 0) }];
    });
  });
  for (const { at, id } of pairs.sort((a, b) => b.score - a.score || a.at - b.at || (a.id < b.id ? -1 : 1))) {
    const known = left.get(id);
    if (known === undefined || found.has(at)) continue;
    found.set(at, known);
    left.delete(id);
  }
  return found;
}

function newId(name: string, unit: PromptUnit, taken: ReadonlySet<string>): string {
  const digest = createHash('sha256').update(unit.text).digest('hex').slice(0, 6);
  const id = `${placeOf(name, unit)}-${digest}`;
  for (let number = 2; ; number++) {
    const candidate = number === 2 && !taken.has(id) ? id : `${id}-${number}`;
    if (!taken.has(candidate)) return candidate;
  }
}

/** The last headings above a unit, without the outermost, which is the title of all as a rule, and those joined in it. */
function placeOf(name: string, { path, topics }: Pick<PromptUnit, 'path' | 'topics'>): string {
  const joined = topics.map(slugOf).filter((slug) => slug !== '');
  const fitting = joined.filter((_, at) => joined.slice(0, at + 1).join('+').length <= MAX_SLUG);
  const titles = path
    .slice(path.length > 1 || topics.length > 0 ? 1 : 0)
    .map(slugOf)
    .concat(fitting.join('+'))
    .filter((slug) => slug !== '')
    .slice(-2);
  return `${name}/${titles.length === 0 ? 'text' : titles.join('/')}`;
}

function slugOf(title: string): string {
  const words = title.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? [];
  return words.join('-').slice(0, MAX_SLUG).replace(/-$/, '');
}

function wordsOf(text: string): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const word of text.toLowerCase().match(/[\p{L}\p{N}]+/gu) ?? []) {
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return counts;
}

/** Share of the words of both that the other has as well, each as often as it has it (Dice), 0…1. */
function sharedOf(a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): number {
  const total = (counts: ReadonlyMap<string, number>): number =>
    [...counts.values()].reduce((x, y) => x + y, 0);
  let shared = 0;
  for (const [word, count] of a) shared += Math.min(count, b.get(word) ?? 0);
  const all = total(a) + total(b);
  return all === 0 ? 0 : (2 * shared) / all;
}
