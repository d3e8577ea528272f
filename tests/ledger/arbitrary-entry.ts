import fc from 'fast-check';
import { decisionIdFor } from '../../src/decisions/decision-id.ts';
import { DEFAULT_CATALOG_SETTINGS } from '../../src/ledger/catalog-settings.ts';
import { definitionHash } from '../../src/ledger/definition-hash.ts';
import type { Entry, ObservationEntry, ObservedDecision, OutcomeReport } from '../../src/ledger/entry.ts';
import { toFixedPoint } from '../../src/models/fixed-point.ts';
import { rewardIdFor } from '../../src/rewards/reward-report.ts';

/** Texts with everything that JSON and UTF-8 could trip over. */
export const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 20 }),
  fc.constantFrom('__proto__', 'constructor', '\ud800 alone', '\u2028', '"\\\n', 'ünï', ''),
);
export const time = fc.integer({ min: 0, max: 4e12 });

/** As many numbers as embeddings have, of which many are alike. */
const manyFloats = fc
  .tuple(fc.float32Array({ minLength: 1, maxLength: 80 }), fc.integer({ min: 257, max: 3072 }))
  .map(([some, length]) => Float32Array.from({ length }, (_, i) => some[(i * i) % some.length]));
export const floats = fc.oneof(
  { weight: 60, arbitrary: fc.float32Array({ maxLength: 12 }) },
  { weight: 1, arbitrary: manyFloats },
);
export const vector = fc.option(
  fc.oneof(
    { weight: 9, arbitrary: fc.float32Array({ minLength: 4, maxLength: 4 }) },
    { weight: 1, arbitrary: fc.oneof(manyFloats, manyFloats.map(toFixedPoint)) },
  ),
);

/** Texts as the service makes them, and others that are nearly such ones. */
const nearly = (usual: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.oneof(
    usual,
    usual.map((id) => `${id}0`),
    usual.map((id) => `0${id}`),
    usual.map((id) => id.slice(0, -1)),
    usual.map((id) => id.toUpperCase()),
  );

export const digest = nearly(text.map((name) => definitionHash({ name, description: '', inputSchema: {} })));

/** Gives some records ids as the service makes them of what they say, or nearly such ones: with one digit more or less, of another time. */
export function withUsualId<
  T extends { readonly id: string; readonly at: number; readonly catalog?: string },
>(records: fc.Arbitrary<T>): fc.Arbitrary<T> {
  return records.chain((record) => {
    const catalog = fc.constantFrom('default', 'with.dot', record.catalog ?? '');
    const at = fc.constantFrom(record.at, record.at, record.at + 1);
    const made = nearly(fc.tuple(catalog, at).map((parts) => decisionIdFor(...parts)));
    return fc.oneof(fc.constant(record.id), made).map((id) => ({ ...record, id }));
  });
}

/** The same for rewards of a decision, and for the key of their entry. */
function withUsualRewards(entries: fc.Arbitrary<ObservationEntry>): fc.Arbitrary<ObservationEntry> {
  return fc.tuple(entries, text, fc.boolean()).chain(([entry, key, hasUsualKey]) => {
    const { decision, reports } = entry;
    const rewardId = fc.oneof(text, nearly(fc.constant(rewardIdFor(decision.id, key))));
    const ids = fc.array(rewardId, { minLength: reports.length, maxLength: reports.length });
    return ids.map((some) => ({
      ...entry,
      key: hasUsualKey ? `observation/${some[0]}` : entry.key,
      reports: reports.map((report, i) => ({ ...report, rewardId: some[i] })),
    }));
  });
}

/** By policy version; also versions that are names of object properties. */
export const features = fc
  .uniqueArray(fc.tuple(text, floats), { maxLength: 3, selector: ([version]) => version })
  .map((entries) => Object.fromEntries(entries));

export const terms = fc
  .uint32Array({ maxLength: 6 })
  .chain((hashes) =>
    fc
      .float32Array({ minLength: hashes.length, maxLength: hashes.length })
      .map((weights) => ({ terms: hashes, weights })),
  );

/** An object with the keys of `optional` only where they have a value. */
function withOptional<T, K extends keyof T>(model: { [P in keyof T]: fc.Arbitrary<T[P]> }, ...optional: K[]) {
  const required = (Object.keys(model) as (keyof T)[]).filter((key) => !optional.includes(key as K));
  return fc.record(model, { requiredKeys: required as never, noNullPrototype: true });
}

const json = fc.dictionary(text, fc.jsonValue(), { noNullPrototype: true, maxKeys: 3 });

const tool = withOptional(
  { name: text, description: text, inputSchema: json, server: text, tags: fc.array(text), metadata: json },
  'server',
  'tags',
  'metadata',
);

const instruction = withOptional(
  {
    id: text,
    text,
    kind: fc.constantFrom('policy' as const, 'safety' as const),
    priority: fc.nat(100),
    includes: fc.array(text),
    status: fc.constantFrom('draft' as const, 'approved' as const),
  },
  'includes',
  'status',
);

const context = fc.record(
  {
    items: fc.array(fc.record({ number: fc.maxSafeNat() }, { noNullPrototype: true }), { maxLength: 3 }),
    features: fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 16 }),
  },
  { noNullPrototype: true },
);

const observed = withOptional<ObservedDecision, 'context'>(
  {
    id: text,
    at: time,
    deadline: time,
    fingerprint: fc.option(fc.oneof(text, digest)),
    embedding: vector,
    terms,
    tools: fc.array(text),
    shown: fc.nat(),
    columns: fc.record(
      { similarity: floats, lexical: floats, dense: floats, retrieval: floats },
      { noNullPrototype: true },
    ),
    features,
    unit: fc.nat(),
    learn: fc.boolean(),
    context,
  },
  'context',
);

export const observedDecision: fc.Arbitrary<ObservedDecision> = withUsualId(observed);

const report = withOptional(
  {
    rewardId: text,
    tool: fc.option(text),
    outcome: fc.constantFrom('success' as const, 'failure' as const, 'timeout' as const),
    value: fc.double(),
    weight: fc.double(),
    at: time,
    occurredAt: time,
    latencyMs: fc.double(),
    cost: fc.double(),
  },
  'occurredAt',
  'latencyMs',
  'cost',
) as fc.Arbitrary<OutcomeReport>;

const base = { key: text, at: time };

export const entry = fc.oneof(
  withOptional(
    {
      ...base,
      actor: text,
      kind: fc.constant('settings'),
      patch: fc.constant(DEFAULT_CATALOG_SETTINGS),
      domains: fc.record(
        { fingerprint: fc.option(text), terms: fc.array(fc.array(fc.array(fc.nat()))), weights: floats },
        { noNullPrototype: true },
      ),
    },
    'actor',
    'domains',
  ),
  withOptional(
    {
      ...base,
      kind: fc.constant('tools'),
      source: text,
      put: fc.array(
        withOptional(
          { tool, hash: text, embedding: vector, nameThere: text, held: fc.constant(true) },
          'nameThere',
          'held',
        ),
        { maxLength: 4 },
      ),
      remove: fc.array(text),
      sync: fc.dictionary(text, text, { noNullPrototype: true }),
      ifMatch: text,
      of: fc.nat(),
      synced: fc.constant({ startedAt: 7, ttlMs: 1, leftOut: [{ name: 'n', why: 'w' }], leftOutCount: 1 }),
      fingerprint: fc.option(text),
    },
    'sync',
    'ifMatch',
    'of',
    'synced',
  ),
  withOptional(
    {
      ...base,
      kind: fc.constant('instructions'),
      put: fc.array(fc.record({ instruction, hash: text, embedding: vector }, { noNullPrototype: true }), {
        maxLength: 4,
      }),
      remove: fc.array(text),
      sync: fc.array(text),
      ifMatch: text,
      preparedFor: text,
      content: text,
      fingerprint: fc.option(text),
    },
    'sync',
    'ifMatch',
    'preparedFor',
    'content',
  ),
  withOptional(
    {
      ...base,
      kind: fc.constant('embedder'),
      model: text,
      fingerprint: fc.option(text),
      dimensions: fc.nat(),
      first: fc.constant(true),
      version: text,
      instructions: fc.array(
        fc.record({ id: text, hash: text, embedding: fc.float32Array() }, { noNullPrototype: true }),
      ),
      merges: fc.array(fc.record({ id: text, hash: text, embedding: floats }, { noNullPrototype: true })),
      vectors: fc.array(fc.record({ name: text, hash: text, embedding: floats }, { noNullPrototype: true })),
      domains: fc.record({ of: text, weights: floats }, { noNullPrototype: true }),
    },
    'domains',
    'merges',
    'first',
    'version',
  ),
  withUsualRewards(
    withOptional({
      ...base,
      kind: fc.constant('observation'),
      decision: observedDecision,
      reports: fc.array(report, { maxLength: 4 }),
      closes: fc.boolean(),
    }),
  ),
  withOptional({
    ...base,
    kind: fc.constant('settlement'),
    decision: observedDecision,
    defaultReward: fc.option(fc.constantFrom(0, 0.1, -1)),
  }),
  withOptional({
    ...base,
    kind: fc.constant('discovery'),
    decision: observedDecision,
    added: fc.nat(50),
  }),
  withOptional(
    {
      ...base,
      actor: text,
      kind: fc.constant('experiment'),
      name: text,
      change: fc.oneof(
        fc.record({ action: fc.constantFrom('start', 'stop') }, { noNullPrototype: true }),
        fc.record({ action: fc.constant('promote'), variant: fc.option(text) }, { noNullPrototype: true }),
      ),
    },
    'actor',
  ),
  withOptional({
    ...base,
    kind: fc.constant('unlearned'),
    rewards: fc.array(
      fc.record(
        {
          rewardId: text,
          tool: fc.option(text),
          outcome: fc.constant('success'),
          value: fc.constantFrom(1, -0.5),
          weight: fc.constant(1),
          at: time,
        },
        { noNullPrototype: true },
      ),
      { maxLength: 3 },
    ),
    refused: fc.constantFrom({}, { 'decision-not-found': 3, 'reward-late': 1 }),
  }),
  withOptional({
    ...base,
    kind: fc.constant('exposures'),
    exposures: fc.array(
      fc.record(
        {
          decisionId: text,
          experiment: text,
          variant: text,
          allocation: fc.nat(),
          unit: text,
          covariate: fc.constantFrom(0, 0.25),
          tokens: fc.nat(),
        },
        { noNullPrototype: true },
      ),
      { maxLength: 3 },
    ),
    shadows: fc.constant([]),
    decided: fc.array(fc.tuple(text, text, fc.nat()), { maxLength: 3 }),
    withoutUnit: fc.dictionary(text, fc.nat(), { noNullPrototype: true }),
    ownDetail: fc.dictionary(text, fc.nat(), { noNullPrototype: true }),
  }),
  withOptional({ ...base, kind: fc.constant('version'), version: text }),
  withOptional({
    ...base,
    kind: fc.constant('source'),
    name: text,
    change: fc.constant({ action: 'remove', keepTools: true }),
  }),
  withOptional({
    ...base,
    kind: fc.constant('merges'),
    change: fc.oneof(
      fc.record(
        {
          action: fc.constant('approve'),
          id: text,
          digest: text,
          hash: text,
          embedding: vector,
          fingerprint: fc.option(text),
        },
        { noNullPrototype: true },
      ),
      fc.record({ action: fc.constantFrom('reject', 'undo'), id: text }, { noNullPrototype: true }),
    ),
  }),
  withOptional({ ...base, kind: fc.constant('forget'), tool: text, unit: fc.nat() }, 'tool', 'unit'),
) as fc.Arbitrary<Entry>;
