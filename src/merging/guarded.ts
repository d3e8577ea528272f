import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { stem } from '../retrieval/stemmer.ts';
import { wordsOf } from '../retrieval/tokenise.ts';
import { nameParts, numbersApart, placeBefore, withoutNumbers } from './rule-judge-names.ts';
import { ACCESS_TERMS, EMPTY_WORDS, isGrave } from './rule-judge-words.ts';
import { sameInAll } from './united-parts.ts';

/** Verbs anywhere in a text that count whatever a tool says of itself, by their stems: what destroys, pays, sends or changes rights. */
const GRAVE_WORDS: ReadonlySet<string> = new Set(
  (
    'delete remove destroy erase purge wipe truncate overwrite discard cancel revoke terminate ' +
    'send publish broadcast notify forward pay charge refund purchase buy withdraw deposit ' +
    'grant share unshare authorize promote ban impersonate'
  )
    .split(' ')
    .map(stem),
);

/** Returns every reason why a merge of these tools is never approved automatically, as sentences; null: it may be. */
export function guarded(members: readonly ToolDefinition[]): string | null {
  const reasons: string[] = [];
  const destructive = members.find(({ annotations }) => annotations?.destructiveHint === true);
  if (destructive !== undefined) reasons.push(`${destructive.name} may destroy something.`);
  if (!sameInAll(members, ({ annotations }) => annotations)) reasons.push('Their annotations differ.');
  const servers = [...new Set(members.map(({ server }) => server ?? 'none'))].sort();
  const places = [...placesOf(members)].sort();
  if (servers.length > 1) reasons.push(`The servers ${listed(servers)} may be different products.`);
  else if (places.length > 0) reasons.push(`What ${listed(places)} stands for may be different products.`);
  for (const key of ACCESS_TERMS) {
    if (!sameInAll(members, ({ metadata, _meta }) => [metadata?.[key], _meta?.[key]]))
      reasons.push(`Their ${key} differ.`);
  }
  const grave = members.find(
    ({ name, description, annotations }) =>
      annotations?.readOnlyHint !== true && [...wordsOf(name), ...verbsOf(description)].some(isGrave),
  );
  if (grave !== undefined) reasons.push(`What ${grave.name} does may not be possible to take back.`);
  for (const { name, description } of members) {
    const word = verbsOf(description).find((one) => GRAVE_WORDS.has(stem(one)));
    if (word === undefined) continue;
    reasons.push(`The description of ${name} says “${word}”.`);
    break;
  }
  return reasons.length === 0 ? null : reasons.join(' ');
}

/**
 * What stands before the names of tools, as `crm` in `crm_search` beside `search`, or `alpha` in `alpha.search` beside `beta.search`, and
 * the numbers in which names differ alone. A thousand tools are looked at once each, not in pairs.
 */
function placesOf(members: readonly ToolDefinition[]): Set<string> {
  const found = new Set<string>();
  const add = (places: Iterable<string>): void => {
    for (const place of places) found.add(place);
  };
  for (const named of grouped(members.map(nameParts), ({ bare }) => bare).values()) {
    const spaces = new Set(named.map(({ space }) => space).filter((space) => space !== ''));
    if (spaces.size > 1) add(spaces);
  }
  for (const alike of grouped(members, ({ name }) => withoutNumbers(name)).values()) {
    const [{ name: first }] = alike;
    for (const { name } of alike) add(numbersApart(first, name) ?? []);
  }
  const byWords = grouped(members, ({ name }) => wordsOf(name).join(' '));
  for (const tool of members) {
    const words = wordsOf(tool.name);
    for (let from = 1; from <= words.length - 2; from++) {
      for (const other of byWords.get(words.slice(from).join(' ')) ?? []) {
        const place = placeBefore(tool, other);
        if (place !== null) found.add(place.join(' '));
      }
    }
  }
  return found;
}

function grouped<Item>(
  items: readonly Item[],
  keyOf: (item: Item) => string,
): Map<string, [Item, ...Item[]]> {
  const groups = new Map<string, [Item, ...Item[]]>();
  for (const item of items) {
    const group = groups.get(keyOf(item));
    if (group === undefined) groups.set(keyOf(item), [item]);
    else group.push(item);
  }
  return groups;
}

const MOST_NAMED = 4;

function listed(names: readonly string[]): string {
  const some = names.length > MOST_NAMED ? [...names.slice(0, MOST_NAMED), 'others'] : names;
  return some.join(' and ');
}

const MAX_TEXT = 4_000;
/** What comes after these may be a verb: `gets a user and deletes it`, `can be used to send mail`. */
const CLAUSES = /[.,;:!?()\n]|\b(?:and|or|then|to|also|will|can|may)\b/i;

/** The first words of the clauses of a text that say something. Verbs are among them, and other words. */
function verbsOf(text: string): string[] {
  return text
    .slice(0, MAX_TEXT)
    .split(CLAUSES)
    .flatMap((clause) =>
      wordsOf(clause)
        .filter((word) => !EMPTY_WORDS.has(word) && !word.endsWith('ly'))
        .slice(0, 1),
    );
}
