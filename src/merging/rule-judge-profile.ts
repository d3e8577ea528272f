import { stem } from '../retrieval/stemmer.ts';
import { wordsOf } from '../retrieval/tokenise.ts';
import type { JudgedTool } from './judge.ts';
import { isVerb, nameParts } from './rule-judge-names.ts';
import { type Parameter, parametersOf } from './rule-judge-parameters.ts';
import {
  ADJUNCT,
  directionsIn,
  firstSentence,
  initialsOf,
  MAX_TEXT,
  meaning,
  numbersOf,
  saidIn,
  scopeOf,
  tells,
} from './rule-judge-texts.ts';
import {
  AMBIGUOUS_PRODUCTS,
  CONTRAST_LINES,
  DEED_OF,
  type Deed,
  EFFECT_OF,
  type Effect,
  EMPTY_SENTENCE_WORDS,
  EMPTY_WORDS,
  ENVIRONMENT_WORDS,
  EVERYWHERE_WORDS,
  FIELD_WORDS,
  joined,
  PRODUCT_OF,
  SITE_WORDS,
  SOFT_SENTENCE_WORDS,
  SOFT_WORDS,
  VERB_WORDS,
  wordFor,
} from './rule-judge-words.ts';

/** What the rules compare of a tool; made once per tool. Words are canonical (`wordFor`). */
export interface ToolProfile {
  readonly tool: JudgedTool;
  /** Equal for tools that differ in nothing but their server: name there, description, schemas, annotations. */
  readonly copyKey: string;
  /** What `copyKey` says, without what stands before the name proper. */
  readonly definitionKey: string;
  /** What `copyKey` says, without any name. */
  readonly contentKey: string;
  /** What stands before the name proper, as `alpha` in `alpha.list_events`; empty: nothing. */
  readonly space: string;
  /** Words of the name and of the first sentence that say something, without the verb, and how much they say, 0…1. */
  readonly core: ReadonlyMap<string, number>;
  /** Words of the name alone. */
  readonly named: ReadonlySet<string>;
  /** Core words that stand before the name proper, as in `math.gcd`, and are in nothing else. */
  readonly spaced: ReadonlySet<string>;
  /** Words of the description that say something and are not in the core. */
  readonly said: ReadonlySet<string>;
  /** What of the description was not read, since it is too long. */
  readonly unread: string;
  /** What a call does beyond changing things, by all of the text: it destroys, sends, pays, changes rights. */
  readonly deeds: ReadonlySet<Deed>;
  /** Words as they are spelled, for canonical ones. */
  readonly spelled: ReadonlyMap<string, string>;
  /** Words of the names of parameters. */
  readonly parameterWords: ReadonlySet<string>;
  /** Words of the name and the description. */
  readonly told: ReadonlySet<string>;
  /** Those and the words of the parameters. */
  readonly all: ReadonlySet<string>;
  /** Initials of runs of 3 to 5 words, and the words that they stand for. */
  readonly initials: ReadonlyMap<string, readonly string[]>;
  /** Canonical verbs: of the name, and the first of the description. */
  readonly verbs: ReadonlySet<string>;
  readonly effect: Effect | null;
  readonly lists: boolean;
  /** For nouns of the name: 1 in the singular, 2 in the plural, 3 both. */
  readonly numbers: ReadonlyMap<string, number>;
  /** Words that other words exclude (`CONTRAST_LINES`), in the core or, where that counts, anywhere. */
  readonly contrasted: ReadonlySet<string>;
  readonly environments: ReadonlySet<string>;
  /** `x to y`, `x from y`, `x by y`, in reading order. */
  readonly directions: ReadonlySet<string>;
  readonly scope: 'own' | 'everyone' | null;
  readonly products: ReadonlySet<string>;
  /** Words of the server's name that could tell its product from others. */
  readonly serverWords: readonly string[];
  /** Words of the server's name that say for whom or where it runs: test, live, eu. */
  readonly sites: ReadonlySet<string>;
  readonly parameters: readonly Parameter[];
}

/** How much a word says: in the name 1, in the first phrase of the sentence, in what follows it; and rather common words. */
const IN_HEAD = 0.7;

const IN_ADJUNCT = 0.4;

const SOFT = 0.5;

/** Verbs that another word of the name says more than. */
const LIGHT_VERBS = new Set('get find list calculate check run'.split(' ').map(wordFor));

const GENERIC_SERVER_WORDS = new Set(
  'mcp server servers api tools tool service services the my our remote local client app team instance copy main demo test v db database sql data ai'.split(
    ' ',
  ),
);

/** Reads a tool. Pure; about a tenth of a millisecond. */
function profileOf(tool: JudgedTool): ToolProfile {
  const { space, bare } = nameParts(tool);
  const description = tool.description.slice(0, MAX_TEXT);
  const sentence = firstSentence(description);
  const nameWords = joined(wordsOf(bare));
  const sentenceWords = joined(wordsOf(sentence));
  const spaceWords = joined(wordsOf(space));
  const verbs = new Set<string>();
  const verbAt = nameWords.findIndex((word, at) => isVerb(word, at === 0));
  if (verbAt >= 0) verbs.add(wordFor(nameWords[verbAt]));
  // `email_validator` is to validate.
  const agent = nameWords.at(-1);
  if (agent !== undefined && verbAt < 0 && /(?:[eo]r|ion)$/.test(agent) && VERB_WORDS.has(wordFor(agent)))
    verbs.add(wordFor(agent));
  const said = sentenceWords.findIndex((word, at) => at < 8 && !EMPTY_WORDS.has(word));
  if (said >= 0 && VERB_WORDS.has(wordFor(sentenceWords[said]))) verbs.add(wordFor(sentenceWords[said]));

  // After the verb, `returns` and `access` are nouns.
  const named = meaning(
    nameWords.map((word, at) =>
      at > 0 && at !== verbAt && LIGHT_VERBS.has(wordFor(word)) ? stem(word) : wordFor(word),
    ),
  );
  const core = new Map<string, number>();
  const count = (word: string, weight: number) => {
    if (verbs.has(word)) return;
    const soft = weight === 1 ? SOFT_WORDS : SOFT_SENTENCE_WORDS;
    const own = soft.has(word) ? SOFT * weight : weight;
    core.set(word, Math.max(core.get(word) ?? 0, own));
  };
  for (const word of named) count(word, 1);
  let weight = IN_HEAD;
  for (const [at, word] of sentenceWords.entries()) {
    if (at > said + 1 && ADJUNCT.has(word)) weight = IN_ADJUNCT;
    const one = wordFor(word);
    if (tells(one) && tells(word) && !EMPTY_SENTENCE_WORDS.has(word) && !EMPTY_SENTENCE_WORDS.has(one)) {
      count(one, weight);
    }
  }
  // Where a text says `BMI` and what that is, `BMI` stands for both.
  const initials = initialsOf([nameWords, sentenceWords]);
  const spelledOut = [...core.keys()].flatMap((word) => initials.get(word) ?? []);
  for (const word of spelledOut) core.delete(word);
  const spaced = new Set<string>();
  for (const word of meaning(spaceWords.map(wordFor))) {
    if (!core.has(word) && !verbs.has(word) && !FIELD_WORDS.has(word)) spaced.add(word);
  }
  const parameters = parametersOf(tool);
  const words = joined(wordsOf(description));
  const rest = meaning(words.map(wordFor));
  const more = saidIn(description);
  for (const word of [...core.keys(), ...verbs, ...spelledOut]) more.delete(word);
  const told = new Set([...core.keys(), ...named, ...spelledOut, ...spaced, ...rest, ...verbs]);
  const all = new Set(told);
  for (const { words, described } of parameters) {
    for (const word of words) all.add(word);
    for (const word of described) all.add(word);
  }
  const parameterWords = new Set(parameters.flatMap(({ words }) => [...words]));
  // `calendar2` is a second `calendar`.
  const server = wordsOf(tool.server ?? '').map((word) => word.replace(/(?<=[a-z]{3})\d{1,2}$/, ''));
  const spelled = new Map<string, string>();
  for (const word of [...words, ...nameWords, ...spaceWords, ...server]) {
    if (!spelled.has(wordFor(word))) spelled.set(wordFor(word), word);
  }
  const contentKey = JSON.stringify([
    tool.description,
    tool.inputSchema,
    tool.outputSchema ?? null,
    tool.annotations ?? null,
    tool.kind ?? 'tool',
  ]);
  const definitionKey = JSON.stringify([bare, contentKey]);
  const texts = [...nameWords, ...wordsOf(description), ...wordsOf((tool.tags ?? []).join(' '))];
  return {
    tool,
    copyKey: JSON.stringify([space, definitionKey]),
    definitionKey,
    contentKey,
    space,
    core,
    said: more,
    unread: tool.description.slice(MAX_TEXT),
    deeds: new Set([...told].flatMap((word) => DEED_OF.get(word) ?? [])),
    spelled,
    parameterWords,
    named,
    spaced,
    told,
    all,
    initials,
    verbs,
    effect: effectOf(verbs),
    lists: verbs.has('list'),
    numbers: numbersOf(nameWords, sentenceWords, verbs),
    contrasted: new Set([
      ...[...core.keys(), ...spaced, ...verbs].filter((word) => CONTRAST_LINES.has(word)),
      ...[...all].filter((word) => EVERYWHERE_WORDS.has(word)),
    ]),
    environments: new Set([...told, ...server.map(wordFor)].filter((word) => ENVIRONMENT_WORDS.has(word))),
    directions: directionsIn([nameWords, sentenceWords]),
    scope: scopeOf([...nameWords, ...wordsOf(description)]),
    products: productsIn(texts, [...server, ...spaceWords]),
    serverWords: server.filter(
      (word) => !GENERIC_SERVER_WORDS.has(word) && word.length > 1 && !/^\d+$/.test(word),
    ),
    sites: new Set(server.map(wordFor).filter((word) => SITE_WORDS.has(word))),
    parameters,
  };
}

/** Equal for copies that nothing keeps apart: no product, environment, tags or metadata either. */
export function kindOf({
  copyKey,
  products,
  contrasted,
  tool: { metadata, _meta, tags },
}: ToolProfile): string {
  return JSON.stringify([copyKey, [...products], [...contrasted], metadata, _meta, tags]);
}

const EFFECTS_BY_WEIGHT: readonly Effect[] = [
  'delete',
  'cancel',
  'archive',
  'send',
  'update',
  'create',
  'read',
];

function effectOf(verbs: ReadonlySet<string>): Effect | null {
  const effects = new Set([...verbs].map((verb) => EFFECT_OF.get(verb)));
  return EFFECTS_BY_WEIGHT.find((effect) => effects.has(effect)) ?? null;
}

function productsIn(words: readonly string[], places: readonly string[]): Set<string> {
  const found = new Set<string>();
  for (const word of words) {
    const product = AMBIGUOUS_PRODUCTS.has(word) ? undefined : PRODUCT_OF.get(word);
    if (product !== undefined) found.add(product);
  }
  for (const word of places) if (PRODUCT_OF.has(word)) found.add(PRODUCT_OF.get(word) as string);
  return found;
}

/** The profiles of tools, each made once while its tool is there. */
export class ToolProfiles {
  readonly #known = new WeakMap<JudgedTool, ToolProfile>();

  of(tool: JudgedTool): ToolProfile {
    let profile = this.#known.get(tool);
    if (profile === undefined) {
      profile = profileOf(tool);
      this.#known.set(tool, profile);
    }
    return profile;
  }
}
