import fc from 'fast-check';
import type { Decision } from '../../src/decisions/decision.ts';
import {
  digest,
  features,
  floats,
  terms,
  text,
  time,
  vector,
  withUsualId,
} from '../ledger/arbitrary-entry.ts';

const COLUMNS = {
  score: floats,
  mean: floats,
  base: floats,
  gain: floats,
  uncertainty: floats,
  bonus: floats,
  trials: floats,
  propensity: floats,
  similarity: floats,
  lexical: floats,
  dense: floats,
  retrieval: floats,
} satisfies Record<keyof Decision['columns'], unknown>;

/** With fractions, and far away: what no clock says, and a record gives back all the same. */
const oddTime = fc.oneof(
  fc.double({ min: -8.64e15, max: 8.64e15, noNaN: true }),
  fc.constantFrom(1.5, -8.64e15, 1763940000000.25, Number.MAX_SAFE_INTEGER),
);

const record = fc.record(
  {
    id: text,
    catalog: text,
    at: fc.oneof({ weight: 9, arbitrary: time }, { weight: 1, arbitrary: oddTime }),
    deadline: fc.oneof(time, oddTime),
    revision: text,
    position: fc.nat(),
    policy: fc.record({ name: text, version: text }, { noNullPrototype: true }),
    fingerprint: fc.option(fc.oneof(text, digest)),
    query: fc.record({ embedding: vector, terms }, { noNullPrototype: true }),
    text,
    exploration: fc.constantFrom('plackett-luce', 'ucb', 'greedy'),
    temperature: fc.double(),
    propensityMethod: fc.constantFrom('exact', 'deterministic'),
    k: fc.nat(),
    format: fc.constantFrom('mcp', 'names'),
    detail: fc.constantFrom('names', 'brief', 'full'),
    defaultReward: fc.constantFrom(-1, 0, 0.5),
    learn: fc.boolean(),
    fallback: fc.option(fc.constantFrom('low_confidence', 'kill_switch')),
    logProbability: fc.double(),
    activation: fc.constantFrom('now', 'later'),
    unit: text,
    // A key: hex digits, which is what the adapters count on.
    task: fc.stringMatching(/^[0-9a-f]{16}([0-9a-f]{16})?$/),
    thread: fc.stringMatching(/^[0-9a-f]{16}$/),
    context: fc.record(
      {
        user: fc.stringMatching(/^[0-9a-f]{32}$/),
        items: fc.array(
          fc.record(
            { number: fc.nat(), score: fc.integer({ min: 0, max: 100 }).map((value) => value / 100) },
            { noNullPrototype: true },
          ),
        ),
        tokens: fc.array(fc.nat()),
        features: fc
          .array(fc.integer({ min: 0, max: 100 }), { minLength: 16, maxLength: 16 })
          .map((values) => Float32Array.from(values, (value) => value / 100)),
        sealed: text,
      },
      { noNullPrototype: true },
    ),
    budget: fc.record(
      {
        tokenBudget: fc.option(fc.nat()),
        assembly: fc.constantFrom('append', 'prompt', 'parts'),
        counter: text,
        tokens: fc.array(fc.nat()),
        leftOut: fc.array(fc.nat()),
        room: fc.nat(),
        limit: fc.nat(),
        monolithic: fc.nat(),
      },
      { noNullPrototype: true },
    ),
    carried: fc.record(
      {
        from: fc.array(text),
        discoveries: fc.array(fc.nat()),
        tools: fc.nat(),
        instructions: fc.nat(),
        details: fc.array(fc.constantFrom('brief', 'full')),
        changed: fc.array(text),
        restarted: fc.constant(true),
      },
      { noNullPrototype: true },
    ),
    candidates: fc.array(text),
    slate: fc.array(fc.nat()),
    reasons: fc.array(fc.constantFrom('retrieved', 'pinned')),
    hashes: fc.array(fc.oneof(text, digest)),
    columns: fc.record(COLUMNS, { noNullPrototype: true }),
    extras: fc.array(text),
    features,
    activatedAt: fc.option(time),
  },
  {
    requiredKeys: [
      'id',
      'catalog',
      'at',
      'deadline',
      'revision',
      'position',
      'policy',
      'fingerprint',
      'query',
      'exploration',
      'temperature',
      'propensityMethod',
      'k',
      'format',
      'detail',
      'learn',
      'fallback',
      'logProbability',
      'activation',
      'candidates',
      'slate',
      'reasons',
      'hashes',
      'columns',
      'extras',
      'features',
      'activatedAt',
    ],
    noNullPrototype: true,
  },
) as fc.Arbitrary<Decision>;

/** Any decision; sizes do not fit together, which nobody who stores it may mind. */
export const decision = withUsualId(record);

/** A decision as routing makes them, with `candidates` candidates and six extra features. */
export function sampleDecision(id: string, at: number, candidates = 20): Decision {
  const column = (shift: number): Float32Array =>
    Float32Array.from({ length: candidates }, (_, i) => Math.sin(i + shift));
  return {
    id,
    catalog: 'default',
    at,
    deadline: at + 600_000,
    revision: 'r1',
    position: 1,
    policy: { name: 'sc-linucb-memory', version: 'sc-linucb-memory@2' },
    fingerprint: 'e1',
    query: {
      embedding: Float32Array.from({ length: 256 }, (_, i) => Math.cos(i)),
      terms: { terms: Uint32Array.of(1, 2, 3), weights: Float32Array.of(0.5, 0.5, 0.7) },
    },
    exploration: 'plackett-luce',
    temperature: 0.03,
    propensityMethod: 'exact',
    k: 5,
    format: 'mcp',
    detail: 'full',
    learn: true,
    fallback: null,
    logProbability: -3.25,
    activation: 'later',
    activatedAt: null,
    candidates: Array.from({ length: candidates }, (_, i) => `server.some_tool_${i}`),
    slate: [0, 1, 2, 3, 4],
    reasons: ['retrieved', 'retrieved', 'retrieved', 'explored', 'remembered'],
    hashes: ['h0', 'h1', 'h2', 'h3', 'h4'],
    columns: {
      score: column(0),
      mean: column(1),
      base: column(2),
      gain: column(3),
      uncertainty: column(4),
      bonus: column(5),
      trials: column(6),
      propensity: column(7),
      similarity: column(8),
      lexical: column(9),
      dense: column(10),
      retrieval: column(11),
    },
    extras: ['h', 'c', 'mx', 'vote', 'rho', 'rate', 'taught', 'mean'],
    features: { 'sc-linucb-memory@2': new Float32Array(candidates * 8).fill(0.25) },
  };
}
