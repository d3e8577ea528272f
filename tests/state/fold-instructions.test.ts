import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fold } from '../../src/state/fold.ts';
import { effectOf } from '../../src/state/fold-instructions.ts';
import { MAX_INSTRUCTION_CHANGES, MAX_LOGGED_IDS } from '../../src/state/instruction-table.ts';
import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { axis, emptyState, instruction, MINUTE, putInstructions, START, Story } from './entries.ts';

const DAY_MS = 24 * 60 * MINUTE;

const approved = (id: string, more = {}) => instruction(id, { status: 'approved', ...more });

describe('instructions in the fold', () => {
  it('are drafts until they are approved, with who did it and when', () => {
    const story = Story.withTools(0);
    expect(story.tell(putInstructions([instruction('a')]))).toMatchObject({ added: 1, approved: 0 });
    expect(story.state.instructions.get('a')).toMatchObject({ instruction: { status: 'draft' } });
    const result = story.tell(putInstructions([approved('a')], { at: START + MINUTE, actor: 'ann' }));
    expect(result).toMatchObject({ added: 0, changed: 0, approved: 1, unchanged: 0 });
    expect(story.state.instructions.get('a')).toMatchObject({
      instruction: { status: 'approved' },
      approval: { at: START + MINUTE, actor: 'ann' },
      updatedAt: START + MINUTE,
    });
  });

  it('serve what was approved until its change is approved as well', () => {
    const story = Story.withTools(0);
    story.tell(putInstructions([approved('a', { text: 'old' })]));
    story.tell(putInstructions([instruction('a', { text: 'new' })]));
    const { instructions } = story.state;
    expect(instructions.get('a')).toMatchObject({
      instruction: { text: 'old', status: 'approved' },
      pending: { instruction: { text: 'new', status: 'draft' } },
    });
    story.tell(putInstructions([approved('a', { text: 'new' })], { actor: 'bo' }));
    expect(instructions.get('a')).toMatchObject({ instruction: { text: 'new' }, approval: { actor: 'bo' } });
    expect(instructions.get('a')?.pending).toBeUndefined();
    expect(instructions.changes().map(({ counts }) => counts)).toMatchObject([
      { added: 1, approved: 1 },
      { changed: 1, approved: 0 },
      { changed: 0, approved: 1 },
    ]);
  });

  it('drop a change when the text that is served is put again, and are withdrawn on request alone', () => {
    const story = Story.withTools(0);
    story.tell(putInstructions([approved('a')]));
    story.tell(putInstructions([instruction('a', { text: 'new' })]));
    expect(story.tell(putInstructions([instruction('a')]))).toMatchObject({ changed: 1, withdrawn: 0 });
    expect(story.state.instructions.get('a')?.pending).toBeUndefined();
    expect(story.tell(putInstructions([instruction('a')]))).toMatchObject({ unchanged: 1, revision: 'i5' });
    expect(story.tell(putInstructions([instruction('a', { status: 'draft' })]))).toMatchObject({
      withdrawn: 1,
    });
    expect(story.state.instructions.get('a')?.instruction.status).toBe('draft');
    expect(story.state.instructions.get('a')?.approval).toBeUndefined();
  });

  it('have a revision of their own, which the tools do not move', () => {
    const story = Story.withTools(1);
    const { revision } = story.state;
    story.tell(putInstructions([instruction('a')]));
    expect(story.state.revision).toBe(revision);
    const refused = story.tell(putInstructions([instruction('b')], { ifMatch: 'i0' }));
    expect(refused).toEqual({ kind: 'instructions-refused', reason: 'revision', revision: 'i3' });
    expect(story.state.instructions.size).toBe(1);
    expect(story.tell(putInstructions([instruction('b')], { ifMatch: 'i3' }))).toMatchObject({ added: 1 });
  });

  it('are refused when they were prepared for another revision or embedder', () => {
    const story = Story.withTools(0);
    story.tell(putInstructions([instruction('a')]));
    const refusal = { kind: 'instructions-refused', reason: 'stale' };
    expect(story.tell(putInstructions([instruction('b')], { preparedFor: 'i0' }))).toMatchObject(refusal);
    expect(story.tell(putInstructions([instruction('b')], { fingerprint: 'e0' }))).toMatchObject(refusal);
  });

  it('are refused whole when one includes what is not there, or what is removed', () => {
    const story = Story.withTools(0);
    const dangling = [{ id: 'a', include: 'z' }];
    const entry = putInstructions([instruction('a', { includes: ['z'] }), instruction('b')]);
    expect(story.tell(entry)).toEqual({ kind: 'instructions-refused', reason: 'includes', dangling });
    expect(story.state.instructions.size).toBe(0);
    story.tell(putInstructions([instruction('z'), instruction('a', { includes: ['z'] })]));
    expect(story.tell(putInstructions([], { remove: ['z'] }))).toMatchObject({ dangling });
    expect(story.tell(putInstructions([], { sync: ['a'] }))).toMatchObject({ dangling });
    expect(story.tell(putInstructions([], { remove: ['z', 'a'] }))).toMatchObject({ removed: 2 });
  });

  it('are refused when they would include each other in a circle, also with a change that waits', () => {
    const story = Story.withTools(0);
    const own = story.tell(putInstructions([instruction('a'), instruction('s', { includes: ['s'] })]));
    expect(own).toEqual({ kind: 'instructions-refused', reason: 'circle', circle: ['s'] });
    story.tell(putInstructions([approved('a'), approved('b', { includes: ['a'] })]));
    const closing = putInstructions([instruction('a', { text: 'new', includes: ['b'] })]);
    const refused = story.tell(closing);
    expect(refused).toMatchObject({ reason: 'circle' });
    expect((refused as unknown as { circle: string[] }).circle.toSorted()).toEqual(['a', 'b']);
    // The change of `b` waits, so that `b` still includes `a`.
    story.tell(putInstructions([instruction('b', { text: 'new' })]));
    expect(story.tell(closing)).toMatchObject({ reason: 'circle' });
    story.tell(putInstructions([approved('b', { text: 'new' })]));
    expect(story.tell(closing)).toMatchObject({ changed: 1 });
  });

  const chainOf = (length: number) =>
    Array.from({ length }, (_, i) => instruction(`c${i}`, { includes: i === 0 ? [] : [`c${i - 1}`] }));

  it('bring at most sixteen others, however they are included, and are refused whole and by name', () => {
    const story = Story.withTools(0);
    const refused = story.tell(putInstructions(chainOf(10_000))) as unknown as { ids: string[] };
    expect(refused).toMatchObject({ kind: 'instructions-refused', reason: 'too-many-included' });
    expect(refused.ids).toHaveLength(10_000 - 17);
    expect(refused.ids[0]).toBe('c17');
    expect(story.tell(putInstructions(chainOf(17)))).toMatchObject({ added: 17 });
    // The end of the chain grows: what is refused is the one at its other end, which is not put at all.
    const longer = [instruction('x'), instruction('c0', { includes: ['x'] })];
    expect(story.tell(putInstructions(longer))).toMatchObject({ ids: ['c16'] });
    expect(story.tell(putInstructions(longer, { remove: ['c16'] }))).toMatchObject({
      changed: 1,
      removed: 1,
    });
    const leaves = Array.from({ length: 17 }, (_, i) => instruction(`l${i}`));
    const fan = (count: number) =>
      instruction('fan', { includes: leaves.slice(0, count).map(({ id }) => id) });
    expect(story.tell(putInstructions([...leaves, fan(17)]))).toMatchObject({ ids: ['fan'] });
    expect(story.tell(putInstructions([...leaves, fan(16)]))).toMatchObject({ added: 18 });
  });

  it('are looked through for circles without recursion', () => {
    const story = Story.withTools(0);
    const circle = chainOf(10_000).with(0, instruction('c0', { includes: ['c9999'] }));
    expect(story.tell(putInstructions(circle))).toMatchObject({ reason: 'circle' });
  });

  it('keep their slot when they are removed and put again, and give it up when they are forgotten', () => {
    const story = Story.withTools(0);
    story.tell(putInstructions([approved('a'), approved('b')]));
    const { slot } = story.state.instructions.get('a')!;
    story.tell(putInstructions([], { remove: ['a', 'unknown'] }));
    expect(story.state.instructions.get('a')).toBeUndefined();
    story.tell(putInstructions([instruction('a')]));
    expect(story.state.instructions.get('a')).toMatchObject({ slot, instruction: { status: 'draft' } });
    story.tell(putInstructions([], { remove: ['a'], at: START + MINUTE }));
    story.tell(putInstructions([instruction('c')], { at: START + 400 * DAY_MS }));
    expect(story.state.instructions.find('a')).toBeUndefined();
    story.tell(putInstructions([instruction('d')], { at: START + 400 * DAY_MS }));
    expect(story.state.instructions.get('d')?.slot).toBe(slot);
  });

  it('log every change, within bounds, and a snapshot keeps it', () => {
    const story = Story.withTools(0);
    const many = Array.from({ length: MAX_LOGGED_IDS + 5 }, (_, i) => instruction(`m${i}`));
    story.tell(putInstructions(many, { actor: 'ann' }));
    const [first] = story.state.instructions.changes();
    expect(first).toMatchObject({ actor: 'ann', revision: 'i3', counts: { added: MAX_LOGGED_IDS + 5 } });
    expect(first.ids.added).toHaveLength(MAX_LOGGED_IDS);
    for (let i = 0; i < MAX_INSTRUCTION_CHANGES; i++) {
      story.tell(putInstructions([instruction('a', { text: `version ${i}` })]));
    }
    const { instructions } = story.state;
    expect(instructions.changes()).toHaveLength(MAX_INSTRUCTION_CHANGES);
    const context = { kernels: createTypescriptKernels(), derived: true };
    const restored = decodeSnapshot(encodeSnapshot(story.state), 'default', context);
    expect(restored.instructions.changes()).toEqual(instructions.changes());
    expect(restored.instructions.revision).toBe(instructions.revision);
  });

  it('move with the catalog to another embedder in one entry, or hold it up', () => {
    const story = Story.withTools(0);
    story.tell(putInstructions([approved('a'), instruction('b')]));
    const move = (instructions: readonly string[]) => ({
      kind: 'embedder' as const,
      key: `embedder/${instructions.join()}`,
      at: START,
      model: 'other',
      fingerprint: 'e2',
      dimensions: 2,
      vectors: [],
      instructions: instructions.map((id) => ({
        id,
        hash: story.state.instructions.get(id)!.hash,
        embedding: Float32Array.of(0, 1),
      })),
    });
    expect(story.tell(move(['a']))).toMatchObject({ kind: 'embedder-refused', reason: 'stale' });
    expect(story.tell(move(['a', 'b']))).toMatchObject({ kind: 'embedder' });
    const { instructions } = story.state;
    expect([...instructions.vectors.get(instructions.get('b')!.slot)]).toEqual([0, 1]);
  });

  it('are as a naive model has them, whatever is put and removed, and the same when folded again', () => {
    const ids = ['a', 'b', 'c'];
    const step = fc.record({
      put: fc.uniqueArray(
        fc.record({
          id: fc.constantFrom(...ids),
          text: fc.constantFrom('x', 'y', 'z'),
          status: fc.constantFrom(undefined, 'draft' as const, 'approved' as const),
        }),
        { selector: ({ id }) => id, maxLength: 3 },
      ),
      remove: fc.subarray(ids),
      isSync: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 12 }), (steps) => {
        const story = Story.withTools(0);
        const model = new Map<string, { served: string | null; waits: string | null }>();
        for (const { put, remove, isSync } of steps) {
          const removed = isSync ? [] : remove.filter((id) => !put.some((one) => one.id === id));
          const sync = isSync ? { sync: put.map(({ id }) => id) } : {};
          const definitions = put.map(({ status, ...one }) =>
            instruction(one.id, {
              ...one,
              kind: one.id === 'a' ? 'safety' : 'policy',
              ...(status !== undefined && { status }),
            }),
          );
          story.tell(putInstructions(definitions, { remove: removed, ...sync }));
          for (const { id, text, status } of put) {
            const served = model.get(id)?.served ?? null;
            if (status === 'approved') model.set(id, { served: text, waits: null });
            else if (served === null) model.set(id, { served: null, waits: text });
            else if (served !== text) model.set(id, { served, waits: text });
            else if (status === 'draft') model.set(id, { served: null, waits: text });
            else model.set(id, { served, waits: null });
          }
          for (const id of removed) model.delete(id);
          if (isSync) for (const id of ids) if (!put.some((one) => one.id === id)) model.delete(id);
        }
        const { instructions } = story.state;
        const found = [...instructions.live()].map(({ instruction: { id, text, status }, pending }) => {
          const isServed = status === 'approved';
          const waits = isServed ? (pending?.instruction.text ?? null) : text;
          return [id, { served: isServed ? text : null, waits }] as const;
        });
        expect(new Map(found)).toEqual(model);
        expect(instructions.size).toBe(model.size);
        const safety = [...model].filter(([id, { served }]) => id === 'a' && served !== null);
        expect(instructions.safety().map(({ instruction: { id } }) => id)).toEqual(safety.map(([id]) => id));
        for (const record of instructions.live()) {
          expect(effectOf(record, { instruction: record.instruction, hash: record.hash })).toEqual(
            record.pending === undefined ? [] : ['changed'],
          );
          expect(instructions.atSlot(record.slot)).toBe(record);
          expect([...instructions.vectors.get(record.slot)]).toEqual([...axis(record.instruction.id)]);
        }
        const again = emptyState();
        for (const [index, entry] of story.entries.entries()) fold(again, { position: index + 1, entry });
        expect(Buffer.compare(encodeSnapshot(again), encodeSnapshot(story.state))).toBe(0);
      }),
    );
  });
});
