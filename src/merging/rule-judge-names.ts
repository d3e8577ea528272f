import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { wordsOf } from '../retrieval/tokenise.ts';
import type { JudgedTool } from './judge.ts';
import { EMPTY_WORDS, VERB_WORDS, wordFor } from './rule-judge-words.ts';

/** `calendar2` in `calendar2_create_event`: which of several it belongs to. */
const NUMBERED_PLACE = /^([a-z]+\d{1,2})_(.+)$/i;

/** The name without its server, and what stands before it: `geometry.area_circle` is `area_circle` in `geometry`. */
export function nameParts({ name, server }: Pick<JudgedTool, 'name' | 'server'>): {
  space: string;
  bare: string;
} {
  const prefix =
    server !== undefined && name.startsWith(server) && /^[._/:-]{1,2}/.exec(name.slice(server.length));
  const own = prefix ? name.slice((server as string).length + prefix[0].length) : name;
  const parts = own
    .replace(NUMBERED_PLACE, '$1.$2')
    .split(/[./:]+|__+/)
    .filter((part) => part !== '');
  const last = parts.at(-1) ?? own;
  const bareIsVerb = wordsOf(last).every((word) => isVerb(word, true) || EMPTY_WORDS.has(word));
  return bareIsVerb
    ? { space: '', bare: parts.join(' ') }
    : { space: parts.slice(0, -1).join(' '), bare: last };
}

/** Nouns that are spelled like verbs: they count as verbs in first place alone. */
export const isVerb = (word: string, isFirst: boolean) =>
  isFirst ? VERB_WORDS.has(wordFor(word)) : CERTAIN_VERBS.has(wordFor(word));

const CERTAIN_VERBS = new Set(
  'get find calculate create update delete send convert generate translate rename retrieve upload download'
    .split(' ')
    .map(wordFor),
);

/** A number that stands alone in a name, as `2` in `weather_2` and in `weather_2_get`; not that of `base64` or `area_2d`. */
const NUMBER = /^\d+[\W_]|[\W_]\d+(?=$|[\W_])/g;

/** Returns a name without the numbers that stand alone in it. */
export function withoutNumbers(name: string): string {
  return name.replace(NUMBER, '');
}

/** Returns the numbers in which alone two names differ, in order; null: they differ in more, or in nothing. */
export function numbersApart(one: string, other: string): string[] | null {
  if (one === other || withoutNumbers(one) !== withoutNumbers(other)) return null;
  const [a, b] = [one, other].map((name) =>
    (name.match(NUMBER) ?? []).map((text) => text.replace(/\D/g, '')),
  );
  const apart = [...new Set([...a, ...b])].filter((number) => !(a.includes(number) && b.includes(number)));
  return apart.length === 0 ? null : apart.sort();
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
