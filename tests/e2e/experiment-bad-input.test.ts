import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { RunningService, temporaryFolder, until } from './running-service.ts';
import { Shop } from './shop.ts';

const folder = temporaryFolder();
let service: RunningService;
let shop: Shop;
beforeAll(async () => {
  service = await RunningService.start(folder.path);
  shop = await Shop.open(service, 'lab');
  for (const name of ['runs', 'waits', 'ended']) {
    await service.ask('POST', EXPERIMENTS, { name, unit: 'unitId', variants: HALVES, layer: name });
  }
  await service.ask('POST', `${EXPERIMENTS}/ended/start`);
  await service.ask('POST', `${EXPERIMENTS}/ended/stop`);
  await service.ask('POST', `${EXPERIMENTS}/runs/start`);
  await service.ask('POST', EXPERIMENTS, {
    name: 'same-layer',
    unit: 'unitId',
    variants: HALVES,
    layer: 'runs',
  });
  // Slates of one variant alone are shown, as if the other one lost its units.
  for (let unit = 0, shown = 0; shown < 30; unit++) {
    const { decisionId, policy } = await shop.route(QUERY, { unitId: `u${unit}`, activate: 'later' });
    if (policy.variant === 'b') continue;
    await service.ask('POST', `/v1/decisions/${decisionId}/activate`);
    shown++;
  }
});
afterAll(async () => {
  expect(await service.stop('SIGTERM')).toBe(0);
  expect(service.output).not.toMatch(/"level":[56]0/);
  folder.remove();
});

const QUERY = 'give the customer their money back';
const EXPERIMENTS = '/v1/catalogs/lab/experiments';
const EVALUATIONS = '/v1/catalogs/lab/evaluations';
const HALVES = [
  { name: 'a', share: 50 },
  { name: 'b', share: 50, policy: 'uniform' },
];
const shares = (...given: number[]) => HALVES.map((variant, i) => ({ ...variant, share: given[i] }));
const draft = (more: object) => ({ name: 'new', unit: 'unitId', variants: HALVES, ...more });

/** What is asked, and what is answered: status, code, and words of the reason. */
const REFUSED: readonly (readonly [
  name: string,
  path: string,
  body: object | undefined,
  status: number,
  code: string,
  reason: RegExp,
])[] = [
  [
    'shares above 100',
    EXPERIMENTS,
    draft({ variants: shares(60, 60) }),
    422,
    'validation-failed',
    /up to 120/,
  ],
  [
    'shares below 100',
    EXPERIMENTS,
    draft({ variants: shares(50, 49) }),
    422,
    'validation-failed',
    /up to 99/,
  ],
  [
    'a negative share',
    EXPERIMENTS,
    draft({ variants: shares(100, -10) }),
    422,
    'validation-failed',
    /not be less than 0/,
  ],
  [
    'a variant with an unknown policy',
    EXPERIMENTS,
    draft({ variants: [HALVES[0], { name: 'b', share: 50, policy: 'nothing' }] }),
    422,
    'unknown-policy',
    /There is no policy “nothing”/,
  ],
  [
    'a parameter out of range, with what it is and may be',
    EXPERIMENTS,
    draft({
      variants: [HALVES[0], { ...HALVES[1], policy: { name: 'sc-linucb', parameters: { alpha: 11 } } }],
    }),
    422,
    'validation-failed',
    /“alpha” of policy “sc-linucb” is a number from 0 to 10, not 11/,
  ],
  [
    'two variants that are the same once defaults are filled in',
    EXPERIMENTS,
    draft({
      variants: [
        { ...HALVES[0], policy: { name: 'sc-linucb-memory', parameters: { taughtRate: 0 } } },
        { ...HALVES[1], policy: { name: 'sc-linucb-memory', parameters: { projection: 32, taughtRate: 0 } } },
      ],
    }),
    422,
    'validation-failed',
    /same policy once defaults/,
  ],
  [
    'two candidates that are the same once defaults are filled in',
    EVALUATIONS,
    {
      candidates: [
        { policy: 'sc-linucb-memory' },
        { name: 'b', policy: { name: 'sc-linucb-memory', parameters: { projection: 32 } } },
      ],
    },
    422,
    'validation-failed',
    /same policy once defaults/,
  ],
  [
    'an unknown parameter',
    EXPERIMENTS,
    draft({
      variants: [HALVES[0], { ...HALVES[1], policy: { name: 'sc-linucb', parameters: { alhpa: 1 } } }],
    }),
    422,
    'validation-failed',
    /no parameter “alhpa”/,
  ],
  ['a name twice', EXPERIMENTS, draft({ name: 'runs' }), 409, 'experiment-exists', /already/],
  ['a layer that is full', `${EXPERIMENTS}/same-layer/start`, undefined, 409, 'experiment-overlap', /0 % of/],
  [
    'the traffic of another',
    `${EXPERIMENTS}/waits/start`,
    undefined,
    409,
    'experiment-overlap',
    /"runs" runs/,
  ],
  ['starting twice', `${EXPERIMENTS}/runs/start`, undefined, 409, 'experiment-conflict', /started once/],
  ['stopping a draft', `${EXPERIMENTS}/waits/stop`, undefined, 409, 'experiment-conflict', /is draft/],
  ['stopping twice', `${EXPERIMENTS}/ended/stop`, undefined, 409, 'experiment-conflict', /is stopped/],
  ['stopping what is not there', `${EXPERIMENTS}/none/stop`, undefined, 404, 'experiment-not-found', /none/],
  [
    'promoting under a sample-ratio mismatch',
    `${EXPERIMENTS}/runs/promote`,
    { variant: 'a' },
    409,
    'sample-ratio-mismatch',
    /not split as the shares say/,
  ],
  ['promoting no variant', `${EXPERIMENTS}/ended/promote`, undefined, 409, 'no-winner', /no winner/],
  [
    'promoting an unknown variant',
    `${EXPERIMENTS}/ended/promote`,
    { variant: 'z' },
    422,
    'validation-failed',
    /no variant "z"/,
  ],
  [
    'new shares that do not add up',
    `${EXPERIMENTS}/runs/shares`,
    { shares: { a: 50, b: 40 } },
    422,
    'validation-failed',
    /up to 90/,
  ],
  [
    'new shares of an unknown variant',
    `${EXPERIMENTS}/runs/shares`,
    { shares: { a: 50, z: 50 } },
    422,
    'validation-failed',
    /no variant "z"/,
  ],
  [
    'new shares of what has ended',
    `${EXPERIMENTS}/ended/shares`,
    { shares: { a: 90, b: 10 } },
    409,
    'experiment-conflict',
    /is stopped/,
  ],
  ['an evaluation of nothing', EVALUATIONS, {}, 422, 'validation-failed', /0 candidates/],
  [
    'an evaluation of an unknown policy',
    EVALUATIONS,
    { candidates: [{ policy: 'nothing' }] },
    422,
    'unknown-policy',
    /There is no policy/,
  ],
  [
    'a share for learning above 1',
    EVALUATIONS,
    { candidates: [{ policy: 'cosine' }], learnShare: 2 },
    422,
    'validation-failed',
    /learnShare/,
  ],
];

describe('an experiment that cannot be', () => {
  it.each(REFUSED)('is refused with the reason: %s', async (_name, path, body, status, code, reason) => {
    const answer = await service.request('POST', path, body);
    expect(answer).toMatchObject({ status, body: { code } });
    expect(answer.body.detail).toMatch(reason);
    expect(answer.body.suggestedFix).toBeTruthy();
  });

  it('has changed nothing by being asked for', async () => {
    const { experiments } = await service.ask<{ experiments: { name: string; status: string }[] }>(
      'GET',
      EXPERIMENTS,
    );
    expect(experiments.map(({ name, status }) => [name, status])).toEqual([
      ['runs', 'running'],
      ['waits', 'draft'],
      ['ended', 'stopped'],
      ['same-layer', 'draft'],
    ]);
  });

  it('says how many units new shares move while it runs: the fewest that will do', async () => {
    const change = (a: number) =>
      service.ask<{ movedPercent: number }>('POST', `${EXPERIMENTS}/runs/shares`, {
        shares: { a, b: 100 - a },
      });
    expect((await change(90)).movedPercent).toBe(40);
    expect((await change(90)).movedPercent).toBe(0);
    expect((await change(50)).movedPercent).toBe(40);
  });
});

describe('a log that has no answer', () => {
  interface View {
    readonly id: string;
    readonly status: string;
    readonly reason: string;
    readonly skipped: Readonly<Record<string, number>>;
  }
  const CASES: readonly (readonly [
    name: string,
    catalog: string,
    skipped: string,
    log: (logged: Shop) => Promise<unknown>,
    reason: RegExp,
  ])[] = [
    [
      'without propensities',
      'undrawn',
      'unexplored',
      (logged) => visits(logged, { explore: false }),
      /no propensities/,
    ],
    [
      'of another embedder',
      'embedded-otherwise',
      'otherEmbedder',
      async (logged) => {
        await visits(logged, {});
        await logged.configure({ embedder: 'none' });
      },
      /another embedding model/,
    ],
  ];

  it.each(CASES)('is refused with the reason: %s', async (_name, catalog, skipped, log, reason) => {
    const logged = await Shop.open(service, catalog);
    await log(logged);
    const path = `/v1/catalogs/${catalog}/evaluations`;
    const { id } = await service.ask<View>('POST', path, { candidates: [{ policy: 'cosine' }] });
    const get = () => service.ask<View>('GET', `${path}/${id}`);
    await until(async () => !['queued', 'running'].includes((await get()).status));
    const view = await get();
    expect(view).toMatchObject({ status: 'refused', reason: expect.stringMatching(reason) });
    expect(view.skipped[skipped]).toBe(10);
    const applied = await service.request('POST', `/v1/catalogs/${catalog}/experiments`, {
      ...draft({
        variants: [
          { name: 'a', share: 50 },
          { name: 'b', share: 50 },
        ],
      }),
      applyFromEvaluation: id,
    });
    expect(applied).toMatchObject({ status: 409, body: { code: 'evaluation-conflict' } });
  });

  async function visits(logged: Shop, more: object): Promise<void> {
    for (let i = 0; i < 10; i++) {
      const { decisionId, tools } = await logged.route(QUERY, { k: 1, ...more });
      await logged.report(decisionId, { tool: tools[0].name, outcome: 'success' });
    }
    await logged.settled();
  }
});
