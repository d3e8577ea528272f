import type { MergeMember, MergeStatus, ProposedMerge } from '../ledger/merge-definition.ts';
import { sumOfStatistics, type ToolRecord, type ToolStatistics, type ToolTable } from './tool-table.ts';

/** A merge, from its proposal on; times in ms since the epoch. */
export interface MergeRecord extends ProposedMerge {
  readonly status: MergeStatus;
  readonly proposedAt: number;
  /** When its status or its members changed last. */
  readonly changedAt: number;
  /** Who decided last, where that is known. */
  readonly actor?: string;
  /** Hash of the united definition, of a merge that is served, or would be served again if the one that took it in ended. */
  readonly hash?: string;
  /** Ids of the merges whose tools an approved one took in, and which were approved before. */
  readonly took?: readonly string[];
  /** Members that an approved one has lost since, and when. */
  readonly left?: readonly (MergeMember & { readonly at: number })[];
  /** What dissolved a dissolved one, in a sentence. */
  readonly why?: string;
}

/** The tools of an approved merge, by slot. */
interface Group {
  readonly merge: MergeRecord;
  readonly representative: number;
  /** The representative among them. */
  readonly members: readonly number[];
}

/** Most merges that are kept of those that were rejected, undone or dissolved: the newest ones. */
const MAX_ENDED = 10_000;

const NO_MEMBERS: readonly number[] = [];

/**
 * The merges of a catalog, and the layer that the approved ones put over its tools: what a slot serves, and which slots learn together.
 * The tools themselves stay as they were put.
 */
export class MergeTable {
  readonly #tools: ToolTable;
  readonly #records = new Map<string, MergeRecord>();
  readonly #groups = new Map<number, Group>();
  /** Ids of the merges that are proposed or approved, by name of a member. */
  readonly #byMember = new Map<string, Set<string>>();
  /** Ids of the merges that were rejected or undone, by name of a member. */
  readonly #declined = new Map<string, Set<string>>();
  /** Vectors of the merges that approved ones have taken in, by id. */
  readonly #takenIn = new Map<string, Float32Array>();
  #ended = 0;
  #changes = 0;

  constructor(tools: ToolTable) {
    this.#tools = tools;
  }

  /** Changes whenever what is served changes; the revision of the tools is another one. */
  get revision(): string {
    return `m${this.#changes}`;
  }

  /** How often what is served changed. */
  get changes(): number {
    return this.#changes;
  }

  /** Number of slots that belong to an approved merge; 0: everything is served as it was put. */
  get size(): number {
    return this.#groups.size;
  }

  get(id: string): MergeRecord | undefined {
    return this.#records.get(id);
  }

  /** Returns all merges, in the order in which they were proposed first. */
  all(): IterableIterator<MergeRecord> {
    return this.#records.values();
  }

  /** Returns the merges with this member that are proposed or approved. */
  of(member: string): MergeRecord[] {
    return [...(this.#byMember.get(member) ?? [])].map((id) => this.#records.get(id)!);
  }

  /**
   * Returns why a merge is never approved automatically, as a sentence; null: it may be. Beside what its proposal says: two of its tools,
   * as they are, were in a merge that was rejected or undone, and nobody has merged them since.
   */
  guardOf({ members, guarded }: Pick<MergeRecord, 'members' | 'guarded'>): string | null {
    if (guarded !== undefined) return guarded;
    const hashes = new Map(members.map(({ name, hash }) => [name, hash]));
    const ids = new Set(members.flatMap(({ name }) => [...(this.#declined.get(name) ?? [])]));
    let newest: { readonly declined: MergeRecord; readonly names: readonly string[] } | null = null;
    for (const id of ids) {
      const declined = this.#records.get(id)!;
      const names = this.#apart(declined.members.filter(({ name, hash }) => hashes.get(name) === hash));
      if (names.length < 2 || (newest !== null && !isNewer(declined, newest.declined))) continue;
      newest = { declined, names };
    }
    if (newest === null) return null;
    const { declined, names } = newest;
    const what = `a merge of "${names[0]}" and "${names[1]}"`;
    const { actor } = declined;
    if (actor === undefined) return `${what.replace('a', 'A')} was ${declined.status}.`;
    return `${actor} ${declined.status === 'undone' ? 'has undone' : 'has rejected'} ${what}.`;
  }

  /** Returns the names of these tools, of those of one approved merge the first. */
  #apart(members: readonly MergeMember[]): string[] {
    const names = new Map<string, string>();
    for (const { name } of members) {
      const merge = this.approvedOf(this.#tools.get(name)?.slot ?? -1)?.id ?? `tool ${name}`;
      if (!names.has(merge)) names.set(merge, name);
    }
    return [...names.values()];
  }

  /** Returns the tool at this slot as it is served: of the representative of a merge the united definition. */
  served(slot: number): ToolRecord | undefined {
    const record = this.#tools.atSlot(slot);
    return record && this.#tools.served(record);
  }

  /** Returns the slot that is served in place of this one: itself, unless it belongs to an approved merge. */
  representativeOf(slot: number): number {
    return this.#groups.size === 0 ? slot : (this.#groups.get(slot)?.representative ?? slot);
  }

  /** Returns the slots of the approved merge that is served at this slot, itself among them; none: it serves no merge. */
  membersOf(slot: number): readonly number[] {
    if (this.#groups.size === 0) return NO_MEMBERS;
    const group = this.#groups.get(slot);
    return group?.representative === slot ? group.members : NO_MEMBERS;
  }

  /** Returns the approved merge that the tool at this slot belongs to. */
  approvedOf(slot: number): MergeRecord | undefined {
    return this.#groups.get(slot)?.merge;
  }

  /** Returns whether a tool is, or was until it changed, a member of this merge. */
  has(id: string, member: string): boolean {
    const record = this.#records.get(id);
    const isIt = ({ name }: MergeMember): boolean => name === member;
    return record !== undefined && (record.members.some(isIt) || record.left?.some(isIt) === true);
  }

  /** Returns the counts of the tool at this slot; of the representative of a merge those of all members together. */
  statisticsOf(record: ToolRecord): Readonly<ToolStatistics> {
    const members = this.membersOf(record.slot);
    if (members.length === 0) return record.statistics;
    return sumOfStatistics(members.map((slot) => this.#tools.atSlot(slot)!.statistics));
  }

  /**
   * Returns which of these tools, that cannot be called, cannot be served: the representative of a merge can be while any member
   * is not among them.
   */
  unservable(names: readonly string[]): readonly string[] {
    if (this.#groups.size === 0) return names;
    const away = new Set(names);
    return names.filter((name) => {
      const record = this.#tools.get(name);
      const members = record === undefined ? NO_MEMBERS : this.membersOf(record.slot);
      return members.every((slot) => away.has(this.#tools.atSlot(slot)!.tool.name));
    });
  }

  /** Stores a merge that is not approved. */
  put(record: MergeRecord): void {
    this.#store(record);
    if (this.#ended > MAX_ENDED) this.#dropOldest();
  }

  /** Deletes a proposal. */
  delete(record: MergeRecord): void {
    this.#unlink(record);
    this.#records.delete(record.id);
  }

  /** Stores an approved merge, and serves it. Its members are live, and in no other approved one. */
  serve(record: MergeRecord, embedding: Float32Array | null): void {
    this.#changes++;
    this.#store(record);
    const { members, representative, definition, hash } = record;
    for (const { name } of members) {
      const tool = this.#tools.get(name)!;
      const served = { tool: definition, hash: hash!, embedding };
      this.#tools.cover(tool, name === representative ? served : null);
    }
    this.#group(record);
  }

  /** Takes an approved merge off: each of its members serves itself again. It is stored as `ended`. */
  takeOff(record: MergeRecord, ended: MergeRecord): void {
    this.#changes++;
    this.#ungroup(record);
    for (const { name } of record.members) this.#tools.uncover(this.#tools.get(name)!);
    this.put(ended);
  }

  /** Takes an approved merge off whose tools another one is to serve, and keeps its vector, to serve it again once that one has ended. */
  takeIn(record: MergeRecord, ended: MergeRecord): void {
    const vector = this.vectorOf(record).slice();
    this.takeOff(record, ended);
    this.#takenIn.set(record.id, vector);
  }

  /**
   * Takes one member, which is not the representative, off an approved merge. The others go on as `rest`, with the vector that was
   * served before. What is left of `record` is stored; null: nothing.
   */
  letGo(record: MergeRecord, member: string, rest: MergeRecord, ended: MergeRecord | null): void {
    this.#changes++;
    this.#ungroup(record);
    this.#tools.uncover(this.#tools.get(member)!);
    if (rest.hash !== record.hash) {
      const embedding = this.vectorOf(record).slice();
      const representative = this.#tools.get(rest.representative)!;
      this.#tools.uncover(representative);
      this.#tools.cover(representative, { tool: rest.definition, hash: rest.hash!, embedding });
    }
    if (ended === null) this.delete(record);
    else this.put(ended);
    this.#store(rest);
    this.#group(rest);
  }

  /** The merges that have a vector: the approved ones, and those that they have taken in. */
  *embedded(): IterableIterator<MergeRecord> {
    for (const record of this.#records.values()) if (record.hash !== undefined) yield record;
  }

  /** Returns the vector of the united definition of an approved merge, or of one that was taken in. */
  vectorOf({ id, representative }: MergeRecord): Float32Array {
    return this.#takenIn.get(id) ?? this.#tools.vectors.get(this.#tools.get(representative)!.slot);
  }

  /** Replaces the vectors of the merges that were taken in; those of approved ones are among the vectors of the tools. */
  replaceVectors(dimensions: number, vectorOf: (id: string) => Float32Array | undefined): void {
    for (const id of this.#takenIn.keys()) {
      this.#takenIn.set(id, vectorOf(id) ?? new Float32Array(dimensions));
    }
  }

  /** Stores a merge exactly as a snapshot has it; the tools are there already. */
  restore(record: MergeRecord, embedding: Float32Array | null): void {
    if (record.status === 'approved') this.serve(record, embedding);
    else {
      this.#store(record);
      if (embedding !== null) this.#takenIn.set(record.id, embedding.slice());
    }
  }

  restoreChanges(changes: number): void {
    this.#changes = changes;
  }

  #store(record: MergeRecord): void {
    const before = this.#records.get(record.id);
    if (before !== undefined) this.#unlink(before);
    this.#records.set(record.id, record);
    if (!isOpen(record)) this.#ended++;
    const index = this.#indexOf(record);
    if (index === null) return;
    for (const { name } of record.members) {
      const ids = index.get(name) ?? new Set();
      index.set(name, ids.add(record.id));
    }
  }

  #indexOf({ status }: MergeRecord): Map<string, Set<string>> | null {
    if (status === 'dissolved') return null;
    return status === 'rejected' || status === 'undone' ? this.#declined : this.#byMember;
  }

  #unlink(record: MergeRecord): void {
    this.#takenIn.delete(record.id);
    if (!isOpen(record)) this.#ended--;
    const index = this.#indexOf(record);
    if (index === null) return;
    for (const { name } of record.members) {
      const ids = index.get(name);
      ids?.delete(record.id);
      if (ids?.size === 0) index.delete(name);
    }
  }

  #group(merge: MergeRecord): void {
    const members = merge.members.map(({ name }) => this.#tools.get(name)!.slot);
    const representative = this.#tools.get(merge.representative)!.slot;
    for (const slot of members) this.#groups.set(slot, { merge, representative, members });
  }

  #ungroup({ members }: MergeRecord): void {
    for (const { name } of members) this.#groups.delete(this.#tools.get(name)!.slot);
  }

  #dropOldest(): void {
    for (const record of this.#records.values()) {
      if (isOpen(record) || this.#takenIn.has(record.id)) continue;
      this.delete(record);
      return;
    }
  }
}

function isNewer(a: MergeRecord, b: MergeRecord): boolean {
  return a.changedAt > b.changedAt || (a.changedAt === b.changedAt && a.id > b.id);
}

/** Whether it is proposed or approved, so that a change of a member concerns it. */
function isOpen({ status }: MergeRecord): boolean {
  return status === 'proposed' || status === 'approved';
}
