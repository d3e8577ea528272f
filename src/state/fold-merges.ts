import { definitionHash } from '../ledger/definition-hash.ts';
import type { MergesEntry } from '../ledger/entry.ts';
import {
  AUTOMATIC,
  type MergeMember,
  mergeDigest,
  mergeId,
  type ProposedMerge,
} from '../ledger/merge-definition.ts';
import type { CatalogState } from './catalog-state.ts';
import type { MergeRefusal, MergesResult } from './fold-result.ts';
import type { MergeRecord } from './merge-table.ts';
import type { ToolRecord, ToolTable } from './tool-table.ts';

/** Proposes, approves, rejects or undoes merges of tools. It pauses after every proposal. */
export function* foldMerges(state: CatalogState, entry: MergesEntry): Generator<void, MergesResult> {
  const { change, ifMatch } = entry;
  if (ifMatch !== undefined && ifMatch !== state.revision) {
    return { kind: 'merges-refused', reason: 'revision', revision: state.revision };
  }
  if (change.action === 'propose') return yield* propose(state, entry, change);
  const record = state.merges.get(change.id);
  if (record === undefined) return refused('unknown', `There is no merge "${change.id}" in this catalog.`);
  if (change.action === 'approve') return approve(state, entry, change, record);
  return change.action === 'undo' ? undo(state, entry, record) : reject(state, entry, record);
}

type Change<Action> = Extract<MergesEntry['change'], { readonly action: Action }>;

function* propose(
  state: CatalogState,
  { at }: MergesEntry,
  { propose, withdraw }: Change<'propose'>,
): Generator<void, MergesResult> {
  const { merges } = state;
  let withdrawn = 0;
  const stay = new Set(propose.map(({ id }) => id));
  for (const id of new Set(withdraw)) {
    const record = merges.get(id);
    if (record?.status !== 'proposed' || stay.has(id)) continue;
    merges.delete(record);
    withdrawn++;
    yield;
  }
  let proposed = 0;
  let ignored = 0;
  for (const merge of propose) {
    const before = merges.get(merge.id);
    const status = before?.status ?? 'dissolved';
    const isNew = status === 'proposed' || status === 'dissolved';
    const isOpen = isNew && isWellFormed(merge);
    if (isOpen && whyNotMerged(state, merge.members) === null) {
      const proposedAt = status === 'proposed' ? before!.proposedAt : at;
      merges.put({ ...merge, status: 'proposed', proposedAt, changedAt: at });
      proposed++;
    } else ignored++;
    yield;
  }
  return { kind: 'merges', proposed, ignored, withdrawn };
}

/** Whether a proposal is what its type cannot say: a judge or a program may have made it. */
function isWellFormed({ id, members, representative, definition, mappings }: ProposedMerge): boolean {
  const names = members.map(({ name }) => name);
  return (
    names.length >= 2 &&
    names.every((name, at) => at === 0 || names[at - 1] < name) &&
    names.every((name) => Object.hasOwn(mappings, name)) &&
    names.includes(representative) &&
    definition.name === representative &&
    id === mergeId(members)
  );
}

function approve(
  state: CatalogState,
  { at, actor }: MergesEntry,
  { digest, hash, embedding, fingerprint }: Change<'approve'>,
  record: MergeRecord,
): MergesResult {
  const { merges } = state;
  if (record.status === 'approved') return refused('status', `Merge "${record.id}" is approved already.`);
  if (record.status === 'dissolved') {
    return refused('status', `Merge "${record.id}" was dissolved: ${record.why} Propose merges again.`);
  }
  const guard = actor === AUTOMATIC ? merges.guardOf(record) : null;
  if (guard !== null) return refused('guarded', `Merge "${record.id}" waits for a person: ${guard}`);
  const why = whyNotMerged(state, record.members);
  if (why !== null) return why;
  if (fingerprint !== state.fingerprint) {
    return refused('stale', 'The embedding model of the catalog changed meanwhile.');
  }
  if (digest !== mergeDigest(record)) {
    return refused('stale', `Merge "${record.id}" was proposed in another form meanwhile.`);
  }
  const took: string[] = [];
  for (const inner of approvedAmong(state, record.members)) {
    const why = `Its tools are part of merge "${record.id}" now.`;
    merges.takeIn(inner, { ...inner, status: 'dissolved', changedAt: at, why });
    took.push(inner.id);
  }
  for (const other of overlapping(state, record)) merges.delete(other);
  const { actor: _, why: __, left: ___, ...merge } = record;
  const by = { ...(actor !== undefined && { actor }), ...(took.length > 0 && { took }) };
  merges.serve({ ...merge, ...by, status: 'approved', changedAt: at, hash }, embedding);
  return done();
}

function reject(state: CatalogState, { at, actor }: MergesEntry, record: MergeRecord): MergesResult {
  if (record.status !== 'proposed') {
    const mend = record.status === 'approved' ? 'undo it instead' : 'there is nothing to reject';
    return refused('status', `Merge "${record.id}" is ${record.status}: ${mend}.`);
  }
  state.merges.put(ending(record, 'rejected', at, actor));
  return done();
}

function undo(state: CatalogState, { at, actor }: MergesEntry, record: MergeRecord): MergesResult {
  if (record.status !== 'approved') {
    return refused('status', `Merge "${record.id}" is ${record.status}: only an approved one can be undone.`);
  }
  takeOff(state, record, ending(record, 'undone', at, actor));
  return done();
}

/**
 * Ends an approved merge. What it had taken in is served again; where a tool of that is not what it was, what that one had taken in.
 * @param leaving name of a tool that is about to be changed, renamed or removed
 */
function takeOff(state: CatalogState, record: MergeRecord, ended: MergeRecord, leaving?: string): void {
  const { merges } = state;
  const { changedAt } = ended;
  merges.takeOff(record, ended);
  const taken = [...(record.took ?? [])];
  for (const id of taken) {
    const inner = merges.get(id);
    // It may have been proposed and decided anew meanwhile.
    if (inner?.status !== 'dissolved' || inner.hash === undefined) continue;
    const why = inner.members.some(({ name }) => name === leaving)
      ? ended.why
      : whyNotMerged(state, inner.members)?.sentence;
    if (why === undefined) {
      const { why: _, ...again } = inner;
      merges.serve({ ...again, status: 'approved', changedAt }, merges.vectorOf(inner));
    } else {
      merges.put({ ...ending(inner, 'dissolved', changedAt), why });
      taken.push(...(inner.took ?? []));
    }
  }
}

function done(): MergesResult {
  return { kind: 'merges', proposed: 0, ignored: 0, withdrawn: 0 };
}

/**
 * Takes a tool out of its merges before it is changed, renamed or removed: no merge says anything about another definition. Where two
 * members and the representative stay, they go on as a merge of their own, so that the one with all of them can be proposed again; else it ends, and what
 * it had taken in is served again. Proposals with this tool end.
 */
export function leaveMerges(state: CatalogState, { tool, hash }: ToolRecord, at: number, how: Leaving): void {
  const { merges } = state;
  const why = `"${tool.name}" ${LEFT[how]}`;
  for (const record of merges.of(tool.name)) {
    const isApproved = record.status === 'approved';
    const others = withoutMember(record, tool.name);
    const isLasting = others.members.length >= 2 && record.representative !== tool.name;
    // What it had taken in may be just the others: then that is served again, as it was approved.
    if (isApproved && isLasting && record.took?.includes(others.id) !== true) {
      const left = [...(record.left ?? []), { name: tool.name, hash, at }];
      const rest = { ...others, left, changedAt: at };
      // Where the same entry takes several members off, no decision was made under what lies between.
      const isBetween = record.left?.at(-1)?.at === at;
      const ended = { ...ending(record, 'dissolved', at), why: `${why}; the others are "${rest.id}".` };
      merges.letGo(record, tool.name, rest, isBetween ? null : ended);
    } else {
      const ended = { ...ending(record, 'dissolved', at), why: `${why}.` };
      if (isApproved) takeOff(state, record, ended, tool.name);
      else merges.put(ended);
    }
  }
}

/** The merge of the other members: parameters that only the one that leaves could take are served no more. */
function withoutMember(record: MergeRecord, name: string): MergeRecord {
  const members = record.members.filter((member) => member.name !== name);
  const { [name]: _, ...mappings } = record.mappings;
  const isTaken = (parameter: string): boolean =>
    members.some((member) => !mappings[member.name].absent.includes(parameter));
  const { definition } = record;
  const properties = Object.entries(definition.inputSchema.properties ?? {});
  const taken = properties.filter(([parameter]) => isTaken(parameter));
  const id = mergeId(members);
  if (taken.length === properties.length) return { ...record, id, members, mappings };
  const served = {
    ...definition,
    inputSchema: { ...definition.inputSchema, properties: Object.fromEntries(taken) },
  };
  return { ...record, id, members, mappings, definition: served, hash: definitionHash(served) };
}

type Leaving = 'changed' | 'renamed' | 'removed';
const LEFT: Readonly<Record<Leaving, string>> = {
  changed: 'has another definition',
  renamed: 'has another name',
  removed: 'was removed',
};

/** Returns the refusal of a merge of these tools; null: they can be merged. */
function whyNotMerged(
  state: CatalogState,
  members: readonly MergeMember[],
): Extract<MergesResult, { sentence: string }> | null {
  const { tools } = state;
  const changed = members.find(({ name, hash }) => tools.get(name)?.hash !== hash);
  if (changed !== undefined) {
    const { name } = changed;
    const what = tools.get(name) === undefined ? 'is no tool of this catalog any more' : 'was changed';
    return refused('changed', `"${name}" ${what}. Propose merges again.`);
  }
  const names = new Set(members.map(({ name }) => name));
  for (const { id, members: others } of approvedAmong(state, members)) {
    const missing = others.find(({ name }) => !names.has(name));
    if (missing === undefined) continue;
    return refused(
      'merged',
      `Merge "${id}" is approved and has tools of this one, but also "${missing.name}". Undo it first, or propose merges again.`,
    );
  }
  return null;
}

/** The approved merges that any of these tools belong to, each once. */
function approvedAmong({ merges, tools }: CatalogState, members: readonly MergeMember[]): Set<MergeRecord> {
  const found = new Set<MergeRecord>();
  for (const { name } of members) {
    const merge = merges.approvedOf(slotOf(tools, name));
    if (merge !== undefined) found.add(merge);
  }
  return found;
}

function slotOf(tools: ToolTable, name: string): number {
  return tools.get(name)?.slot ?? -1;
}

/** The other proposals with tools of this merge that lack one of its tools: once it is approved, they cannot be. */
function overlapping({ merges }: CatalogState, { id, members }: MergeRecord): Set<MergeRecord> {
  const found = new Set<MergeRecord>();
  for (const { name } of members) {
    for (const other of merges.of(name)) {
      if (other.id === id || other.status !== 'proposed') continue;
      const names = new Set(other.members.map((member) => member.name));
      if (members.some((member) => !names.has(member.name))) found.add(other);
    }
  }
  return found;
}

/** A merge that ends; its members and what it served stay in its record. */
function ending(
  { actor: _, hash: __, why: ___, took: ____, ...record }: MergeRecord,
  status: MergeRecord['status'],
  at: number,
  actor?: string,
): MergeRecord {
  return { ...record, ...(actor !== undefined && { actor }), status, changedAt: at };
}

function refused(reason: MergeRefusal, sentence: string): Extract<MergesResult, { sentence: string }> {
  return { kind: 'merges-refused', reason, sentence };
}
