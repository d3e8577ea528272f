import { describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { bindEmbedder } from '../../src/catalog/catalog-embedder.ts';
import type { Catalogs } from '../../src/catalog/catalogs.ts';
import type { NamedEmbedder } from '../../src/catalog/embedders.ts';
import {
  approveInstructions,
  patchInstructions,
  syncInstructions,
} from '../../src/instructions/change-instructions.ts';
import { Instructions } from '../../src/instructions/instructions.ts';
import type { Entry, InstructionsEntry } from '../../src/ledger/entry.ts';

import { axis, instruction, putInstructions, START, Story } from '../state/entries.ts';

/** A catalog in memory; `meanwhile` runs once, while texts are being embedded. */
function opened(meanwhile: (story: Story) => unknown = () => {}) {
  const story = Story.withTools(0);
  const embedded: string[] = [];
  const submitted: Entry[] = [];
  let isFirst = true;
  const catalog = {
    name: 'default',
    state: story.state,
    now: () => START,
    replica: {
      state: story.state,
      submit: async (entry: Entry) => {
        submitted.push(entry);
        return story.tell(entry);
      },
    },
    embedDocuments: async (texts: readonly string[]) => {
      embedded.push(...texts);
      if (isFirst) await meanwhile(story);
      isFirst = false;
      const { dimensions } = story.state.embedder;
      return texts.map(() => axis('t3').subarray(0, dimensions));
    },
  } as unknown as Catalog;
  return { story, catalog, embedded, submitted };
}

const many = (count: number) =>
  Array.from({ length: count }, (_, i) => instruction(`i${i}`, { text: `text ${i}` }));

describe('a change of instructions', () => {
  it('reports duplicates of what it added or changed, again when it is repeated, and of nothing else', async () => {
    const { story, catalog } = opened();
    const catalogs = { holding: (_: string, work: (one: Catalog) => unknown) => work(catalog) };
    const instructions = new Instructions(catalogs as unknown as Catalogs);
    const text = 'refunds above one hundred euros need a manager';
    const twins = [
      instruction('a', { text }),
      instruction('b', { text }),
      instruction('c', { text: 'else' }),
    ];
    let at = START;
    Object.assign(catalog, { now: () => at });
    const both = { duplicates: [{ ids: ['a', 'b'] }], duplicatesComplete: true };
    const none = { duplicates: [], duplicatesComplete: true };
    const key = { idempotencyKey: 'k' };
    expect(await instructions.sync('default', twins, key)).toMatchObject(both);
    at += 1000;
    expect(await instructions.sync('default', twins, key)).toMatchObject(both);
    expect(await instructions.sync('default', twins)).toMatchObject({ ...none, unchanged: 3 });
    at += 1000;
    const other = twins.with(2, instruction('c', { text: 'something else' }));
    expect(await instructions.sync('default', other)).toMatchObject({ ...none, changed: 1 });
    at += 1000;
    const third = twins.with(2, instruction('c', { text }));
    const { duplicates } = await instructions.sync('default', third);
    expect(duplicates.map(({ ids }) => ids.join())).toEqual(['a,c', 'b,c']);
    expect(story.state.instructions.size).toBe(3);
  });

  it('embeds and sends only what changed, and a sync takes the others out', async () => {
    const { catalog, embedded, submitted } = opened();
    expect(await syncInstructions(catalog, many(10_000))).toMatchObject({ added: 10_000, revision: 'i3' });
    const changed = many(9_999).with(7, instruction('i7', { text: 'another' }));
    embedded.length = 0;
    expect(await syncInstructions(catalog, changed)).toMatchObject({
      changed: 1,
      removed: 1,
      unchanged: 9_998,
    });
    expect(embedded).toEqual(['another']);
    expect((submitted.at(-1) as InstructionsEntry).put).toHaveLength(1);
    expect(await syncInstructions(catalog, changed)).toMatchObject({ unchanged: 9_999, revision: 'i4' });
    expect(embedded).toHaveLength(1);
  });

  it('is prepared again when another one came before it, and refused when it named a revision', async () => {
    const other = (story: Story) => story.tell(putInstructions([instruction('i0', { text: 'theirs' })]));
    const { catalog, story } = opened(other);
    // What the other one put is not in the list: a full sync removes what it does not list, and puts what it does.
    expect(await syncInstructions(catalog, many(1))).toMatchObject({ added: 0, changed: 1 });
    expect(story.state.instructions.get('i0')?.instruction.text).toBe('text 0');
    const second = opened(other);
    const { revision } = second.story.state.instructions;
    const refused = syncInstructions(second.catalog, many(1), { ifMatch: revision });
    await expect(refused).rejects.toMatchObject({ code: 'revision-mismatch' });
    expect(second.story.state.instructions.get('i0')?.instruction.text).toBe('theirs');
  });

  it('is embedded again when the catalog was moved to another embedder meanwhile', async () => {
    const documents = { of: async (texts: readonly string[]) => texts.map(() => Float32Array.of(0, 1)) };
    const embedder = { fingerprint: 'e2', dimensions: 2 };
    const named = { model: 'other', embedder, documents } as unknown as NamedEmbedder;
    const move = async (): Promise<unknown> => bindEmbedder(catalog, named, {});
    const { catalog, story } = opened(move);
    story.tell(putInstructions([instruction('before', { status: 'approved' })]));
    expect(await patchInstructions(catalog, [instruction('i0')], [])).toMatchObject({ added: 1 });
    const { instructions } = story.state;
    expect(instructions.vectors.dimensions).toBe(2);
    expect([...instructions.vectors.get(instructions.get('before')!.slot)]).toEqual([0, 1]);
    expect(instructions.get('i0')).toBeDefined();
  });

  it('approves drafts and what waits, all or by id, and nothing that came after the revision', async () => {
    const { catalog, story } = opened();
    await patchInstructions(catalog, [instruction('a', { status: 'approved' }), ...many(3)], []);
    await patchInstructions(catalog, [instruction('a', { text: 'new' })], []);
    const { instructions } = story.state;
    const seen = instructions.revision;
    expect(await approveInstructions(catalog, ['i1'], { actor: 'ann' })).toMatchObject({ approved: 1 });
    expect(instructions.get('i1')?.approval).toEqual({ at: START, actor: 'ann' });
    const late = approveInstructions(catalog, undefined, { ifMatch: seen });
    await expect(late).rejects.toMatchObject({ code: 'revision-mismatch' });
    expect(await approveInstructions(catalog, undefined)).toMatchObject({ approved: 3 });
    expect(instructions.get('a')?.instruction.text).toBe('new');
    expect(await approveInstructions(catalog, undefined)).toMatchObject({ approved: 0 });
    const unknown = approveInstructions(catalog, ['nobody']);
    await expect(unknown).rejects.toMatchObject({ code: 'instruction-not-found' });
  });

  it('names what cannot be included, circles and ids that are repeated', async () => {
    const { catalog } = opened();
    const dangling = patchInstructions(catalog, [instruction('a', { includes: ['b'] })], []);
    await expect(dangling).rejects.toMatchObject({
      code: 'validation-failed',
      message: '"a" includes "b", which would not be there.',
      violations: [{ path: 'put[0].includes' }],
    });
    const long = Array.from({ length: 18 }, (_, i) =>
      instruction(`c${i}`, { includes: i === 0 ? [] : [`c${i - 1}`] }),
    );
    await expect(syncInstructions(catalog, [instruction('a'), ...long])).rejects.toMatchObject({
      message: expect.stringContaining('"c17" would bring more than 16 others'),
      violations: [{ path: 'instructions[18].includes' }],
    });
    const pair = [instruction('whole', { includes: ['part'] }), instruction('part')];
    await patchInstructions(catalog, pair, []);
    const removed = patchInstructions(catalog, [], ['part']);
    await expect(removed).rejects.toMatchObject({ violations: [{ path: 'remove' }] });
    const circle = patchInstructions(
      catalog,
      [instruction('a', { includes: ['b'] }), instruction('b', { includes: ['a'] })],
      [],
    );
    await expect(circle).rejects.toMatchObject({ message: expect.stringContaining('"a" → "b" → "a"') });
    const twice = syncInstructions(catalog, [instruction('a'), instruction('a', { text: 'other' })]);
    await expect(twice).rejects.toMatchObject({ violations: [{ message: 'the id "a" is repeated' }] });
  });

  it('is applied once for an idempotency key, and refused for another content', async () => {
    const { catalog, story } = opened();
    const key = { idempotencyKey: 'k' };
    const first = await patchInstructions(catalog, many(2), [], key);
    expect(await patchInstructions(catalog, many(2), [], key)).toEqual(first);
    expect(story.state.instructions.revision).toBe(first.revision);
    const other = patchInstructions(catalog, many(3), [], key);
    await expect(other).rejects.toMatchObject({ code: 'idempotency-conflict' });
  });
});
