import { expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { encodeEntry } from '../../src/ledger/entry-codec.ts';
import { applySync } from '../../src/sources/apply-sync.ts';
import { START, Story } from '../state/entries.ts';

/** Returns the entry that a sync with these refused tools writes. */
async function entryOf(leftOut: { name: string; why: string }[]): Promise<Entry> {
  const story = Story.withTools(0);
  const generation = story.source('mail');
  const written: Entry[] = [];
  const submit = async (entry: Entry) => {
    written.push(entry);
    return story.tell(entry);
  };
  const catalog = { state: story.state, now: () => START, replica: { submit } } as unknown as Catalog;
  const offer = { tools: [], leftOut };
  await applySync(catalog, { source: 'mail', generation, startedAt: START, offer }, () => null);
  expect(written).toHaveLength(1);
  expect(story.state.sources.get('mail')?.leftOutCount).toBe(leftOut.length);
  return written[0];
}

it('writes a bounded entry, however long the names are that a source gives', async () => {
  const tools = (count: number, letter: string) =>
    Array.from({ length: count }, (_, i) => ({
      name: i + letter.repeat(50_000),
      why: letter.repeat(10_000),
    }));
  for (const letter of ['N', '\u0000', '文']) {
    expect(encodeEntry(await entryOf(tools(200, letter))).length).toBeLessThan(40_000);
  }
});

it('names refused tools as they are where they are of the usual length', async () => {
  const leftOut = Array.from({ length: 120 }, (_, i) => ({
    name: `tool-${i}`,
    why: 'its input schema is no object',
  }));
  expect(await entryOf(leftOut)).toMatchObject({
    change: { leftOut: leftOut.slice(0, 100), leftOutCount: 120 },
  });
});
