import { randomFor } from '../../bandit/random.ts';
import { WORDS } from './words.ts';
import type { Query } from './world.ts';

/** A call as a plan has it. */
export interface Call {
  readonly tool: string;
  readonly args: Readonly<Record<string, string>>;
}

/** What a planner is given: nothing else is known to it. */
export interface Given {
  readonly query: string;
  /** Names of tools, the best first. */
  readonly tools: readonly string[];
  /** Texts of items, the best first. */
  readonly context: readonly string[];
}

/** What can be passed as an argument, with where it was found: in the query 0, in the item of rank r r. */
interface Mention {
  readonly kind: string;
  readonly value: string;
  readonly rank: number;
}

/** As often a model takes the right one of the tools that it is shown. */
const SEES_TOOL = 0.95;
const ITEM = 'item';

/**
 * Stands in for a language model that was fine-tuned on the training part: it knows of each tool and argument what kinds of things are passed
 * (people, places, titles), takes such things from the query and from the items that it is given, those named most and first, and
 * invents one of the most frequent kind where there is none. Of tools that it is shown it takes one that fits 95 times in 100, and
 * else the first. Deterministic.
 */
export class ScriptedPlanner {
  /** tool and argument → kind → how often */
  readonly #kinds = new Map<string, Map<string, number>>();
  readonly #random = randomFor('scripted planner');

  constructor(training: readonly Query[]) {
    for (const { tools, args } of training) {
      for (const [name, value] of Object.entries(args)) {
        for (const tool of tools) {
          const kinds = this.#kinds.get(`${tool} ${name}`) ?? new Map<string, number>();
          this.#kinds.set(`${tool} ${name}`, kinds);
          const kind = kindOf(value);
          kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
        }
      }
    }
  }

  /**
   * @param fitting tools that fit, the best first: what a model would see for itself
   * @param names of the arguments that the task asks for
   * @param key draws of the same key are the same, whatever else is given
   */
  plan(
    { query, tools, context }: Given,
    fitting: readonly string[],
    names: readonly string[],
    key: number,
  ): Call {
    const seen =
      this.#random.uniform(2 * key) < SEES_TOOL ? fitting.find((tool) => tools.includes(tool)) : undefined;
    const tool = seen ?? tools[0];
    const mentions = [query, ...context].flatMap((text, rank) => mentionsIn(text, rank));
    const args = names.map((name) => {
      const kinds = this.#kinds.get(`${tool} ${name}`) ?? new Map<string, number>();
      return [name, bestOf(mentions, kinds) ?? this.#invented(kinds, key)];
    });
    return { tool, args: Object.fromEntries(args) };
  }

  #invented(kinds: ReadonlyMap<string, number>, key: number): string {
    const [[kind] = [ITEM]] = [...kinds].sort((a, b) => b[1] - a[1]);
    const values = WORDS[kind];
    return values?.[Math.floor(this.#random.uniform(2 * key + 1) * values.length)] ?? '';
  }
}

/** Whether a call is right: by its tree (a tool that fits, arguments that name the right things), to the letter, and its arguments alone. */
export function judgePlan({ tool, args }: Call, { tools, args: right }: Query) {
  const pairs = Object.entries(right).map(([name, value]) => [args[name] ?? '', value]);
  const isInvented = !pairs.every(
    ([given, value]) => given !== '' && (given.includes(value) || value.includes(given)),
  );
  return {
    isTree: tools.includes(tool) && !isInvented,
    isExact: tool === tools[0] && pairs.every(([given, value]) => given === value),
    isInvented,
  };
}

/** The list of words that has it; of any other text: an item. */
function kindOf(value: string): string {
  return Object.keys(WORDS).find((kind) => WORDS[kind].includes(value)) ?? ITEM;
}

function mentionsIn(text: string, rank: number): Mention[] {
  const found = Object.entries(WORDS).flatMap(([kind, values]) =>
    values.filter((value) => isIn(text, value)).map((value) => ({ kind, value, rank })),
  );
  return rank === 0 ? found : [...found, { kind: ITEM, value: text, rank }];
}

/** As words of their own. */
function isIn(text: string, value: string): boolean {
  const at = text.indexOf(value);
  if (at < 0) return false;
  const isLetter = (char: string): boolean => /\p{L}/u.test(char);
  return !isLetter(text.charAt(at - 1)) && !isLetter(text.charAt(at + value.length));
}

function bestOf(mentions: readonly Mention[], kinds: ReadonlyMap<string, number>): string | null {
  const support = new Map<string, number>();
  for (const { kind, value, rank } of mentions) {
    const often = kinds.get(kind) ?? 0;
    // What the query names is meant; items mean it less the later they come.
    if (often > 0) support.set(value, (support.get(value) ?? 0) + often * (rank === 0 ? 3 : 1 / rank));
  }
  const [best] = [...support].sort((a, b) => b[1] - a[1]);
  return best?.[0] ?? null;
}
