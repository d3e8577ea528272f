import { type Apart, spelledBy } from './rule-judge-guards.ts';
import type { ToolProfile } from './rule-judge-profile.ts';
import { DEED_OF, wordFor } from './rule-judge-words.ts';

const COMPUTING: readonly string[] = (
  'calculate convert encode decode encrypt decrypt compress solve simulate estimate predict generate translate summarize ' +
  'analyze classify detect evaluate assess extract parse validate plot draw'
)
  .split(' ')
  .map(wordFor);

/** Whether the two only compute: what they give is in their arguments, and nothing that is stored can be narrowed by a word. */
export function areComputed(a: ToolProfile, b: ToolProfile): boolean {
  const verbs = [...a.verbs, ...b.verbs];
  if (verbs.includes(LIST) || !verbs.every((verb) => COMPUTING.includes(verb) || EXCHANGEABLE.includes(verb)))
    return false;
  return verbs.some((verb) => COMPUTING.includes(verb)) || (takesNumbers(a) && takesNumbers(b));
}

const LIST = wordFor('list');

const IDENTIFIER = wordFor('id');

/** Whether all that it requires is numbers that are not names of anything. */
function takesNumbers({ parameters }: ToolProfile): boolean {
  const required = parameters.filter((one) => one.required);
  return (
    required.length > 0 && required.every(({ type, words }) => type === 'number' && !words.has(IDENTIFIER))
  );
}

/** What one of the two does and the other does not, by all of their texts; null: nothing. */
export function deedApart(a: ToolProfile, b: ToolProfile): string | null {
  for (const [one, other] of [
    [a, b],
    [b, a],
  ]) {
    for (const word of one.told) {
      const deed = DEED_OF.get(word)?.find((each) => !other.deeds.has(each));
      if (deed !== undefined) return `one alone may ${deed}: “${one.spelled.get(word) ?? word}”`;
    }
  }
  return null;
}

/** Verbs that say little beside another: `perform an analysis`, `create a backup`. */
const LIGHT: readonly string[] = ['run', 'get', 'create', 'find'].map(wordFor);

/** Verbs that stand for each other where nothing is changed. */
const EXCHANGEABLE: readonly string[] = ['get', 'find', 'list', 'calculate', 'check'].map(wordFor);

/** From this weight on a word is in the name or in the first phrase. */
const NAMED = 0.7;

/** Verbs that stand for each other, less surely, where everything else is the same. */
const NEARLY: readonly (readonly string[])[] = [
  'create generate register',
  'book schedule',
  'check validate',
  'get extract scrape parse',
  'find query filter',
  'calculate solve evaluate estimate get find assess',
  'convert transform',
  'analyze evaluate assess classify detect',
  'plot draw generate create',
].map((verbs) => verbs.split(' ').map(wordFor));

const isNearly = (verb: string, others: ReadonlySet<string>) =>
  NEARLY.some((group) => group.includes(verb) && group.some((one) => others.has(one)));

const sharesVerb = (a: ToolProfile, b: ToolProfile) =>
  [...a.verbs].some((verb) => b.verbs.has(verb) && !EXCHANGEABLE.includes(verb) && !LIGHT.includes(verb));

/** Verbs of the two that cannot stand for each other; null: none. */
export function verbsApart(a: ToolProfile, b: ToolProfile): Apart | null {
  const unmatched = (own: ToolProfile, other: ToolProfile) =>
    [...own.verbs].filter((verb) => {
      if (other.told.has(verb)) return false;
      if (EXCHANGEABLE.includes(verb) && EXCHANGEABLE.some((one) => other.verbs.has(one))) return false;
      // Of two verbs, as `solve` and `find` in "find the solution", the one that says more is shared.
      if (EXCHANGEABLE.includes(verb) && sharesVerb(own, other)) return false;
      if (isNearly(verb, other.verbs)) return false;
      if (!LIGHT.includes(verb)) return true;
      // What is performed or created is named by the other's verb.
      return ![...other.verbs].every((one) => own.verbs.has(one) || (own.core.get(one) ?? 0) >= NAMED);
    });
  const [one, other] = [unmatched(a, b), unmatched(b, a)];
  if (one.length + other.length === 0) return null;
  const found = [...one, ...other].map((verb) => `“${spelledBy(a, verb, b)}”`).sort();
  return {
    reason: `the verbs differ: ${found.join(', ')}`,
    overlapping: one.length === 0 || other.length === 0,
  };
}
