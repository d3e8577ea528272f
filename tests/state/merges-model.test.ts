import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { Entry, ToolPut } from '../../src/ledger/entry.ts';
import { decodeEntry, encodeEntry } from '../../src/ledger/entry-codec.ts';
import { mergeId } from '../../src/ledger/merge-definition.ts';
import { ToolIndex } from '../../src/retrieval/tool-index.ts';
import type { CatalogState } from '../../src/state/catalog-state.ts';
import { fold } from '../../src/state/fold.ts';
import { decodeSnapshot, encodeSnapshot, stateDigest } from '../../src/state/snapshot-codec.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { decision, observe, putTools, report, START, Story, tool } from './entries.ts';
import { approve, merges, proposalOf, propose } from './merge-entries.ts';

const TOOLS = 7;
const context = () => ({ kernels: createTypescriptKernels(), derived: true });

/** A step: what is done, to which tools, and which of a few definitions they get. */
const step = fc.record({
  what: fc.constantFrom(
    ...(['put', 'remove', 'rename', 'sync', 'observe', 'restart'] as const),
    ...([
      'propose',
      'propose',
      'enlarge',
      'enlarge',
      'approve',
      'approve',
      'approve',
      'reject',
      'undo',
    ] as const),
  ),
  tools: fc.uniqueArray(fc.nat(TOOLS - 1), { minLength: 1, maxLength: 4 }),
  variant: fc.nat(1),
  pick: fc.nat(),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;

/** A unit vector that follows from name and variant, so that no two definitions share one. */
function vectorOf(name: string, variant: number): Float32Array {
  const angle = name.charCodeAt(1) + variant / 2;
  return Float32Array.of(Math.cos(angle), Math.sin(angle), 0, 0);
}

function put(name: string, variant: number, more = {}): ToolPut {
  const definition = tool(name, { description: `does ${name}, version ${variant}`, ...more });
  return { tool: definition, hash: `${name}/${variant}`, embedding: vectorOf(name, variant) };
}

/** What a catalog has to be like, without slots, vectors or indices. */
class Model {
  givenBack = 0;
  readonly tools = new Map<string, number>();
  readonly merges = new Map<
    string,
    {
      members: Map<string, number>;
      representative: string;
      status: string;
      /** Ids of those that it has taken in. */
      took: string[];
      isTakenIn?: boolean;
      /** Id under which it was approved, and when a member left it since. */
      approvedAs?: string;
      shrunkAt?: number;
    }
  >();

  /** A tool is removed or gets another definition. */
  leave(name: string, at: number): void {
    for (const [id, merge] of [...this.merges]) {
      const { members, status, representative } = merge;
      if (!members.has(name) || (status !== 'approved' && status !== 'proposed')) continue;
      const rest = new Map([...members].filter(([other]) => other !== name));
      const restId = mergeId(
        [...rest].map(([other, variant]) => ({ name: other, hash: `${other}/${variant}` })),
      );
      const isLasting = rest.size > 1 && representative !== name && !merge.took.includes(restId);
      if (status === 'approved' && isLasting) {
        if (merge.shrunkAt === at) this.merges.delete(id);
        else this.merges.set(id, { ...merge, status: 'dissolved', took: [] });
        this.merges.set(restId, { ...merge, members: rest, shrunkAt: at });
      } else if (status === 'approved') this.end(merge, 'dissolved', name);
      else merge.status = 'dissolved';
    }
  }

  /** An approved merge ends: what it had taken in is served again, unless a tool is not what it was, or is about to be another. */
  end(merge: { status: string; took: string[] }, status: string, leaving?: string): void {
    merge.status = status;
    const { took } = merge;
    merge.took = [];
    for (const id of took) {
      const inner = this.merges.get(id);
      if (inner?.status !== 'dissolved' || !inner.isTakenIn) continue;
      inner.isTakenIn = false;
      if (this.mergeable(inner.members) && !inner.members.has(leaving!)) {
        inner.status = 'approved';
        this.givenBack++;
      } else this.end(inner, 'dissolved', leaving);
    }
  }

  put(name: string, variant: number, at: number): void {
    const before = this.tools.get(name);
    if (before !== undefined && before !== variant) this.leave(name, at);
    this.tools.set(name, variant);
  }

  remove(name: string, at: number): void {
    if (this.tools.has(name)) this.leave(name, at);
    this.tools.delete(name);
  }

  /** Whether exactly these tools are merged, or such a merge was rejected or undone. */
  decided(members: ReadonlyMap<string, number>): boolean {
    return [...this.merges.values()].some(
      (other) =>
        ['approved', 'rejected', 'undone'].includes(other.status) &&
        other.members.size === members.size &&
        [...members].every(([name, variant]) => other.members.get(name) === variant),
    );
  }

  mergeable(members: ReadonlyMap<string, number>): boolean {
    if ([...members].some(([name, variant]) => this.tools.get(name) !== variant)) return false;
    return this.approved().every((other) => {
      const common = [...other.members.keys()].filter((name) => members.has(name));
      return common.length === 0 || common.length === other.members.size;
    });
  }

  approved() {
    return [...this.merges.values()].filter(({ status }) => status === 'approved');
  }
}

/** Applies a step to the model, and returns the entry that says the same; null: nothing can be said. */
function told(
  { what, tools, variant, pick }: Step,
  model: Model,
  state: CatalogState,
  at: number,
): Entry | null {
  const names = tools.map((i) => `t${i}`);
  const known = [...model.merges.keys()];
  // Mostly the newest one.
  const id = known[known.length - 1 - (variant === 1 ? 0 : pick % Math.min(3, known.length))];
  const merge = model.merges.get(id);
  switch (what) {
    case 'put': {
      for (const name of names) model.put(name, variant, at);
      return putTools([], { at, put: names.map((name) => put(name, variant)) });
    }
    case 'remove':
      for (const name of names) model.remove(name, at);
      return putTools([], { at, remove: names });
    case 'rename': {
      const [from] = names;
      const to = `u${at}`;
      if (state.tools.get(from) === undefined) return null;
      model.leave(from, at);
      model.tools.delete(from);
      model.tools.set(to, variant);
      return putTools([], { at, put: [put(to, variant, { replaces: [from] })] });
    }
    case 'sync': {
      // All that is there stays as it is, but for some that change.
      const all = new Map(
        [...model.tools].map(([name, own]) => [name, names.includes(name) ? variant : own]),
      );
      for (const [name, own] of all) model.put(name, own, at);
      const sync = Object.fromEntries([...all].map(([name, own]) => [name, `${name}/${own}`]));
      return putTools([], { at, put: [...all].map(([name, own]) => put(name, own)), sync });
    }
    case 'observe': {
      const shown = names.filter((name) => state.tools.get(name) !== undefined);
      if (shown.length === 0) return null;
      return observe(decision(String.fromCharCode(97 + (pick % 26)), shown), [
        report(`r${at}`, shown[0], { at, value: variant }),
      ]);
    }
    case 'enlarge':
    case 'propose': {
      if (what === 'enlarge') {
        // All that an approved merge has, and a tool more.
        const whole = model.approved().at(-1)?.members ?? new Map();
        const more = [...model.tools.keys()].filter((name) => !whole.has(name));
        names.splice(0, names.length, ...whole.keys(), ...more.slice(0, 1 + Number(whole.size === 0)));
      }
      if (names.length === 0) return null;
      const members = new Map(names.sort().map((name) => [name, model.tools.get(name) ?? -1]));
      const proposal = proposalOf(state, names);
      const before = model.merges.get(proposal.id)?.status ?? 'dissolved';
      const isNew = ['proposed', 'dissolved'].includes(before) && !model.decided(members);
      if (names.length > 1 && isNew && model.mergeable(members)) {
        model.merges.set(proposal.id, { members, representative: names[0], status: 'proposed', took: [] });
      }
      return propose(proposal);
    }
    case 'approve': {
      if (merge === undefined) return null;
      const open = ['proposed', 'rejected', 'undone'].includes(merge.status);
      if (open && model.mergeable(merge.members)) {
        const all = [...merge.members.keys()];
        for (const [key, other] of model.merges) {
          if (other.status !== 'approved' || !all.some((name) => other.members.has(name))) continue;
          Object.assign(other, { status: 'dissolved', isTakenIn: true });
          merge.took.push(key);
        }
        for (const [key, other] of model.merges) {
          const common = all.filter((name) => other.members.has(name)).length;
          const stuck = other.status === 'proposed' && common > 0 && common < all.length;
          if (key !== id && stuck) model.merges.delete(key);
        }
        Object.assign(merge, { status: 'approved', approvedAs: id, shrunkAt: -1 });
      }
      return approve(state, id, { at });
    }
    case 'reject':
      if (merge?.status === 'proposed') merge.status = 'rejected';
      return merge === undefined ? null : merges({ action: 'reject', id }, { at });
    case 'undo':
      if (merge?.status === 'approved') model.end(merge, 'undone');
      return merge === undefined ? null : merges({ action: 'undo', id }, { at });
    default:
      return null;
  }
}

function check(state: CatalogState, model: Model, index: ToolIndex): void {
  const live = new Map([...state.tools.live()].map((record) => [record.tool.name, record]));
  expect([...live.keys()].sort()).toEqual([...model.tools.keys()].sort());
  const served = new Map<string, string>();
  const hidden = new Set<string>();
  for (const { members, representative, approvedAs } of model.approved()) {
    served.set(representative, `hash of ${approvedAs}`);
    for (const name of members.keys()) if (name !== representative) hidden.add(name);
    const slots = [...members.keys()].map((name) => live.get(name)!.slot);
    expect(state.merges.membersOf(live.get(representative)!.slot)).toEqual(slots);
  }
  for (const [name, variant] of model.tools) {
    const record = live.get(name)!;
    // What was put is there as it was put, whatever is served.
    expect(record.hash).toBe(`${name}/${variant}`);
    expect([...state.tools.vectorOf(record)]).toEqual([...vectorOf(name, variant)]);
    expect(state.merges.served(record.slot)!.hash).toBe(served.get(name) ?? record.hash);
    expect(state.tools.isServed(record)).toBe(!hidden.has(name));
  }
  expect(state.tools.servedSize).toBe(model.tools.size - hidden.size);
  expect(index.size).toBe(model.tools.size - hidden.size);
  const found = [
    ...index.search({ embedding: null, tokens: new Uint32Array(0), limit: 100 }).candidates.slots,
  ];
  for (const slot of found) expect(hidden.has(state.tools.atSlot(slot)!.tool.name)).toBe(false);
  for (const record of state.merges.all()) {
    if (record.status !== 'approved') continue;
    for (const { name, hash } of record.members) expect(live.get(name)?.hash).toBe(hash);
    expect(Object.keys(record.mappings).sort()).toEqual(record.members.map(({ name }) => name));
  }
  expect(new Map([...state.merges.all()].map(({ id, status }) => [id, status]))).toEqual(
    new Map([...model.merges].map(([id, { status }]) => [id, status])),
  );
}

/** Everything that is learned or counted of tools by their own slots; the ridge learns about what was served. */
function ownOf(state: CatalogState): unknown {
  const { policy } = state.learners.active;
  const { matrix: _, target: __, ...arrays } = policy.save().arrays;
  const tools = [...state.tools.records()].map((record) => [record, [...state.tools.vectorOf(record)]]);
  return { tools, arrays: Object.entries(arrays).map(([name, array]) => [name, [...array]]) };
}

it('random histories end as a naive model says, the same in every replica, and as if there were no merges once all are undone', () => {
  let approved = 0;
  let givenBack = 0;
  fc.assert(
    fc.property(fc.array(step, { minLength: 1, maxLength: 30, size: 'max' }), fc.nat(), (steps, cut) => {
      const story = new Story();
      const without = new Story();
      let replica = new Story().state;
      const start: Entry = {
        ...{ kind: 'embedder', key: 'embedder/1', at: START, model: 'letters', fingerprint: 'e1' },
        ...{ dimensions: 4, vectors: [] },
      } as Entry;
      let position = 0;
      const tell = (entry: Entry): void => {
        position++;
        story.tell(entry);
        // The replica reads what the ledger has kept.
        fold(replica, { position, entry: decodeEntry(encodeEntry(entry)) });
        if (entry.kind !== 'merges') without.tell(entry);
      };
      tell(start);
      const model = new Model();
      const names = Array.from({ length: TOOLS }, (_, i) => `t${i}`);
      for (const name of names) model.put(name, 0, START);
      tell(putTools([], { put: names.map((name) => put(name, 0)) }));
      const index = new ToolIndex(createTypescriptKernels());
      story.state.tools.follow(index);
      for (const [at, one] of steps.entries()) {
        if (one.what === 'restart' || at === cut % steps.length) {
          replica = decodeSnapshot(encodeSnapshot(replica), 'default', context());
        }
        const entry = told(one, model, story.state, START + at);
        if (entry === null) continue;
        tell(entry);
        approved += Number(one.what === 'approve' && story.state.merges.size > 0);
        check(story.state, model, index);
      }
      expect(stateDigest(replica)).toEqual(stateDigest(story.state));
      // From the outermost one on: each gives back what it had taken in.
      for (let at = START + 100; model.approved().length > 0; at++) {
        const [id, merge] = [...model.merges].find(([, { status }]) => status === 'approved')!;
        model.end(merge, 'undone');
        tell(merges({ action: 'undo', id }, { at }));
        check(story.state, model, index);
      }
      givenBack += model.givenBack;
      expect(ownOf(story.state)).toEqual(ownOf(without.state));
      expect(story.state.tools.freeSlots()).toEqual(without.state.tools.freeSlots());
      const vectors = (state: CatalogState) =>
        [...state.tools.live()].map(({ slot }) => [...state.tools.vectors.get(slot)]);
      expect(vectors(story.state)).toEqual(vectors(without.state));
      const fresh = new ToolIndex(createTypescriptKernels());
      without.state.tools.follow(fresh);
      expect(index.size).toBe(fresh.size);
    }),
    { seed: 18, numRuns: 150 },
  );
  expect(approved).toBeGreaterThan(100);
  expect(givenBack).toBeGreaterThan(10);
});

it('the id of a merge does not depend on the order of its members', () => {
  const members = [
    { name: 'b', hash: '1' },
    { name: 'a', hash: '2' },
  ];
  expect(mergeId(members)).toBe(mergeId(members.toReversed()));
  expect(mergeId(members)).not.toBe(mergeId([members[0], { name: 'a', hash: '3' }]));
});
