import type { PairVerdict } from './judge.ts';
import type { Parameter, ToolProfile } from './rule-judge-profile.ts';
import { CONTRAST_LINES, SOFT_WORDS } from './rule-judge-words.ts';

/** A word that is rather common keeps two tools apart by half. */
const SOFT = 0.5;
/** With words of this weight on one side alone, tools are not the same. */
const TELLS_APART = 1;
/** Shared words, and parameters as half a word each, of at least this weight are needed for `same`. */
const ENOUGH = 1.5;
/** Tools that share this much of their words overlap. */
const OVERLAPPING = 0.4;

/** Compares two tools by rules. Symmetric and deterministic. */
export function compareTools(one: ToolProfile, other: ToolProfile): PairVerdict {
  const [a, b] = one.tool.hash <= other.tool.hash ? [one, other] : [other, one];
  if (a.tool.kind === 'skill' || b.tool.kind === 'skill')
    return different(1, 'skills are read and not called, and are not merged');
  const isCopy = a.copyKey === b.copyKey;
  const coreA = withInitials(a, b);
  const coreB = withInitials(b, a);
  const shared = sharedWords(coreA, coreB);
  const likeness = likenessOf(coreA, coreB, shared);
  const apart = guard(a, b);
  if (apart !== null) {
    return likeness >= OVERLAPPING && apart.overlapping
      ? { relation: 'overlapping', confidence: 0.85, reason: apart.reason }
      : different(likeness >= OVERLAPPING ? 0.85 : 0.95, apart.reason);
  }
  const abroad = differentServers(a, b);
  if (isCopy) {
    return same(
      abroad ? 0.9 : 0.99,
      abroad ? `the same definition at ${a.tool.server} and ${b.tool.server}` : 'the same definition twice',
    );
  }
  const onlyA = unmatchedWords(coreA, a, b);
  const onlyB = unmatchedWords(coreB, b, a);
  if (likeness < OVERLAPPING && (shared < ENOUGH || onlyA.weight + onlyB.weight >= 2 * shared))
    return different(0.6 + 0.35 * (1 - likeness), `little in common: ${told(onlyA, onlyB)}`);
  const verbs = verbsApart(a, b);
  if (verbs !== null) return overlapping(likeness, verbs);
  if (onlyA.weight >= TELLS_APART || onlyB.weight >= TELLS_APART)
    return overlapping(likeness, `one alone says ${told(onlyA, onlyB)}`);
  if (abroad && strangers(a, b))
    return overlapping(likeness, `${a.tool.server} and ${b.tool.server} may be different products`);
  const arranged = matchParameters(a.parameters, b.parameters);
  if (arranged.conflict !== null) return overlapping(likeness, arranged.conflict);
  if (shared + SOFT * arranged.pairs < ENOUGH)
    return overlapping(likeness, 'their definitions say too little');
  const unsaid = onlyA.weight + onlyB.weight;
  const confidence = 0.6 + 0.25 * likeness + 0.12 * arranged.share - 0.1 * unsaid - (abroad ? 0.1 : 0);
  return same(Math.max(0.5, Math.min(0.97, confidence)), 'the same words and the same parameters');
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

const weightOf = (word: string) => (SOFT_WORDS.has(word) ? SOFT : 1);

type Words = ReadonlySet<string>;

/** The core of `a`, in which initials that only `b` uses stand for what they spell: `bmi` for `body mass index`. */
function withInitials(a: ToolProfile, b: ToolProfile): Words {
  let core: Set<string> | null = null;
  for (const word of b.core) {
    const run = a.core.has(word) ? undefined : a.initials.get(word);
    if (run === undefined) continue;
    core ??= new Set(a.core);
    for (const spelled of run) core.delete(spelled);
    core.add(word);
  }
  return core ?? a.core;
}

function sharedWords(a: Words, b: Words): number {
  let weight = 0;
  for (const word of a) if (b.has(word)) weight += weightOf(word);
  return weight;
}

/** Dice's coefficient of the cores, 0…1. */
function likenessOf(a: Words, b: Words, shared: number): number {
  let whole = 0;
  for (const word of a) whole += weightOf(word);
  for (const word of b) whole += weightOf(word);
  return whole === 0 ? 0 : (2 * shared) / whole;
}

interface Unmatched {
  readonly words: readonly string[];
  readonly weight: number;
}

/** Words of `a`, its core first, that are nowhere in `b`. */
function unmatchedWords(core: Words, a: ToolProfile, b: ToolProfile): Unmatched {
  const words: string[] = [];
  let weight = 0;
  for (const own of [core, a.spaced]) {
    for (const word of own) {
      if (b.all.has(word) || b.initials.has(word)) continue;
      words.push(word);
      weight += weightOf(word);
    }
  }
  return { words, weight };
}

function told(a: Unmatched, b: Unmatched): string {
  const words = [...a.words, ...b.words].sort().slice(0, 6);
  return words.length === 0 ? 'nothing certain' : words.map((word) => `“${word}”`).join(', ');
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
  if (first !== null) return { reason: `“${first}” is not “${second}”`, overlapping: false };
  for (const direction of a.directions) {
    const [, from, word, to] = /^(\S+) (\S+) (\S+)$/.exec(direction) ?? [];
    if (from !== to && b.directions.has(`${to} ${word} ${from}`) && !b.directions.has(direction))
      return {
        reason: `the direction is the opposite: “${[from, to].sort().join('” and “')}”`,
        overlapping: false,
      };
  }
  for (const [noun, number] of a.numbers) {
    const other = b.numbers.get(noun);
    if (other !== undefined && (number & other) === 0)
      return { reason: `one is for one “${noun}”, the other for several`, overlapping: true };
  }
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
const TERMS = [
  'auth',
  'authentication',
  'authorization',
  'security',
  'scopes',
  'scope',
  'permissions',
  'account',
  'environment',
  'method',
] as const;

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
  for (const term of TERMS) {
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

/** Two servers are strangers when no word of their names is shared and what is in them says more than what the tools are about. */
function strangers(a: ToolProfile, b: ToolProfile): boolean {
  if (a.serverWords.some((word) => b.serverWords.includes(word))) return false;
  const isAbout = ({ serverWords, core, all }: ToolProfile) =>
    serverWords.every(
      (word) => core.has(word) || [...all].some((other) => other.length > 3 && word.includes(other)),
    );
  return !(isAbout(a) && isAbout(b));
}

/** Verbs of the two that cannot stand for each other; null: none. */
function verbsApart(a: ToolProfile, b: ToolProfile): string | null {
  if (a.effect === 'read' && b.effect === 'read') return null;
  const stranger = (own: ToolProfile, other: ToolProfile) =>
    [...own.verbs].find(
      (verb) => !other.all.has(verb) && !(own.effect === other.effect && own.effect !== null),
    );
  const one = stranger(a, b);
  const another = stranger(b, a);
  if (one === undefined && another === undefined) return null;
  if (a.verbs.size > 0 && b.verbs.size > 0 && [...a.verbs].some((verb) => b.verbs.has(verb))) return null;
  return `the verbs differ: ${[one, another]
    .filter((verb) => verb !== undefined)
    .sort()
    .map((verb) => `“${verb}”`)
    .join(', ')}`;
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
function matchParameters(a: readonly Parameter[], b: readonly Parameter[]): Arranged {
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
  const left = [...leftA, ...leftB].find((one) => !matched.has(one));
  if (left !== undefined) return { conflict: `only one of them requires “${left.name}”`, share: 0, pairs };
  return {
    conflict: null,
    pairs,
    share: a.length + b.length === 0 ? 1 : (2 * pairs) / (a.length + b.length),
  };
}

function parameterLikeness(a: Parameter, b: Parameter): number {
  const names = dice(a.words, b.words);
  if (names === 1) return 1;
  const texts = a.described.size > 0 && b.described.size > 0 ? dice(a.described, b.described) : 0;
  const crossed = holds(b.described, a.words) || holds(a.described, b.words) ? 0.2 : 0;
  return Math.min(0.99, 0.5 * names + 0.5 * texts + crossed);
}

const KINDS = [
  'id',
  'identifi',
  'name',
  'email',
  'url',
  'path',
  'code',
  'phone',
  'count',
  'latitud',
  'longitud',
  'date',
  'time',
];

/** The only ones that are left on both sides are counterparts when their types are the same and their names no kinds of their own. */
function exchangeable(a: Parameter, b: Parameter): boolean {
  const kind = ({ words }: Parameter) => KINDS.find((word) => words.has(word));
  return a.type === b.type && kind(a) === kind(b) && parameterConflict(a, b) === null;
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
        return `${names}: ${[word, other]
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
