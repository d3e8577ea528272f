import { randomUUID } from 'node:crypto';
import { cosine } from '../../bandit/tool-vectors.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { attemptChange } from '../catalog/conditional-change.ts';
import { Problem } from '../errors/problem.ts';
import {
  MAX_MERGE_MEMBERS,
  type MergeEvidence,
  type MergeVerdict,
  mergeId,
  type ProposedMerge,
} from '../ledger/merge-definition.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { inSlices } from '../scheduling/slices.ts';
import type { MergeRecord } from '../state/merge-table.ts';
import type { ToolRecord } from '../state/tool-table.ts';
import { getMerge } from './decide-merge.ts';
import { guarded } from './guarded.ts';
import { RuleJudge } from './rule-judge.ts';
import { representativeOf, type UnitedDefinition, unite } from './unite-definitions.ts';

/** Tools that somebody wants served as one. */
export interface OwnMerge {
  /** Their names, or provider names. */
  readonly tools: readonly string[];
  /** The one of them under whose name they are served; absent: the shortest. */
  readonly name?: string | undefined;
  readonly actor?: string | undefined;
}

/** Verdicts that are kept as evidence, and of those that speak against it the ones that its guard names. */
const MOST_VERDICTS = 20;
const MOST_WARNINGS = 3;

/**
 * Proposes a merge of somebody's own choice, to be reviewed and approved as others are; asking again answers the same one. The rules are
 * asked, and what they say against it is a warning: the merge is never approved by itself then.
 * @throws Problem tool-not-found, validation-failed for tools that cannot be merged at all, merge-conflict for tools that cannot be now
 */
export function proposeOwn(
  catalog: Catalog,
  asked: OwnMerge,
  tokensOf: (tool: ToolDefinition) => number,
): Promise<MergeRecord> {
  return attemptChange(async () => {
    const members = membersOf(catalog, asked);
    const merge = await ownMerge(catalog, members, asked, tokensOf);
    const outcome = await catalog.replica.submit({
      ...{ kind: 'merges', key: `merges/${randomUUID()}`, at: catalog.now() },
      ...{ change: { action: 'propose', propose: [merge], withdraw: [] } },
      ...(asked.actor !== undefined && { actor: asked.actor }),
    });
    // A tool has changed, or somebody has decided: what holds now is looked at again.
    return outcome.kind === 'merges' && outcome.proposed === 1 ? getMerge(catalog, merge.id) : undefined;
  }, 'the merge was being prepared');
}

/** Returns the tools of a merge, by name. @throws Problem */
function membersOf({ name: catalog, state }: Catalog, { tools: asked, name }: OwnMerge): ToolRecord[] {
  const { tools, merges } = state;
  const names = [...new Set(asked.map((one) => tools.nameOf(one)))].sort();
  if (names.length < 2)
    throw invalid('tools', 'has to name two different tools at least', 'Name the other one as well.');
  if (names.length > MAX_MERGE_MEMBERS) {
    const message = `has ${names.length} tools, and a merge has at most ${MAX_MERGE_MEMBERS}`;
    throw invalid('tools', message, 'Merge fewer of them.');
  }
  const missing = names.filter((one) => tools.get(one) === undefined);
  if (missing.length > 0) {
    const some = missing.slice(0, MOST_WARNINGS).map((one) => `"${one}"`);
    const rest = missing.length > some.length ? ` and ${missing.length - some.length} more` : '';
    throw new Problem(
      'tool-not-found',
      `Catalog "${catalog}" has no tool ${some.join(', ')}${rest}.`,
      `GET /v1/catalogs/${catalog}/tools lists its tools.`,
    );
  }
  if (name !== undefined && !names.includes(tools.nameOf(name))) {
    const message = `is "${name}", which is none of the tools: calls of it could not be told from those of another tool`;
    throw invalid('name', message, 'Name one of the tools, or leave it out: then it is the shortest.');
  }
  const found = names.map((one) => tools.get(one) as ToolRecord);
  const skill = found.find(({ tool }) => tool.kind === 'skill');
  if (skill !== undefined)
    throw invalid(
      'tools',
      `has "${skill.tool.name}", a skill: skills are read and not called`,
      'Leave it out.',
    );
  for (const { slot } of found) {
    const merge = merges.approvedOf(slot);
    const outside = merge?.members.find((member) => !names.includes(member.name));
    if (outside === undefined) continue;
    throw new Problem(
      'merge-conflict',
      `Merge "${merge?.id}" is approved and has tools of this one, but also "${outside.name}".`,
      `Name all of its tools, or undo it first: POST …/merges/${merge?.id}/undo.`,
    );
  }
  return found;
}

async function ownMerge(
  { state }: Catalog,
  members: readonly ToolRecord[],
  { name, actor }: OwnMerge,
  tokensOf: (tool: ToolDefinition) => number,
): Promise<ProposedMerge> {
  const tools = members.map(({ tool }) => tool);
  const hashes = members.map(({ tool, hash }) => ({ name: tool.name, hash }));
  const id = mergeId(hashes);
  const known = state.merges.get(id);
  if (known !== undefined && known.status !== 'proposed' && known.status !== 'dissolved') {
    const mend =
      known.status === 'approved'
        ? 'There is nothing left to do.'
        : `It can be approved all the same: POST …/merges/${id}/approve.`;
    throw new Problem('merge-conflict', `Merge "${id}" of these tools was ${known.status} already.`, mend);
  }
  const representative =
    name === undefined ? representativeOf(tools.map((tool) => tool.name)) : state.tools.nameOf(name);
  const similarity = similarityIn(state, members);
  const union: UnitedDefinition = await inSlices(unite(tools, representative));
  if ('conflict' in union)
    throw new Problem('merge-conflict', union.conflict, 'Change one of the definitions, or leave it out.');
  const verdicts = await verdictsOf(members, representative);
  const against = verdicts.filter(({ relation }) => relation !== 'same');
  const warnings = against.map(
    ({ pair, relation, reason }) => `The rules take ${pair.join(' and ')} to be ${relation}: ${reason}.`,
  );
  const more =
    warnings.length > MOST_WARNINGS ? [`They do so of ${warnings.length - MOST_WARNINGS} more.`] : [];
  const guards = [guarded(tools), ...warnings.slice(0, MOST_WARNINGS), ...more, ...union.guesses.slice(0, 1)];
  const guard = guards.filter((one) => one !== null).join(' ');
  const evidence: MergeEvidence = {
    similarity,
    judge: 'person',
    reason: `${actor ?? 'Somebody'} wants them served as one.`,
    verdicts: [...against, ...verdicts.filter(({ relation }) => relation === 'same')].slice(0, MOST_VERDICTS),
    ...(union.guesses.length > 0 && { notes: union.guesses.slice(0, MOST_VERDICTS) }),
  };
  return {
    ...{ id, members: hashes, representative, definition: union.definition, mappings: union.mappings },
    ...{ confidence: 1, evidence },
    tokensSaved: tools.reduce((sum, tool) => sum + tokensOf(tool), 0) - tokensOf(union.definition),
    ...(guard !== '' && { guarded: guard }),
  };
}

/** Returns what the rules say of each other tool beside the representative. */
async function verdictsOf(members: readonly ToolRecord[], representative: string): Promise<MergeVerdict[]> {
  const judged = members.map(({ tool, hash }) => ({ ...tool, hash }));
  const first = judged.find(({ name }) => name === representative) as (typeof judged)[number];
  const pairs = judged.filter((one) => one !== first).map((other) => [first, other] as const);
  const verdicts = await new RuleJudge().judgePairs(pairs);
  return pairs.flatMap(([{ name }, other], at) => {
    const verdict = verdicts[at];
    return verdict === null ? [] : [{ pair: [name, other.name] as const, ...verdict }];
  });
}

/** Returns the cosines of the first tool with each other one; null: there are no vectors. */
function similarityIn(
  { fingerprint, tools }: Catalog['state'],
  [first, ...others]: readonly ToolRecord[],
): MergeEvidence['similarity'] {
  if (fingerprint === null) return null;
  const own = tools.vectorOf(first);
  const cosines = others.map((other) => cosine(own, tools.vectorOf(other)));
  const mean = cosines.reduce((sum, one) => sum + one, 0) / cosines.length;
  return { least: Math.min(...cosines), mean };
}

function invalid(path: string, message: string, mend: string): Problem {
  return new Problem('validation-failed', `\`${path}\` ${message}.`, mend, {
    violations: [{ path, message }],
  });
}
