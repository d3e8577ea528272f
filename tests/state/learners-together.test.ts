import { describe, expect, it } from 'vitest';
import { EMPTY_RECALL } from '../../bandit/policies/without-memory.ts';
import { randomFor } from '../../bandit/random.ts';
import { observedDecision } from '../../src/decisions/observed-decision.ts';
import { DEFAULT_CATALOG_SETTINGS } from '../../src/ledger/catalog-settings.ts';
import { definitionHash } from '../../src/ledger/definition-hash.ts';
import type { Entry } from '../../src/ledger/entry.ts';
import { decodeEntry, encodeEntry } from '../../src/ledger/entry-codec.ts';
import { API_SOURCE } from '../../src/ledger/tool-definition.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import { InstructionIndex, ToolIndex } from '../../src/retrieval/tool-index.ts';
import { decide } from '../../src/routing/decide.ts';
import { CatalogState } from '../../src/state/catalog-state.ts';
import { fold } from '../../src/state/fold.ts';
import { decodeSnapshot, encodeSnapshot } from '../../src/state/snapshot-codec.ts';
import { wasmKernels } from '../bandit/kernels/both-kernels.ts';

const D = 48;
const TOOLS = 25;
const STEPS = 240;
const START = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;

const VERSION_1: Record<string, number> = { taughtRate: 0, projection: 0 };
const SMALLER: Record<string, number> = { projection: 8 };

/** A history in which several versions of the policy learn at once, from everything that can happen to a reward. */
function history(): { entries: Entry[]; records: Buffer[]; state: CatalogState } {
  const kernels = wasmKernels();
  const state = new CatalogState('default', { kernels, derived: true });
  const index = new ToolIndex(kernels);
  const instructionIndex = new InstructionIndex(kernels);
  const random = randomFor('learners together');
  let draws = 0;
  const uniform = (): number => random.uniform(draws++);
  const below = (limit: number): number => Math.floor(uniform() * limit);
  const unit = (): Float32Array => {
    const vector = Float32Array.from({ length: D }, () => uniform() - 0.5);
    const norm = Math.hypot(...vector);
    return vector.map((value) => value / norm);
  };
  const entries: Entry[] = [];
  /** The entries as they were before they were folded. */
  const records: Buffer[] = [];
  let minutes = 0;
  const tell = (entry: object): void => {
    const whole = { key: `entry/${entries.length}`, at: START + minutes * MINUTE, ...entry } as Entry;
    entries.push(whole);
    records.push(encodeEntry(whole));
    fold(state, { position: entries.length, entry: whole });
  };
  const put = (slot: number, words: string): void => {
    const tool = { name: `tool_${slot}`, description: `does ${words}`, inputSchema: { type: 'object' } };
    tell({
      kind: 'tools',
      source: API_SOURCE,
      put: [{ tool, hash: definitionHash(tool), embedding: unit() }],
      remove: [],
      fingerprint: state.fingerprint,
    });
  };
  const activate = (parameters: Record<string, number>): void =>
    tell({
      kind: 'settings',
      patch: {
        policy: { ...DEFAULT_CATALOG_SETTINGS.policy, parameters },
        rewards: { windowSeconds: 1800, aggregation: 'last', onLate: 'learn' },
      },
    });

  tell({ kind: 'embedder', model: 'test', fingerprint: 'test', dimensions: D, vectors: [] });
  state.tools.follow(index);
  for (let slot = 0; slot < TOOLS; slot++) put(slot, `thing${slot} word${slot % 5}`);
  for (const parameters of [VERSION_1, SMALLER, {}]) activate(parameters);
  const texts = Array.from({ length: 30 }, () => `word${below(5)} thing${below(TOOLS)} other${below(40)}`);
  const queries = texts.map((text) => ({ text, tokens: tokenise(text), embedding: unit() }));
  const open: { decision: ReturnType<typeof decide>; tool: string; step: number }[] = [];
  const reward = (decision: ReturnType<typeof decide>, tool: string, id: string, closes: boolean): void => {
    const value = below(3) / 2;
    const report = {
      ...{ rewardId: id, tool, outcome: value > 0 ? 'success' : 'failure', value },
      ...{ weight: [0.1, 1, 10][below(3)], at: START + minutes * MINUTE },
    };
    tell({ kind: 'observation', decision: observedDecision(decision, [tool]), reports: [report], closes });
  };
  for (let step = 0; step < STEPS; step++) {
    minutes++;
    if (step % 37 === 36) put(below(TOOLS), `new meaning${step}`);
    if (step % 53 === 52) {
      tell({
        kind: 'tools',
        source: API_SOURCE,
        put: [],
        remove: [`tool_${below(TOOLS)}`],
        fingerprint: state.fingerprint,
      });
    }
    if (step === 120) activate(VERSION_1);
    if (step === 160) activate({});
    const query = queries[below(queries.length)];
    const features = {
      embedding: step % 11 === 10 ? null : query.embedding,
      terms: index.queryTerms(query),
    };
    const decision = decide(
      {
        ...{ id: `d${step}`, at: START + minutes * MINUTE, text: query.text },
        request: {
          ...{ catalog: 'default', k: 5, format: 'names', activate: 'now', explore: true, learn: true },
          unitId: `unit${step % 7}`,
        },
        query: {
          ...{ features, tokens: query.tokens, parts: [], split: null, rerank: null, embedderDown: false },
          fingerprint: state.fingerprint,
        },
      } as Parameters<typeof decide>[0],
      { name: 'default', state, index, instructionIndex },
      null,
    );
    const tool = decision.candidates[decision.slate[below(decision.slate.length)]];
    reward(decision, tool, `r${step}`, step % 3 !== 0);
    open.push({ decision, tool, step });
    // Corrected, repeated, late within the time that `onLate: learn` gives, and about a tool that was not shown.
    const earlier = open[below(open.length)];
    if (step % 4 === 1) reward(earlier.decision, earlier.tool, `c${step}`, false);
    if (step % 6 === 2) reward(earlier.decision, earlier.tool, `r${earlier.step}`, true);
    if (step % 9 === 4)
      reward(earlier.decision, earlier.decision.candidates.at(-1) as string, `o${step}`, true);
  }
  return { entries, records, state };
}

/** θᵀx of a few candidates under every version. */
function means(state: CatalogState): number[] {
  const slots = Int32Array.from(state.slots()).slice(0, 10);
  const column = Float64Array.from(slots, (_, i) => i / 10);
  const candidates = { slots, lexical: column, dense: column, base: column, similarity: column };
  const query = {
    embedding: state.tools.vectors.get(slots[0]).slice(),
    terms: { terms: Uint32Array.of(1, 9), weights: Float32Array.of(0.6, 0.8) },
  };
  return state.learners.current().flatMap(({ policy }) => {
    const recall = { ...EMPTY_RECALL, ...policy.recall(query) };
    return [...policy.rank({ query, candidates, recall, random: randomFor('-') }).mean];
  });
}

describe('several versions of a policy that learn from the same decisions', () => {
  const { entries, records, state } = history();
  const written = encodeSnapshot(state);

  it('all learn, with and without taught vectors, from decisions that they did not rank as well', () => {
    const versions = state.learners.current().map(({ version, policy, settings }) => ({
      ...{ version, parameters: settings.parameters, updates: policy.sizeInBytes().updates },
      taught: policy.save().arrays['taught.slots'].length,
    }));
    expect(versions.length).toBe(3);
    for (const { parameters, updates, taught } of versions) {
      expect(updates).toBeGreaterThan(STEPS);
      expect(taught > 0).toBe(parameters.taughtRate !== 0);
    }
  });

  it('hold nothing that is not a finite number', () => {
    for (const { policy } of state.learners.current()) {
      for (const array of Object.values(policy.save().arrays))
        expect(array.every(Number.isFinite)).toBe(true);
    }
    expect(means(state).every(Number.isFinite)).toBe(true);
  });

  it.each([true, false])(
    'come to the same bits when everything is folded again (derived values: %s)',
    (derived) => {
      const again = new CatalogState('default', { kernels: wasmKernels(), derived });
      for (const [i, entry] of entries.entries()) fold(again, { position: i + 1, entry });
      expect(Buffer.compare(encodeSnapshot(again), written)).toBe(0);
      if (!derived) return;
      for (const [i, mean] of means(again).entries()) expect(mean).toBe(means(state)[i]);
    },
  );

  it('come to the same bits from entries that were written and read, and leave those that they fold as they were', () => {
    const again = new CatalogState('default', { kernels: wasmKernels(), derived: true });
    for (const [i, record] of records.entries()) fold(again, { position: i + 1, entry: decodeEntry(record) });
    expect(Buffer.compare(encodeSnapshot(again), written)).toBe(0);
    for (const [i, entry] of entries.entries()) expect(encodeEntry(entry).equals(records[i])).toBe(true);
  });

  it.each([0.1, 0.35, 0.6, 0.9])(
    'come to the same bits from a snapshot taken after %s of it, and to the same scores',
    (share) => {
      const cut = Math.floor(share * entries.length);
      const before = new CatalogState('default', { kernels: wasmKernels(), derived: share > 0.5 });
      for (const [i, entry] of entries.slice(0, cut).entries()) fold(before, { position: i + 1, entry });
      const resumed = decodeSnapshot(encodeSnapshot(before), 'default', {
        kernels: wasmKernels(),
        derived: true,
      });
      for (const [i, entry] of entries.slice(cut).entries()) fold(resumed, { position: cut + i + 1, entry });
      expect(Buffer.compare(encodeSnapshot(resumed), written)).toBe(0);
      const expected = means(state);
      for (const [i, mean] of means(resumed).entries())
        expect(Math.abs(mean - expected[i])).toBeLessThan(1e-9);
    },
  );
});
