import { canonicalJson } from '../catalog/definition-hash.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { wordsOf } from '../retrieval/tokenise.ts';

/** Verbs whose calls cannot be taken back, or that others see. */
const GRAVE_VERBS: ReadonlySet<string> = new Set(
  (
    'delete remove drop destroy erase purge wipe truncate cancel revoke terminate kill shutdown reset overwrite ' +
    'send publish post pay charge refund transfer purchase buy order book sell trade sign deploy merge execute run'
  ).split(' '),
);

/** Members of `metadata` and `_meta` that say who may call a tool, and how. */
const ACCESS = [
  'auth',
  'authentication',
  'security',
  'scopes',
  'scope',
  'permissions',
  'environment',
  'account',
];

/** Returns why a merge of these tools is never approved automatically, as a sentence; null: it may be. */
export function guarded(members: readonly ToolDefinition[]): string | null {
  const destructive = members.find(({ annotations }) => annotations?.destructiveHint === true);
  if (destructive !== undefined) return `${destructive.name} may destroy something.`;
  if (differ(members, ({ annotations }) => annotations)) return 'Their annotations differ.';
  if (differ(members, ({ server }) => server)) return 'They are tools of different servers.';
  for (const key of ACCESS) {
    if (differ(members, ({ metadata, _meta }) => [metadata?.[key], _meta?.[key]]))
      return `Their ${key} differ.`;
  }
  const grave = members.find(
    ({ name, annotations }) =>
      annotations?.readOnlyHint !== true && wordsOf(name).some((word) => GRAVE_VERBS.has(word)),
  );
  return grave === undefined ? null : `What ${grave.name} does may not be possible to take back.`;
}

function differ(members: readonly ToolDefinition[], of: (tool: ToolDefinition) => unknown): boolean {
  const first = canonicalJson(of(members[0]));
  return members.some((tool) => canonicalJson(of(tool)) !== first);
}
