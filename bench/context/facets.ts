import { readFileSync } from 'node:fs';

/** Applications, with the mean number of items of the paper's Table 4. */
export const STORES: Readonly<Record<string, number>> = {
  mail: 2.93,
  calendar: 5.63,
  google: 9.57,
  notes: 2.23,
  music: 4.38,
  reminders: 4.81,
  phone: 2.34,
};

export interface ItemForm {
  readonly store: string;
  readonly kind: string;
  readonly texts: readonly string[];
}

/** Something that users of a facet ask again and again. */
export interface Ask {
  readonly when: string;
  /** Tools that fit, the best first. */
  readonly tools: readonly string[];
  readonly args: Readonly<Record<string, string>>;
  /** Which items of the facet it needs, from 0. */
  readonly needs: readonly number[];
  readonly says: readonly string[];
}

/** A side of somebody's life: what it leaves in the stores, and what is asked about it. */
export interface Facet {
  readonly name: string;
  /** Words that stand for something: slot → list in words.ts. */
  readonly slots: Readonly<Record<string, string>>;
  readonly items: readonly ItemForm[];
  readonly asks: readonly Ask[];
}

export interface ToolForm {
  readonly name: string;
  readonly description: string;
  readonly parameters: readonly string[];
}

/** Reads facets.txt: `# name slots`, `store/kind: text / text`, `? when | tools | arguments | items`, and the ways to say it. */
export function readFacets(): Facet[] {
  return read('facets.txt')
    .split(/^# /m)
    .slice(1)
    .map((block) => {
      const [head, ...lines] = block.trim().split('\n');
      const [name, ...slots] = head.split(' ');
      const items: ItemForm[] = [];
      const asks: (Ask & { says: string[] })[] = [];
      for (const line of lines) {
        if (line.startsWith('? ')) {
          const [when, tools, args, needs] = line.slice(2).split(' | ');
          asks.push({
            when,
            tools: tools.split(', '),
            args: Object.fromEntries(args.split('; ').map((arg) => arg.split('='))),
            needs: needs.split(' ').map((at) => Number(at) - 1),
            says: [],
          });
        } else if (asks.length > 0) asks[asks.length - 1].says.push(line);
        else {
          const [, store, kind, texts] = /^(\w+)\/(\w+): (.+)$/.exec(line)!;
          items.push({ store, kind, texts: texts.split(' / ') });
        }
      }
      return { name, slots: Object.fromEntries(slots.map((slot) => slot.split(':'))), items, asks };
    });
}

/** Reads tools.txt: 59 APIs, distributed as in the paper's Table 5. */
export function readTools(): ToolForm[] {
  return read('tools.txt')
    .trim()
    .split('\n')
    .map((line) => {
      const [, name, description, parameters] = /^(\S+): (.+) \((.*)\)$/.exec(line)!;
      return { name, description, parameters: parameters.split(', ').filter(Boolean) };
    });
}

function read(name: string): string {
  return readFileSync(new URL(name, import.meta.url), 'utf8');
}

/** A query that says all that it wants; tool: null if none of the user's fits. */
export interface Explicit {
  readonly text: string;
  readonly tool: string | null;
}

/** Reads explicit.txt: a tool, or "none", and queries for it; every other one is of the same half. */
export function readExplicit(half: 0 | 1): Explicit[] {
  const names = readTools().map(({ name }) => name);
  return read('explicit.txt')
    .trim()
    .split('\n')
    .flatMap((line, at) => {
      const [short, says] = line.split(': ');
      const tool = names.find((name) => name === short || name.endsWith(`.${short}`)) ?? null;
      return says
        .split(' / ')
        .filter((_, which) => (which + at) % 2 === half)
        .map((text) => ({ text, tool }));
    });
}
