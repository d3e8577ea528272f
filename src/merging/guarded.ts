import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { stem } from '../retrieval/stemmer.ts';
import { wordsOf } from '../retrieval/tokenise.ts';
import { nameParts, numbersApart, placeBefore } from './rule-judge-names.ts';
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
  const places = [...new Set(members.flatMap((member) => placeOf(member, members)))].sort();
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

/** What stands before the name of a tool, as `crm` in `crm_search` beside `search`, or `alpha` in `alpha.search` beside `beta.search`. */
function placeOf(tool: ToolDefinition, members: readonly ToolDefinition[]): string[] {
  const { space, bare } = nameParts(tool);
  return members.flatMap((other) => {
    if (other === tool) return [];
    const beside = nameParts(other);
    if (space !== '' && beside.space !== '' && beside.bare === bare && space !== beside.space) return [space];
    const numbers = numbersApart(tool.name, other.name);
    if (numbers !== null) return numbers;
    const before = other.name.length < tool.name.length ? placeBefore(tool, other) : null;
    return before === null ? [] : [before.join(' ')];
  });
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
