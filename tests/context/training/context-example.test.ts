import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { COLUMNS, CONTEXT_FEATURES } from '../../../bandit/ranking/context-features.ts';
import { ContextRanker } from '../../../bandit/ranking/context-ranker.ts';
import { SemanticMap } from '../../../bandit/ranking/semantic-map.ts';
import { EnsembleBuilder } from '../../../bandit/ranking/tree-ensemble.ts';
import { TreeScorer } from '../../../bandit/ranking/tree-scorer.ts';
import type { Catalogs } from '../../../src/catalog/catalogs.ts';
import { FileContextStore } from '../../../src/context/file-context-store.ts';
import { RouteContexts } from '../../../src/context/route-contexts.ts';
import { MOST_ROWS } from '../../../src/context/training/context-example.ts';
import { MOST_EXAMPLES, SHOWN, USED, UserExamples } from '../../../src/context/training/user-examples.ts';
import { UserContexts } from '../../../src/context/user-contexts.ts';
import type { Decision } from '../../../src/decisions/decision.ts';
import { tokenise } from '../../../src/retrieval/tokenise.ts';
import { loadKernels } from '../../../src/stores/load-kernels.ts';
import { temporaryFolder } from '../../storage/temporary-folder.ts';
import { contentOf } from '../content-of.ts';

const kernels = await loadKernels();

const root = temporaryFolder();
const NOW = Date.UTC(2026, 10, 23, 12);
const HOUR = 3_600_000;
const trees = new EnsembleBuilder().build([...CONTEXT_FEATURES]);
const ranker = new ContextRanker(trees, SemanticMap.untrained(4), 'one');

let now = NOW;
let path: string;
let contexts: UserContexts;
let routes: RouteContexts;
const errors: unknown[] = [];

function start(): void {
  const embedder = {
    fingerprint: 'one',
    dimensions: 4,
    embedDocuments: async (texts: readonly string[]) =>
      texts.map((text) => Float32Array.of(text.length % 7, 1, -0.5, 2)),
  };
  const replica = { submit: async () => ({ kind: 'forget', forgotten: 0 }) };
  const open = { name: 'default', embedder, now: () => now, replica };
  const catalogs = {
    all: () => [open],
    get: () => open,
    find: () => open,
    holding: async (_: string, work: (one: unknown) => unknown) => work(open),
  } as unknown as Catalogs;
  const store = new FileContextStore(path);
  contexts = new UserContexts({
    ...{ catalogs, store, secret: undefined, kernels, now: () => now },
    onError: (_, error) => errors.push(error),
  });
  routes = new RouteContexts(
    contexts,
    () => ranker,
    (_, error) => errors.push(error),
    new TreeScorer(kernels),
  );
}

beforeEach(() => {
  now = NOW;
  errors.length = 0;
  path = join(root, randomUUID());
  mkdirSync(path);
  start();
});
afterEach(async () => {
  await contexts.close();
  expect(errors).toEqual([]);
});

async function put(user: string, count: number): Promise<void> {
  const items = Array.from({ length: count }, (_, at) => ({
    ...{ id: `item-${at}`, text: `secret text ${'x'.repeat(at)}`, store: 'notes' },
  }));
  await contexts.put('default', user, items);
  now += HOUR;
}

/** A decision about the user as it is recorded, in which the first items were shown. */
async function decide(user: string, shown: readonly string[]): Promise<Decision> {
  now += HOUR;
  const loaded = (await contexts.load('default', user))!;
  const chosen = shown.map((id) => ({
    ...{ id, text: '', score: 0.5, reasons: [], store: 'notes', vector: null },
    ...{ number: loaded.key.numberOf(id), features: new Float32Array(CONTEXT_FEATURES.length) },
  }));
  const id = randomUUID();
  const moment = { place: 'Xanadu', utcOffsetMinutes: 0, tools: new Map([['read_note', 1]]) };
  const terms = { terms: tokenise('secret text'), weights: new Float32Array(2) };
  return {
    ...{ id, at: now, catalog: 'default', fingerprint: 'one' },
    query: { embedding: Float32Array.of(0.5, 0.5, 0.5, 0.5), terms },
    context: routes.keep(loaded, chosen, moment, id),
  } as unknown as Decision;
}
const report = (decision: Decision, items?: readonly string[], rewardId: string = randomUUID()) =>
  routes.note(decision, [{ rewardId, items, tool: 'read_note', outcome: 1 }]);
const examplesOf = async (user: string) =>
  (await contexts.examples((await contexts.load('default', user))!.place)).all;

describe('an example for training', () => {
  it('has the items that were used, those that were shown and others, in numbers of before the use', async () => {
    await put('ada', 30);
    await report(await decide('ada', ['item-0']), ['item-4']);
    const decision = await decide('ada', ['item-4', 'item-1']);
    await report(decision, ['item-2', 'item-27']);
    const [, { at, said, features, decision: id }] = await examplesOf('ada');
    expect([at, id]).toEqual([decision.at, decision.id]);
    expect(said).toHaveLength(MOST_ROWS);
    expect([...said].sort().slice(-4)).toEqual([USED, USED, SHOWN, SHOWN]);
    const column = (name: keyof typeof COLUMNS) =>
      Array.from(said, (_, row) => features[row * CONTEXT_FEATURES.length + COLUMNS[name]]);
    // item-4 was used once before this, and of the two that were used now nothing is known yet.
    const uses = column('uses');
    expect(uses.filter((value) => value > 0)).toHaveLength(1);
    expect(said[uses.findIndex((value) => value > 0)]).toBe(SHOWN);
    expect(column('its uses with the tools')[uses.findIndex((value) => value > 0)]).toBe(1);
    expect(column('store')).toEqual(Array(MOST_ROWS).fill(3));
  });

  it('says that those which were shown were wrong, if none was right', async () => {
    await put('ada', 5);
    await report(await decide('ada', ['item-0', 'item-1']), []);
    await report(await decide('ada', []), []);
    expect((await examplesOf('ada')).map(({ said }) => [...said])).toEqual([[SHOWN, SHOWN, 0, 0, 0]]);
    expect((await contexts.export('default', 'ada')).usage).toEqual([]);
  });

  it('is kept once of a decision, and of none whose report says nothing of items', async () => {
    await put('ada', 5);
    const decision = await decide('ada', ['item-0']);
    await Promise.all([report(decision, ['item-1'], 'r'), report(decision, ['item-1'], 'r')]);
    await report(decision, ['item-2']);
    await report(await decide('ada', ['item-0']));
    await report(await decide('ada', ['item-0']), ['gone']);
    expect((await examplesOf('ada')).map(({ said }) => [...said])).toEqual([[SHOWN, USED, 0, 0, 0]]);
    await contexts.close();
    start();
    await report(decision, ['item-1'], 'r');
    expect(await examplesOf('ada')).toHaveLength(1);
  });

  it('is not kept when something was used since, and leaves out what was put since', async () => {
    await put('ada', 5);
    const [early, late] = [await decide('ada', ['item-0']), await decide('ada', ['item-0'])];
    await report(late, ['item-1']);
    await report(early, ['item-2']);
    expect((await examplesOf('ada')).map(({ decision }) => decision)).toEqual([late.id]);
    const last = await decide('ada', ['item-0']);
    now += HOUR;
    await contexts.put('default', 'ada', [{ id: 'item-3', text: 'changed', store: 'notes' }]);
    await report(last, ['item-3', 'item-4']);
    expect([...(await examplesOf('ada'))[1].said]).toEqual([SHOWN, 0, 0, USED]);
  });

  it('goes with the user and with all items, and does not come back with a late report', async () => {
    await put('ada', 5);
    await report(await decide('ada', ['item-0']), ['item-1']);
    const late = await decide('ada', ['item-0']);
    await contexts.remove('default', 'ada');
    await put('ada', 5);
    await report(late, ['item-1']);
    expect(await examplesOf('ada')).toEqual([]);
    await report(await decide('ada', ['item-0']), ['item-1']);
    const other = await decide('ada', ['item-0']);
    expect(contentOf(path).toString('latin1')).toContain('.examples');
    expect(contentOf(path).toString('latin1')).not.toMatch(/secret|Xanadu|read_note|item-/);
    await contexts.erase('default', 'ada');
    expect(contentOf(path).toString('latin1')).not.toContain('.examples');
    await put('ada', 5);
    await report(other, ['item-1']);
    expect(await examplesOf('ada')).toEqual([]);
  });

  it('is one of twenty, with the precision of sixteen bits', async () => {
    await put('ada', 25);
    for (let time = 0; time < MOST_EXAMPLES + 2; time++) {
      await report(await decide('ada', ['item-0']), [`item-${time % 5}`]);
    }
    expect(await examplesOf('ada')).toHaveLength(MOST_EXAMPLES);
    const examples = new UserExamples();
    const features = Float32Array.from({ length: 2 * CONTEXT_FEATURES.length }, (_, at) =>
      at % 7 === 0 ? Number.NaN : (at - 20) / 3,
    );
    for (let time = 0; time < MOST_EXAMPLES; time++) {
      const said = new Uint8Array(MOST_ROWS);
      const rows = new Float32Array(MOST_ROWS * CONTEXT_FEATURES.length);
      rows.set(features);
      examples.add({ decision: randomUUID(), at: time, said, features: rows }, 'one');
    }
    const bytes = examples.pack();
    expect(bytes.length).toBeLessThan(27_000);
    const read = UserExamples.unpack(bytes).all[3].features;
    for (const [at, value] of features.entries()) {
      if (Number.isNaN(value)) expect(read[at]).toBeNaN();
      else expect(Math.abs(read[at] - value)).toBeLessThanOrEqual(Math.abs(value) / 256);
    }
    expect(UserExamples.unpack(bytes).fingerprint).toBe('one');
    // Nothing can be learned from both at once.
    const one = { decision: 'd', at: 1, said: new Uint8Array(2), features };
    examples.add(one, 'another');
    expect(examples.all).toEqual([one]);
  });
});
