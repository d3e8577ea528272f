import { describe, expect, it } from 'vitest';
import { definitionHash } from '../../src/ledger/definition-hash.ts';
import { mergeDigest, mergeId } from '../../src/ledger/merge-definition.ts';
import { ToolIndex } from '../../src/retrieval/tool-index.ts';
import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { axis, putTools, START, Story, tool } from './entries.ts';
import { approve, merges, proposalOf, propose } from './merge-entries.ts';

/** Four tools, and an approved merge of the first three. */
function merged(): { story: Story; id: string } {
  const story = Story.withTools(4);
  const proposal = proposalOf(story.state, ['t0', 't1', 't2']);
  story.tell(propose(proposal));
  expect(story.tell(approve(story.state, proposal.id))).toMatchObject({ kind: 'merges' });
  return { story, id: proposal.id };
}

function slots({ state }: Story, ...names: string[]): number[] {
  return names.map((name) => state.tools.find(name)!.slot);
}

describe('merges of tools', () => {
  it('are proposed once, however often they come, and change nothing before they are approved', () => {
    const story = Story.withTools(3);
    const proposal = proposalOf(story.state, ['t1', 't0']);
    const before = story.state.merges.revision;
    expect(story.tell(propose(proposal))).toMatchObject({ proposed: 1, ignored: 0 });
    expect(story.tell(propose({ ...proposal, confidence: 0.7 }))).toMatchObject({ proposed: 1 });
    expect([...story.state.merges.all()]).toMatchObject([{ status: 'proposed', confidence: 0.7 }]);
    expect(story.state.merges.size).toBe(0);
    expect(story.state.merges.revision).toBe(before);
  });

  it('serve the united definition under the name of the representative, and keep the others from search', () => {
    const { story } = merged();
    const { tools, merges } = story.state;
    const [first, second, third, other] = slots(story, 't0', 't1', 't2', 't3');
    expect(merges.served(first)!.tool.description).toBe('does t0 or t1 or t2');
    expect(tools.get('t0')!.tool.description).toBe('does t0');
    expect([first, second, third, other].map((slot) => merges.representativeOf(slot))).toEqual([
      first,
      first,
      first,
      other,
    ]);
    expect(merges.membersOf(first)).toEqual([first, second, third]);
    expect(merges.membersOf(second)).toEqual([]);
    const index = new ToolIndex(createTypescriptKernels());
    tools.follow(index);
    expect(index.size).toBe(2);
    expect([...tools.live()]).toHaveLength(4);
  });

  it('leave every definition and vector as it was when they are undone', () => {
    const { story, id } = merged();
    const index = new ToolIndex(createTypescriptKernels());
    story.state.tools.follow(index);
    const { tools } = story.state;
    const [slot] = slots(story, 't0');
    expect([...tools.vectors.get(slot)]).toEqual([...axis(id)]);
    expect([...tools.vectorOf(tools.get('t0')!)]).toEqual([...axis('t0')]);
    story.tell(merges({ action: 'undo', id }));
    expect(index.size).toBe(4);
    expect([...tools.vectors.get(slot)]).toEqual([...axis('t0')]);
    expect(story.state.merges.served(slot)).toBe(tools.get('t0'));
    expect(story.state.merges.get(id)!.status).toBe('undone');
  });

  it('stay where one entry proposes and withdraws them, with the time of their first proposal', () => {
    const story = Story.withTools(2);
    const proposal = proposalOf(story.state, ['t0', 't1']);
    story.tell(propose(proposal));
    const both = merges(
      { action: 'propose', propose: [proposal], withdraw: [proposal.id] },
      { at: START + 1 },
    );
    expect(story.tell(both)).toMatchObject({ proposed: 1, withdrawn: 0 });
    expect(story.state.merges.get(proposal.id)).toMatchObject({ proposedAt: START, changedAt: START + 1 });
  });

  it('have another revision once a member has left, since something else is served', () => {
    const { story } = merged();
    const { revision } = story.state.merges;
    story.tell(putTools([], { remove: ['t2'] }));
    expect(story.state.merges.revision).not.toBe(revision);
  });

  it('are forgotten, the oldest first, when ten thousand have ended; those that wait to be served again are not', () => {
    const { story, id } = merged();
    const larger = proposalOf(story.state, ['t0', 't1', 't2', 't3']);
    story.tell(propose(larger));
    story.tell(approve(story.state, larger.id));
    const table = story.state.merges;
    const ended = { ...larger, status: 'rejected', proposedAt: START, changedAt: START } as const;
    for (let at = 0; at < 10_001; at++) table.put({ ...ended, id: `m_${at}` });
    // That which was taken in is older than all of them.
    expect([id, larger.id, 'm_1', 'm_2', 'm_10000'].map((one) => table.get(one) !== undefined)).toEqual([
      ...[true, true, false, true, true],
    ]);
  });

  it('keep what is served when the tool beneath is put, until they are taken off', () => {
    const { story, id } = merged();
    const { tools } = story.state;
    const record = tools.get('t0')!;
    tools.put({ tool: record.tool, hash: 'another', embedding: axis('other') }, record.source, START);
    expect([...tools.vectors.get(record.slot)]).toEqual([...axis(id)]);
    expect([...tools.vectorOf(record)]).toEqual([...axis('other')]);
    tools.uncover(tools.get('t0')!);
    expect([...tools.vectors.get(record.slot)]).toEqual([...axis('other')]);
  });

  it('are not changed by a sync that puts their members as they were', () => {
    const { story, id } = merged();
    const { revision } = story.state.merges;
    story.tell(putTools(['t0', 't1', 't2', 't3'].map((name) => tool(name))));
    expect(story.state.merges.revision).toBe(revision);
    expect(story.state.merges.get(id)!.status).toBe('approved');
  });

  it('go on without a member that changes or is removed, while two are left', () => {
    const { story, id } = merged();
    const [first, , third] = slots(story, 't0', 't1', 't2');
    story.tell(putTools([tool('t1', { description: 'does something else' })]));
    const record = story.state.merges.approvedOf(first)!;
    expect(record).toMatchObject({ id: mergeId(record.members), left: [{ name: 't1' }] });
    expect(Object.keys(record.mappings)).toEqual(['t0', 't2']);
    expect(story.state.merges.membersOf(first)).toEqual([first, third]);
    const why = `"t1" has another definition; the others are "${record.id}".`;
    expect(story.state.merges.get(id)).toMatchObject({ status: 'dissolved', why, members: { length: 3 } });
    story.tell(putTools([], { remove: ['t2'] }));
    expect(story.state.merges.get(record.id)).toMatchObject({
      status: 'dissolved',
      why: '"t2" was removed.',
    });
    expect(story.state.merges.size).toBe(0);
    expect(story.state.merges.served(first)!.tool.description).toBe('does t0');
  });

  it('take a member back that changed and changed back', () => {
    const { story, id } = merged();
    const proposal = proposalOf(story.state, ['t0', 't1', 't2']);
    story.tell(putTools([tool('t1', { description: 'does something else' })]));
    story.tell(putTools([tool('t1')]));
    story.tell(propose(proposal));
    expect(story.state.merges.get(id)!.status).toBe('proposed');
    story.tell(approve(story.state, id));
    expect(story.state.merges.approvedOf(slots(story, 't0')[0])).toMatchObject({
      id,
      members: { length: 3 },
    });
  });

  it('serve no parameter any more that only a member took which has left', () => {
    const story = Story.withTools(3);
    const proposal = proposalOf(story.state, ['t0', 't1', 't2']);
    const properties = { city: { type: 'string' }, altitude: { type: 'number' } };
    const definition = { ...proposal.definition, inputSchema: { type: 'object', properties } };
    const absent = { arguments: {}, absent: ['altitude'] };
    const mappings = { ...proposal.mappings, t0: absent, t1: absent };
    story.tell(propose({ ...proposal, definition, mappings }));
    story.tell(approve(story.state, proposal.id));
    const [slot] = slots(story, 't0');
    const vector = [...story.state.tools.vectors.get(slot)];
    story.tell(putTools([], { remove: ['t2'] }));
    const served = story.state.merges.served(slot)!;
    expect(served.tool.inputSchema.properties).toEqual({ city: { type: 'string' } });
    expect(served.hash).toBe(definitionHash(served.tool));
    expect([...story.state.tools.vectors.get(slot)]).toEqual(vector);
    expect([...story.state.tools.vectorOf(story.state.tools.get('t0')!)]).toEqual([...axis('t0')]);
  });

  it('are dissolved when the representative goes, is changed or renamed', () => {
    const ways = [
      putTools([], { remove: ['t0'] }),
      putTools([tool('t0', { description: 'new' })]),
      putTools([tool('t9', { replaces: ['t0'] })]),
      putTools([], { sync: {} }),
    ];
    for (const way of ways) {
      const { story, id } = merged();
      story.tell(way);
      expect(story.state.merges.get(id)!.status).toBe('dissolved');
      expect(story.state.merges.size).toBe(0);
    }
  });

  it('say why they cannot be approved, and what to do', () => {
    const { story, id } = merged();
    const { state } = story;
    expect(story.tell(approve(story.state, 'm_none'))).toMatchObject({
      kind: 'merges-refused',
      reason: 'unknown',
    });
    expect(story.tell(approve(story.state, id))).toMatchObject({
      reason: 'status',
      sentence: expect.stringContaining('already'),
    });
    const partly = proposalOf(state, ['t2', 't3']);
    expect(story.tell(propose(partly))).toMatchObject({ proposed: 0, ignored: 1 });
    story.tell(merges({ action: 'undo', id }));
    story.tell(propose(partly));
    story.tell(approve(story.state, id));
    expect(state.merges.get(partly.id)).toBeUndefined();
    story.tell(merges({ action: 'undo', id }));
    story.tell(putTools([tool('t1', { description: 'changed' })]));
    expect(story.tell(approve(story.state, id))).toMatchObject({
      reason: 'changed',
      sentence: expect.stringContaining('"t1" was changed'),
    });
    const more = proposalOf(state, ['t1', 't3']);
    story.tell(propose(more));
    const revision = { ifMatch: 'r0' };
    expect(story.tell(approve(story.state, more.id, revision))).toMatchObject({
      reason: 'revision',
      revision: state.revision,
    });
    const stale = {
      action: 'approve',
      id: more.id,
      digest: 'd',
      hash: 'h',
      embedding: null,
      fingerprint: 'e2',
    } as const;
    expect(story.tell(merges(stale))).toMatchObject({ reason: 'stale' });
  });

  it('are not approved in another form than they were prepared in', () => {
    const story = Story.withTools(3);
    const proposal = proposalOf(story.state, ['t0', 't1']);
    story.tell(propose(proposal));
    const prepared = approve(story.state, proposal.id);
    const others = [
      { ...proposal, definition: { ...proposal.definition, description: 'nobody has seen this' } },
      { ...proposal, mappings: { ...proposal.mappings, t1: { arguments: { to: 'from' }, absent: [] } } },
    ];
    for (const other of others) {
      story.tell(propose(other));
      expect(
        story.tell({ ...prepared, key: other.definition.description + JSON.stringify(other.mappings) }),
      ).toMatchObject({ reason: 'stale', sentence: expect.stringContaining('in another form') });
      expect(story.state.merges.size).toBe(0);
    }
    story.tell(propose({ ...proposal, confidence: 0.7 }));
    expect(story.tell({ ...prepared, key: 'the same form' })).toMatchObject({ kind: 'merges' });
  });

  it('take in a merge all of whose tools they have', () => {
    const { story, id } = merged();
    const larger = proposalOf(story.state, ['t0', 't1', 't2', 't3']);
    expect(story.tell(propose(larger))).toMatchObject({ proposed: 1 });
    story.tell(approve(story.state, larger.id));
    expect(story.state.merges.get(id)).toMatchObject({ status: 'dissolved' });
    expect(story.state.merges.membersOf(slots(story, 't0')[0])).toHaveLength(4);
  });

  describe('that have taken in others', () => {
    /** Like `merged`, and then with t3 in a larger one, and with t4 in one that is larger still. */
    function nested(): { story: Story; ids: readonly [string, string, string] } {
      const { story, id } = merged();
      story.tell(putTools([tool('t4')]));
      const more = ['t3', 't4'].map((_, at) => {
        const { id } = proposalOf(story.state, ['t0', 't1', 't2', 't3', 't4'].slice(0, 4 + at));
        story.tell(propose(proposalOf(story.state, ['t0', 't1', 't2', 't3', 't4'].slice(0, 4 + at))));
        expect(story.tell(approve(story.state, id, { actor: 'automatic' }))).toMatchObject({
          kind: 'merges',
        });
        return id;
      });
      return { story, ids: [id, more[0], more[1]] };
    }
    const statuses = ({ state }: Story, ids: readonly string[]) =>
      ids.map((id) => state.merges.get(id)!.status);
    const undo = (id: string) => merges({ action: 'undo', id });

    it('give them back when they are undone, one after the other', () => {
      const { story, ids } = nested();
      const [slot] = slots(story, 't0');
      const at = (id: string) => {
        expect(story.state.merges.served(slot)!.hash).toBe(`hash of ${id}`);
        expect([...story.state.tools.vectors.get(slot)]).toEqual([...axis(id)]);
      };
      at(ids[2]);
      expect(story.state.merges.get(ids[2])!.took).toEqual([ids[1]]);
      story.tell(undo(ids[2]));
      at(ids[1]);
      expect(statuses(story, ids)).toEqual(['dissolved', 'approved', 'undone']);
      story.tell(undo(ids[1]));
      at(ids[0]);
      expect(story.state.merges.membersOf(slot)).toHaveLength(3);
      expect(story.state.merges.get(ids[0])).not.toHaveProperty('why');
      story.tell(undo(ids[0]));
      expect(story.state.merges.size).toBe(0);
    });

    it('give them back when they are dissolved', () => {
      const { story, id } = merged();
      const larger = proposalOf(story.state, ['t0', 't1', 't2', 't3']);
      story.tell(propose({ ...larger, definition: tool('t3'), representative: 't3' }));
      story.tell(approve(story.state, larger.id));
      story.tell(putTools([], { remove: ['t3'] }));
      expect(statuses(story, [id, larger.id])).toEqual(['approved', 'dissolved']);
    });

    it('do not give back what was another tool', () => {
      const { story, ids } = nested();
      story.tell(putTools([tool('t1', { description: 'another' })]));
      const { id } = story.state.merges.approvedOf(slots(story, 't0')[0])!;
      story.tell(undo(id));
      expect(statuses(story, [...ids, id])).toEqual(['dissolved', 'dissolved', 'dissolved', 'undone']);
      expect(story.state.merges.get(ids[1])!.why).toContain('"t1" was changed');
      expect(story.state.merges.size).toBe(0);
      const { story: gone, ids: others } = nested();
      gone.tell(putTools([], { remove: ['t0'] }));
      expect(statuses(gone, others)).toEqual(['dissolved', 'dissolved', 'dissolved']);
      for (const id of others) expect(gone.state.merges.get(id)!.why).toBe('"t0" was removed.');
    });

    it('give back what is inside of one that another tool has broken', () => {
      const { story, ids } = nested();
      story.tell(putTools([tool('t3', { description: 'another' })]));
      const { id } = story.state.merges.approvedOf(slots(story, 't0')[0])!;
      story.tell(undo(id));
      expect(statuses(story, [...ids, id])).toEqual(['approved', 'dissolved', 'dissolved', 'undone']);
    });

    it('are kept with them by a snapshot, and by a move to another embedder', () => {
      const { story, ids } = nested();
      const bytes = encodeSnapshot(story.state);
      const state = decodeSnapshot(bytes, 'default', { kernels: createTypescriptKernels(), derived: true });
      expect(Buffer.compare(encodeSnapshot(state), bytes)).toBe(0);
      const vector = (at: number) => Float32Array.from([0, 1, 2].map((axis) => Number(axis === at)));
      const vectors = [...story.state.tools.live()].map(({ tool: { name }, hash }) => {
        return { name, hash, embedding: vector(0) };
      });
      const ofMerges = [...story.state.merges.embedded()].map(({ id, hash }) => {
        return { id, hash: hash!, embedding: vector(ids.indexOf(id)) };
      });
      const entry = {
        ...{ at: START, model: 'other', fingerprint: 'e2', dimensions: 3, vectors },
        kind: 'embedder' as const,
      };
      const approved = ofMerges.filter(({ id }) => id === ids[2]);
      expect(story.tell({ ...entry, key: 'embedder/2', merges: approved })).toMatchObject({
        reason: 'stale',
      });
      expect(story.tell({ ...entry, key: 'embedder/3', merges: ofMerges })).toMatchObject({
        kind: 'embedder',
      });
      story.tell(undo(ids[2]));
      const [slot] = slots(story, 't0');
      expect([...story.state.tools.vectors.get(slot)]).toEqual([...vector(1)]);
    });
  });

  it('are not proposed again after they were rejected, until a definition changes', () => {
    const story = Story.withTools(3);
    const proposal = proposalOf(story.state, ['t0', 't1']);
    story.tell(propose(proposal));
    story.tell(merges({ action: 'reject', id: proposal.id }, { actor: 'ada' }));
    expect(story.tell(propose(proposal))).toMatchObject({ proposed: 0, ignored: 1 });
    expect(story.state.merges.get(proposal.id)).toMatchObject({ status: 'rejected', actor: 'ada' });
    story.tell(putTools([tool('t1', { description: 'another' })]));
    const again = proposalOf(story.state, ['t0', 't1']);
    expect(again.id).not.toBe(proposal.id);
    expect(story.tell(propose(again))).toMatchObject({ proposed: 1 });
  });

  describe('of tools whose merge was rejected or undone', () => {
    const automatic = { actor: 'automatic' };
    function declined(how: 'reject' | 'undo', actor?: string): { story: Story; id: string } {
      const story = Story.withTools(4);
      const pair = proposalOf(story.state, ['t0', 't1']);
      story.tell(propose(pair));
      if (how === 'undo') story.tell(approve(story.state, pair.id));
      story.tell(merges({ action: how, id: pair.id }, actor === undefined ? {} : { actor }));
      const { id } = proposalOf(story.state, ['t0', 't1', 't2']);
      story.tell(propose(proposalOf(story.state, ['t0', 't1', 't2'])));
      return { story, id };
    }

    it('wait for a person, and say who rejected or undid it', () => {
      for (const [how, actor, sentence] of [
        ['reject', 'anna', 'anna has rejected a merge of "t0" and "t1".'],
        ['undo', 'ben', 'ben has undone a merge of "t0" and "t1".'],
        ['reject', undefined, 'A merge of "t0" and "t1" was rejected.'],
      ] as const) {
        const { story, id } = declined(how, actor);
        const { merges } = story.state;
        expect(merges.guardOf(merges.get(id)!)).toBe(sentence);
        expect(story.tell(approve(story.state, id, automatic))).toMatchObject({
          reason: 'guarded',
          sentence: expect.stringContaining(sentence),
        });
        expect(story.state.merges.size).toBe(0);
        const bytes = encodeSnapshot(story.state);
        const state = decodeSnapshot(bytes, 'default', { kernels: createTypescriptKernels(), derived: true });
        expect(state.merges.guardOf(state.merges.get(id)!)).toBe(sentence);
        expect(story.tell(approve(story.state, id, { actor: 'cleo' }))).toMatchObject({ kind: 'merges' });
        // Somebody has merged them since: another copy joins by itself.
        const { id: larger } = proposalOf(story.state, ['t0', 't1', 't2', 't3']);
        story.tell(propose(proposalOf(story.state, ['t0', 't1', 't2', 't3'])));
        expect(story.tell(approve(story.state, larger, automatic))).toMatchObject({ kind: 'merges' });
      }
    });

    it('are approved by themselves when one of the two has changed, or is not among them', () => {
      const { story } = declined('reject', 'anna');
      const others = proposalOf(story.state, ['t1', 't3']);
      story.tell(propose(others));
      expect(story.tell(approve(story.state, others.id, automatic))).toMatchObject({ kind: 'merges' });
      story.tell(putTools([tool('t0', { description: 'another' })]));
      const larger = proposalOf(story.state, ['t0', 't1', 't2', 't3']);
      story.tell(propose(larger));
      expect(story.tell(approve(story.state, larger.id, automatic))).toMatchObject({ kind: 'merges' });
    });

    it('are judged by the newest decision, and never approved by themselves against their own guard', () => {
      const { story, id } = declined('reject', 'anna');
      const pair = proposalOf(story.state, ['t1', 't2']);
      story.tell(propose(pair));
      story.tell(merges({ action: 'reject', id: pair.id }, { actor: 'ben', at: START + 1 }));
      const { merges: table } = story.state;
      expect(table.guardOf(table.get(id)!)).toContain('ben has rejected');
      story.tell(merges({ action: 'reject', id }, { actor: 'cleo', at: START + 2 }));
      expect(story.tell(approve(story.state, id, automatic))).toMatchObject({ reason: 'guarded' });
      const guarded = { ...proposalOf(story.state, ['t2', 't3']), guarded: 't3 may destroy something.' };
      story.tell(propose(guarded));
      expect(story.tell(approve(story.state, guarded.id, automatic))).toMatchObject({
        sentence: expect.stringContaining('t3 may destroy something.'),
      });
    });
  });

  it('are not proposed again when they have lost a member: they have the id of what is left', () => {
    const { story, id } = merged();
    story.tell(putTools([tool('t2', { description: 'another' })]));
    const rest = proposalOf(story.state, ['t0', 't1']);
    expect(rest.id).not.toBe(id);
    expect(story.state.merges.get(rest.id)!.status).toBe('approved');
    expect(story.tell(propose(rest))).toMatchObject({ proposed: 0, ignored: 1 });
    expect(story.tell(merges({ action: 'undo', id }))).toMatchObject({ kind: 'merges-refused' });
    story.tell(merges({ action: 'undo', id: rest.id }));
    expect(story.tell(propose(rest))).toMatchObject({ proposed: 0, ignored: 1 });
    const other = proposalOf(story.state, ['t0', 't3']);
    expect(story.tell(propose(other, other))).toMatchObject({ proposed: 2 });
  });

  it('are not taken where they are not what they have to be', () => {
    const story = Story.withTools(3);
    const good = proposalOf(story.state, ['t0', 't1']);
    const bad = [
      { ...good, id: 'm_0' },
      { ...good, representative: 't2' },
      { ...good, definition: tool('t1') },
      { ...good, mappings: {} },
      { ...good, members: [] },
      { ...good, members: [good.members[0], good.members[0]] },
      { ...good, members: good.members.toReversed() },
    ];
    expect(story.tell(propose(...bad))).toMatchObject({ proposed: 0, ignored: bad.length });
  });

  it('have their vectors moved to another embedder in the same entry as those of the tools', () => {
    const { story, id } = merged();
    const { state } = story;
    const vector = (at: number) => Float32Array.from([at === 0 ? 1 : 0, at === 1 ? 1 : 0]);
    const vectors = [...state.tools.live()].map(({ tool: { name }, hash }) => ({
      name,
      hash,
      embedding: vector(0),
    }));
    const entry = {
      ...{ at: START, model: 'other', fingerprint: 'e2', dimensions: 2, vectors },
      kind: 'embedder' as const,
    };
    expect(story.tell({ ...entry, key: 'embedder/2' })).toMatchObject({
      kind: 'embedder-refused',
      reason: 'stale',
    });
    const { hash } = state.merges.get(id)!;
    const ofMerges = [{ id, hash: hash!, embedding: vector(1) }];
    expect(story.tell({ ...entry, key: 'embedder/3', merges: ofMerges })).toMatchObject({ kind: 'embedder' });
    const [slot] = slots(story, 't0');
    expect([...state.tools.vectors.get(slot)]).toEqual([0, 1]);
    story.tell(merges({ action: 'undo', id }));
    expect([...state.tools.vectors.get(slot)]).toEqual([1, 0]);
  });

  it('come back from a snapshot', () => {
    const { story, id } = merged();
    const bytes = encodeSnapshot(story.state);
    const state = decodeSnapshot(bytes, 'default', { kernels: createTypescriptKernels(), derived: true });
    expect(Buffer.compare(encodeSnapshot(state), bytes)).toBe(0);
    const [slot] = slots(story, 't0');
    expect(state.merges.served(slot)).toEqual(story.state.merges.served(slot));
    expect([...state.tools.vectors.get(slot)]).toEqual([...axis(id)]);
    expect([...state.tools.vectorOf(state.tools.get('t0')!)]).toEqual([...axis('t0')]);
  });

  it('take in a thousand identical tools, and let go of them one by one', () => {
    const story = Story.withTools(0);
    const names = Array.from({ length: 1000 }, (_, i) => `t${String(i).padStart(4, '0')}`);
    story.tell(putTools(names.map((name) => tool(name))));
    const proposal = proposalOf(story.state, names);
    story.tell(propose(proposal));
    story.tell(approve(story.state, proposal.id));
    expect(story.state.tools.servedSize).toBe(1);
    story.tell(putTools([], { remove: names.slice(500) }));
    const record = story.state.merges.approvedOf(slots(story, names[0])[0])!;
    expect(record).toMatchObject({ status: 'approved', left: { length: 500 } });
    expect([...story.state.merges.all()]).toHaveLength(2);
    expect(story.state.merges.membersOf(slots(story, names[0])[0])).toHaveLength(500);
    story.tell(putTools([], { sync: {} }));
    expect(story.state.merges.get(proposal.id)!.status).toBe('dissolved');
    expect(story.state.merges.get(record.id)!.status).toBe('dissolved');
    expect(story.state.merges.size).toBe(0);
    expect(story.state.tools.size).toBe(0);
  });

  it('are approved without an embedder, when there are no vectors', () => {
    const story = new Story();
    const embedder = { model: 'none', fingerprint: null, dimensions: 0, vectors: [] };
    story.tell({ kind: 'embedder', key: 'embedder/1', at: START, ...embedder });
    const plain = ['a', 'b'].map((name) => ({ tool: tool(name), hash: name, embedding: null }));
    story.tell(putTools([], { put: plain, fingerprint: null }));
    const { id, ...proposal } = proposalOf(story.state, ['a', 'b']);
    story.tell(propose({ id, ...proposal }));
    const digest = mergeDigest(proposal);
    const change = { action: 'approve', id, digest, hash: 'h', embedding: null, fingerprint: null } as const;
    expect(story.tell(merges(change))).toMatchObject({ kind: 'merges' });
    const bytes = encodeSnapshot(story.state);
    const state = decodeSnapshot(bytes, 'default', { kernels: createTypescriptKernels(), derived: true });
    expect(state.tools.servedSize).toBe(1);
    story.tell(merges({ action: 'undo', id }));
    expect(story.state.tools.servedSize).toBe(2);
  });
});
