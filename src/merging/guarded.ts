import { canonicalJson } from '../catalog/definition-hash.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { wordsOf } from '../retrieval/tokenise.ts';
import { ACCESS_TERMS, EMPTY_WORDS, isGrave } from './rule-judge-words.ts';

/** Returns why a merge of these tools is never approved automatically, as a sentence; null: it may be. */
export function guarded(members: readonly ToolDefinition[]): string | null {
  const destructive = members.find(({ annotations }) => annotations?.destructiveHint === true);
  if (destructive !== undefined) return `${destructive.name} may destroy something.`;
  if (differ(members, ({ annotations }) => annotations)) return 'Their annotations differ.';
  if (differ(members, ({ server }) => server)) return 'They are tools of different servers.';
  for (const key of ACCESS_TERMS) {
    if (differ(members, ({ metadata, _meta }) => [metadata?.[key], _meta?.[key]]))
      return `Their ${key} differ.`;
  }
  const grave = members.find(
    ({ name, description, annotations }) =>
      annotations?.readOnlyHint !== true && [...wordsOf(name), ...verbsOf(description)].some(isGrave),
  );
  return grave === undefined ? null : `What ${grave.name} does may not be possible to take back.`;
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

function differ(members: readonly ToolDefinition[], of: (tool: ToolDefinition) => unknown): boolean {
  const first = canonicalJson(of(members[0]));
  return members.some((tool) => canonicalJson(of(tool)) !== first);
}
