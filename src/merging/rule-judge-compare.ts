import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { wordsOf } from '../retrieval/tokenise.ts';
import type { PairVerdict } from './judge.ts';
import type { Parameter, ToolProfile } from './rule-judge-profile.ts';
import {
  ACCESS_TERMS,
  CONTRAST_LINES,
  DEED_OF,
  EVERYWHERE_WORDS,
  PRODUCT_OF,
  SITE_WORDS,
  SOFT_SENTENCE_WORDS,
  SOFT_WORDS,
  VERB_WORDS,
  wordFor,
} from './rule-judge-words.ts';

/** What a parameter with a counterpart counts beside a shared word. */
const HALF = 0.5;
/** So many words that say little, such as `current`, on one side alone keep tools apart. */
const SOFT_WORDS_APART = 3;
/** Most confidence in `same` where the words of one side are not all in the other, where all are, and where parameters are as well. */
const WITH_WORDS_LEFT = 0.7;
const WITH_ALL_WORDS = 0.88;
/** Shared words, and parameters as half a word each, of at least this weight are needed for `same`. */
const ENOUGH = 1.5;
/** Tools that share this much of their words overlap. */
const OVERLAPPING = 0.4;
/** And this much where what keeps them apart is a matter of scope. */
const RELATED = 0.3;

/** Compares two tools by rules. Symmetric and deterministic. */
export function compareTools(one: ToolProfile, other: ToolProfile): PairVerdict {
  const [a, b] = one.tool.hash <= other.tool.hash ? [one, other] : [other, one];
  if (a.tool.kind === 'skill' || b.tool.kind === 'skill')
    return different(1, 'skills are read and not called, and are not merged');
  const isCopy = a.copyKey === b.copyKey;
  const coreA = withInitials(a, b);
  const coreB = withInitials(b, a);
  const shared = sharedWords(coreA, coreB);
  const likeness = likenessOf(coreA, coreB);
  const apart = guard(a, b);
  if (apart !== null) {
    return likeness >= RELATED && apart.overlapping
      ? { relation: 'overlapping', confidence: 0.85, reason: apart.reason }
      : different(likeness >= OVERLAPPING ? 0.85 : 0.95, apart.reason);
  }
  const abroad = differentServers(a, b);
  const estranged = abroad && strangers(a, b);
  const places = `${[a.tool.server, b.tool.server].sort().join(' and ')} may be different products`;
  if (abroad && !equal(a.products, b.products)) return overlapping(likeness, places);
  if (isCopy) {
    return same(
      abroad ? 0.9 : 0.99,
      abroad ? `the same definition at ${a.tool.server} and ${b.tool.server}` : 'the same definition twice',
    );
  }
  // What stands before a name says where its tool is, as the name of a server does; nothing else tells these two apart.
  if (a.definitionKey === b.definitionKey && a.space !== '' && b.space !== '')
    return same(WITH_WORDS_LEFT, `the same definition in ${[a.space, b.space].sort().join(' and ')}`);
  const place = a.contentKey === b.contentKey ? placeBefore(a.tool, b.tool) : null;
  if (place !== null && !place.some((word) => SITE_WORDS.has(wordFor(word)) || VERB_WORDS.has(wordFor(word))))
    return same(WITH_WORDS_LEFT, `the same definition, once in ${place.join(' ')}`);
  const onlyA = unmatchedWords(coreA, a, b);
  const onlyB = unmatchedWords(coreB, b, a);
  if (likeness < OVERLAPPING && (shared < ENOUGH || onlyA.weight + onlyB.weight >= 2 * shared))
    return different(0.6 + 0.35 * (1 - likeness), `little in common: ${told(onlyA, onlyB)}`);
  const verbs = verbsApart(a, b);
  if (verbs !== null)
    return verbs.overlapping ? overlapping(likeness, verbs.reason) : different(0.6, verbs.reason);
  const deed = deedApart(a, b);
  if (deed !== null) return overlapping(likeness, deed);
  if (onlyA.tellsApart || onlyB.tellsApart) {
    const reason = `one alone says ${told(onlyA, onlyB)}`;
    return onlyA.isNamed && onlyB.isNamed ? different(0.6, reason) : overlapping(likeness, reason);
  }
  if (a.unread !== b.unread) return overlapping(likeness, 'their descriptions are too long to compare');
  if (estranged) return overlapping(likeness, places);
  const arranged = arrangeParameters(a.parameters, b.parameters);
  if (arranged.conflict !== null) return overlapping(likeness, arranged.conflict);
  if (shared + HALF * arranged.pairs < ENOUGH)
    return overlapping(likeness, 'their definitions say too little');
  const left = [...onlyA.words, ...onlyB.words];
  const farther = abroad ? 0.1 : 0;
  if (left.length > 0)
    return same(
      Math.max(0.5, WITH_WORDS_LEFT - 0.04 * (left.length - 1) - farther),
      `the same but for ${told(onlyA, onlyB)}`,
    );
  if (2 * arranged.pairs < a.parameters.length + b.parameters.length)
    return same(
      WITH_ALL_WORDS * (0.8 + 0.2 * arranged.share) - farther,
      'the same words, not all parameters',
    );
  return same(0.9 + 0.07 * likeness - farther, 'the same words and the same parameters');
}

const different = (confidence: number, reason: string): PairVerdict => ({
  relation: 'different',
  confidence,
  reason,
});
const same = (confidence: number, reason: string): PairVerdict => ({ relation: 'same', confidence, reason });
const overlapping = (likeness: number, reason: string): PairVerdict => ({
  relation: likeness >= OVERLAPPING ? 'overlapping' : 'different',
  confidence: 0.6,
  reason,
});

type Weights = ReadonlyMap<string, number>;

/** The core of `a`, in which initials that only `b` uses stand for what they spell: `bmi` for `body mass index`. */
function withInitials(a: ToolProfile, b: ToolProfile): Weights {
  let core: Map<string, number> | null = null;
  for (const word of b.core.keys()) {
    const run = a.core.has(word) ? undefined : a.initials.get(word);
    if (run === undefined) continue;
    core ??= new Map(a.core);
    for (const spelled of run) core.delete(spelled);
    core.set(word, 1);
  }
  return core ?? a.core;
}

/** Weight of the words that both have, of the one where they weigh more. */
function sharedWords(a: Weights, b: Weights): number {
  let weight = 0;
  for (const [word, own] of a) {
    const other = b.get(word);
    if (other !== undefined) weight += Math.max(own, other);
  }
  return weight;
}

/** Dice's coefficient of the cores, 0…1. */
function likenessOf(a: Weights, b: Weights): number {
  let whole = 0;
  let shared = 0;
  for (const [word, weight] of a) {
    whole += weight;
    const other = b.get(word);
    if (other !== undefined) shared += weight + other;
  }
  for (const weight of b.values()) whole += weight;
  return whole === 0 ? 0 : shared / whole;
}

interface Unmatched {
  /** As they are spelled. */
  readonly words: readonly string[];
  readonly weight: number;
  /** One of them says something, or several say a little. */
  readonly tellsApart: boolean;
  /** One of them is of the name. */
  readonly isNamed: boolean;
}

/** Words of `a` that `b` does not have: those of its name not in name and description, others nowhere. */
function unmatchedWords(core: Weights, a: ToolProfile, b: ToolProfile): Unmatched {
  const words = new Set<string>();
  let weight = 0;
  let isNamed = false;
  for (const [word, own] of core) {
    const inName = a.named.has(word);
    if (hasWord(b, word, inName)) continue;
    if (!inName && a.parameterWords.has(word)) continue;
    words.add(word);
    weight += own;
    isNamed ||= inName;
  }
  for (const word of a.spaced) {
    if (b.all.has(word)) continue;
    words.add(word);
    weight++;
  }
  // What the initials of the other tool stand for is not said by one alone.
  const spelledOut = new Set([...a.initials].flatMap(([word, run]) => (b.told.has(word) ? run : [])));
  for (const word of a.said) {
    if (hasWord(b, word, false) || a.parameterWords.has(word) || spelledOut.has(word)) continue;
    words.add(word);
  }
  const loud = [...words].filter((word) => !(a.named.has(word) ? SOFT_WORDS : SOFT_SENTENCE_WORDS).has(word));
  // What is computed is in the arguments: one word more, outside the name, is mostly what they are or how it is done.
  const most = areComputed(a, b) && loud.every((word) => core.has(word) && !a.named.has(word)) ? 1 : 0;
  return {
    words: [...words].map((word) => a.spelled.get(word) ?? word),
    weight,
    tellsApart: loud.length > most || words.size >= SOFT_WORDS_APART,
    isNamed,
  };
}

const COMPUTING: readonly string[] = (
  'calculate convert encode decode encrypt decrypt compress solve simulate estimate predict generate translate summarize ' +
  'analyze classify detect evaluate assess extract parse validate plot draw'
)
  .split(' ')
  .map(wordFor);

/** Whether the two only compute: what they give is in their arguments, and nothing that is stored can be narrowed by a word. */
function areComputed(a: ToolProfile, b: ToolProfile): boolean {
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

function hasWord(b: ToolProfile, word: string, inName: boolean): boolean {
  return b.told.has(word) || b.initials.has(word) || (!inName && b.parameterWords.has(word));
}

function told(a: Unmatched, b: Unmatched): string {
  const words = [...new Set([...a.words, ...b.words])].sort().slice(0, 6);
  return words.length === 0 ? 'nothing certain' : words.map((word) => `“${word}”`).join(', ');
}

/** What one of the two does and the other does not, by all of their texts; null: nothing. */
function deedApart(a: ToolProfile, b: ToolProfile): string | null {
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

type Named = Pick<ToolDefinition, 'name' | 'description'>;

/**
 * The words that one name has before those of the other; null: they differ in more, or both descriptions say these words, as
 * `calendar_list_events` beside `list_events`, "List the events of the calendar".
 */
export function placeBefore(one: Named, other: Named): string[] | null {
  const [short, long] = [wordsOf(one.name), wordsOf(other.name)].sort((x, y) => x.length - y.length);
  const added = long.length - short.length;
  if (added === 0 || short.length < 2 || short.some((word, at) => word !== long[at + added])) return null;
  const place = long.slice(0, added);
  const said = [one, other].map(({ description }) => new Set(wordsOf(description)));
  return place.every((word) => said.every((words) => words.has(word))) ? null : place;
}

/** A canonical word as the tool spells it, or else the other one. */
function spelledBy(tool: ToolProfile, word: string, other: ToolProfile = tool): string {
  return tool.spelled.get(word) ?? other.spelled.get(word) ?? word;
}

export interface Apart {
  readonly reason: string;
  /** Some requests can be answered by both all the same. */
  readonly overlapping: boolean;
}

/** What keeps tools apart however alike their words are; null: nothing. */
export function guard(a: ToolProfile, b: ToolProfile): Apart | null {
  if (a.effect !== null && b.effect !== null && a.effect !== b.effect)
    return {
      reason: `one is to ${a.effect}, the other to ${b.effect}`,
      overlapping: false,
    };
  const [first, second] = contrastOf(a, b);
  if (first !== null)
    return {
      reason: `“${spelledBy(a, first, b)}” is not “${spelledBy(a, second, b)}”`,
      overlapping: EVERYWHERE_WORDS.has(first),
    };
  for (const of of ['environments', 'sites'] as const) {
    // A copy for tests beside one that is live, or one in the EU beside one in the US.
    if (equal(a[of], b[of]) || (of === 'sites' && (a.sites.size === 0 || b.sites.size === 0))) continue;
    const [one, other] = [a, b].map((tool) => [...tool[of]].map((word) => spelledBy(tool, word)).join(' '));
    const named = [one, other].filter((word) => word !== '').sort();
    return {
      reason:
        named.length === 1
          ? `one alone is for “${named[0]}”`
          : `one is for “${named[0]}”, the other for “${named[1]}”`,
      overlapping: true,
    };
  }
  for (const direction of a.directions) {
    const [, from, word, to] = /^(\S+) (\S+) (\S+)$/.exec(direction) ?? [];
    if (from !== to && b.directions.has(`${to} ${word} ${from}`) && !b.directions.has(direction))
      return {
        reason: `the direction is the opposite: “${[from, to]
          .map((one) => spelledBy(a, one, b))
          .sort()
          .join('” and “')}”`,
        overlapping: false,
      };
  }
  for (const [noun, number] of a.numbers) {
    const other = b.numbers.get(noun);
    if (other !== undefined && (number & other) === 0)
      return { reason: `one is for one “${noun}”, the other for several`, overlapping: true };
  }
  const one = a.lists === b.lists ? null : a.lists ? b : a;
  if (one !== null && [...one.numbers.values()].every((number) => number === 1))
    return { reason: 'one lists, the other is for one thing', overlapping: true };
  if (a.scope !== b.scope)
    return { reason: 'one is for what belongs to the caller, the other is not', overlapping: true };
  const annotations = differingHints(a, b);
  if (annotations !== null) return annotations;
  return productsApart(a, b);
}

/** The first two words of one line of contrasts that the tools have alone; [null, null]: there are none. */
function contrastOf(a: ToolProfile, b: ToolProfile): [string, string] | [null, null] {
  for (const word of a.contrasted) {
    if (b.contrasted.has(word)) continue;
    for (const line of CONTRAST_LINES.get(word) as readonly number[]) {
      for (const other of b.contrasted) {
        if (!a.contrasted.has(other) && CONTRAST_LINES.get(other)?.includes(line))
          return [word, other].sort() as [string, string];
      }
    }
  }
  return [null, null];
}

const HINTS = ['readOnlyHint', 'destructiveHint'] as const;

function differingHints({ tool: a }: ToolProfile, { tool: b }: ToolProfile): Apart | null {
  for (const hint of HINTS) {
    const [one, other] = [a.annotations?.[hint], b.annotations?.[hint]];
    if (
      one !== other &&
      (one === true || other === true) &&
      (hint === 'destructiveHint' || (one !== undefined && other !== undefined))
    )
      return { reason: `their ${hint} differs`, overlapping: false };
  }
  for (const term of ACCESS_TERMS) {
    const [one, other] = [a, b].map(({ metadata, _meta }) =>
      JSON.stringify([metadata?.[term], _meta?.[term]]),
    );
    if (one !== other) return { reason: `their “${term}” differs`, overlapping: true };
  }
  return null;
}

function productsApart(a: ToolProfile, b: ToolProfile): Apart | null {
  if (a.products.size === 0 || b.products.size === 0) return null;
  for (const product of a.products) if (b.products.has(product)) return null;
  const [one] = [...a.products].sort();
  const [other] = [...b.products].sort();
  return { reason: `${[one, other].sort().join(' and ')} keep accounts of their own`, overlapping: true };
}

function differentServers(a: ToolProfile, b: ToolProfile): boolean {
  return a.tool.server !== undefined && b.tool.server !== undefined && a.tool.server !== b.tool.server;
}

/** Two servers are strangers when their names share no word and have others than those that both tools use. */
function strangers(a: ToolProfile, b: ToolProfile): boolean {
  const productsOf = ({ serverWords }: ToolProfile) =>
    serverWords.map((word) => PRODUCT_OF.get(word) ?? word);
  const known = productsOf(b);
  if (productsOf(a).some((word) => known.includes(word))) return false;
  return [...a.serverWords, ...b.serverWords]
    .map(wordFor)
    .some((word) => !(a.told.has(word) && b.told.has(word)));
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
function verbsApart(a: ToolProfile, b: ToolProfile): Apart | null {
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

interface Arranged {
  /** Why what one requires cannot be given to the other; null: it can. */
  readonly conflict: string | null;
  /** Parameters of one with a counterpart among those of the other, and which share of all they are, 0…1. */
  readonly pairs: number;
  readonly share: number;
}

/** A counterpart has to be at least this alike. */
const COUNTERPART = 0.34;

/** Finds for every parameter its counterpart, the most alike first. */
function arrangeParameters(a: readonly Parameter[], b: readonly Parameter[]): Arranged {
  const possible: { one: Parameter; other: Parameter; likeness: number }[] = [];
  for (const one of a) {
    for (const other of b) {
      const likeness = parameterLikeness(one, other);
      if (likeness >= COUNTERPART) possible.push({ one, other, likeness });
    }
  }
  possible.sort(
    (x, y) => y.likeness - x.likeness || (x.one.name + x.other.name < y.one.name + y.other.name ? -1 : 1),
  );
  const matched = new Set<Parameter>();
  let pairs = 0;
  const match = (one: Parameter, other: Parameter): string | null => {
    matched.add(one);
    matched.add(other);
    pairs++;
    return parameterConflict(one, other);
  };
  for (const { one, other } of possible) {
    if (matched.has(one) || matched.has(other)) continue;
    const conflict = match(one, other);
    if (conflict !== null) return { conflict, share: 0, pairs };
  }
  const [leftA, leftB] = [a, b].map((all) => all.filter((one) => one.required && !matched.has(one)));
  if (leftA.length === 1 && leftB.length === 1 && exchangeable(leftA[0], leftB[0])) match(leftA[0], leftB[0]);
  const [onlyA, onlyB] = [leftA, leftB].map((all) => all.find((one) => !matched.has(one))?.name);
  const names = [onlyA, onlyB].filter((name) => name !== undefined).sort();
  if (names.length === 2)
    return { conflict: `one requires “${names[0]}”, the other “${names[1]}”`, share: 0, pairs };
  if (names.length === 1) return { conflict: `only one of them requires “${names[0]}”`, share: 0, pairs };
  return {
    conflict: null,
    pairs,
    share: a.length + b.length === 0 ? 1 : (2 * pairs) / (a.length + b.length),
  };
}

function parameterLikeness(a: Parameter, b: Parameter): number {
  const names = Math.max(weightedDice(a.words, b.words), abbreviation(a.name, b.name));
  if (names === 1) return 1;
  const texts = a.described.size > 0 && b.described.size > 0 ? dice(a.described, b.described) : null;
  const crossed = holds(b.described, a.words) || holds(a.described, b.words) ? 0.2 : 0;
  return Math.min(0.99, (texts === null ? names : 0.5 * names + 0.5 * texts) + crossed);
}

/** `w` for `width`, `desc` for `description`. */
function abbreviation(a: string, b: string): number {
  const [short, long] = a.length < b.length ? [a, b] : [b, a];
  return long.startsWith(short) && (short.length === 1 || short.length >= 3) ? 0.6 : 0;
}

function weightedDice(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const weightOf = (word: string) => (SOFT_SENTENCE_WORDS.has(word) ? 0.5 : 1);
  let shared = 0;
  let whole = 0;
  for (const word of a) {
    whole += weightOf(word);
    if (b.has(word)) shared += weightOf(word);
  }
  for (const word of b) whole += weightOf(word);
  return whole === 0 ? 0 : (2 * shared) / whole;
}

/** Kinds of values that stand for nothing else, and those by which a thing of any name may be called. */
const KINDS = ['email', 'phone', 'count', 'latitud', 'longitud', 'date', 'time'];
const NAMES = ['identifi', 'name', 'url', 'path', 'code'];

/** The only ones that are left on both sides are counterparts where type and kind are the same. */
function exchangeable(a: Parameter, b: Parameter): boolean {
  const kind = ({ words }: Parameter) => KINDS.find((word) => words.has(word));
  const name = ({ words }: Parameter) => NAMES.find((word) => words.has(word));
  if (a.type !== b.type || kind(a) !== kind(b)) return false;
  const [one, other] = [name(a), name(b)];
  if (one !== undefined && other !== undefined && one !== other) return false;
  return parameterConflict(a, b) === null;
}

function parameterConflict(a: Parameter, b: Parameter): string | null {
  const both = [a.name, b.name].sort().map((name) => `“${name}”`);
  const names = both[0] === both[1] ? both[0] : both.join(' and ');
  const optional = !a.required && !b.required;
  if (a.type !== '' && b.type !== '' && !a.type.split('|').some((type) => b.type.split('|').includes(type)))
    return optional ? null : `${names} take different types`;
  if (a.format !== null && b.format !== null && a.format !== b.format)
    return `${names} are spelled differently`;
  for (const word of [...a.words, ...a.described]) {
    const line = CONTRAST_LINES.get(word);
    if (line === undefined || b.words.has(word) || b.described.has(word)) continue;
    for (const other of [...b.words, ...b.described]) {
      if (
        !a.words.has(other) &&
        !a.described.has(other) &&
        CONTRAST_LINES.get(other)?.some((one) => line.includes(one))
      )
        return `${names}: ${[a.spelled.get(word) ?? word, b.spelled.get(other) ?? other]
          .sort()
          .map((one) => `“${one}”`)
          .join(' is not ')}`;
    }
  }
  if (a.options !== null && b.options !== null) {
    const common = a.options.filter((option) => b.options?.includes(option)).length;
    if (2 * common < Math.max(a.options.length, b.options.length)) return `${names} take different values`;
  }
  return null;
}

function dice(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  let shared = 0;
  for (const word of a) if (b.has(word)) shared++;
  return a.size + b.size === 0 ? 0 : (2 * shared) / (a.size + b.size);
}

function holds(all: ReadonlySet<string>, some: ReadonlySet<string>): boolean {
  for (const word of some) if (!all.has(word)) return false;
  return some.size > 0;
}

function equal(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && (a.size === 0 || holds(a, b));
}
