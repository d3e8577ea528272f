import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { SLATE_FORMATS } from '../../src/decisions/decision.ts';
import type { RouteAnswer } from '../../src/routing/route-answer.ts';
import { startDeployment } from '../redis/deployment.ts';
import { redisProgram } from '../redis/redis-server.ts';
import { RunningService, temporaryFolder } from './running-service.ts';
import { Shop } from './shop.ts';

const SAFETY = {
  id: 's',
  text: 'Never promise a refund.',
  kind: 'safety',
  priority: 100,
  status: 'approved',
};
const STEPS = [
  'give the customer their money back',
  'say where the parcel is',
  'create an invoice for the order',
];
const ASK = { k: 1, tokenBudget: 2000, instructions: true, sessionId: 'chat', explore: false };
const names = ({ tools }: RouteAnswer) => tools.map(({ name }) => name);

async function shopOf(service: RunningService): Promise<Shop> {
  const shop = await Shop.open(service, 'budgets');
  await service.ask('PATCH', '/v1/catalogs/budgets/instructions', { put: [SAFETY] });
  return shop;
}

describe('a token budget, in a data folder', () => {
  const folder = temporaryFolder();
  let service: RunningService;
  let shop: Shop;
  beforeAll(async () => {
    service = await RunningService.start(folder.path);
    shop = await shopOf(service);
  });
  afterAll(async () => {
    await service.stop();
    folder.remove();
  });

  it('is held in every format, by tools, overlay and all', async () => {
    for (const format of SLATE_FORMATS) {
      const more = { format, k: 3, tokenBudget: 200, sessionId: undefined };
      const answer = await shop.route(STEPS[0], { ...ASK, ...more });
      expect(answer.tools.length).toBeGreaterThan(0);
      expect(answer.instructions?.map(({ id }) => id)).toEqual(['s']);
      const sum = answer.tools.reduce((total, { tokens }) => total + tokens!, 0);
      expect(answer.tokens).toMatchObject({ slate: sum, total: sum + answer.instructions![0].tokens });
      expect(answer.tokens?.total).toBeLessThanOrEqual(200);
      const { budget, instructions } = await shop.explain(answer.decisionId);
      const { tokens, leftOut, costTokens } = answer;
      expect(budget).toMatchObject({ tokenBudget: 200, assembly: 'parts', tokens, leftOut, costTokens });
      expect(instructions).toMatchObject([{ id: 's', isSafety: true, served: true, propensity: 1 }]);
    }
  });

  it.each([
    [{ tokenBudget: 0 }, 'validation-failed'],
    [{ tokenBudget: -5 }, 'validation-failed'],
    [{ tokenBudget: 1.5 }, 'validation-failed'],
    [{ tokenBudget: 10_000_001 }, 'validation-failed'],
    [{ tokenBudget: 1 }, 'budget-too-small'],
    [{ tokenBudget: 30, pin: ['restock_item'] }, 'budget-too-small'],
    [{ tokenBudget: undefined, instructions: undefined, assembly: 'parts' }, 'validation-failed'],
    [{ instructions: undefined, maxInstructions: 3 }, 'validation-failed'],
    [{ sessionId: undefined, assembly: 'append' }, 'validation-failed'],
    [{ assembly: 'essay' }, 'validation-failed'],
  ])('that is %j is refused with what to do', async (more, code) => {
    const refused = await shop
      .route(STEPS[0], { ...ASK, sessionId: 'refused', ...more })
      .catch((error) => error);
    expect(String(refused)).toContain(code);
  });

  it('of ten million is no limit; one below every tool names what it leaves out', async () => {
    const rich = await shop.route(STEPS[0], { ...ASK, sessionId: 'rich', tokenBudget: 10_000_000 });
    expect(names(rich)).toEqual(['refund_payment']);
    const poor = await shop.route(STEPS[0], { ...ASK, sessionId: 'poor', tokenBudget: 20 });
    expect(names(poor)).toEqual([]);
    expect(poor.leftOut?.tools).toMatchObject([{ name: 'refund_payment' }]);
  });

  it('makes the slate suffice less often, the less of it there is room for', async () => {
    const of = async (tokenBudget: number) => {
      const more = { k: 3, tokenBudget, sessionId: undefined, instructions: undefined, explore: false };
      const { tools, sufficiency, sufficient } = await shop.route(STEPS[0], { ...ASK, ...more });
      return { tools: tools.length, sufficiency: sufficiency!, sufficient };
    };
    const [all, one, none] = [await of(5000), await of(80), await of(5)];
    expect([all.tools, none.tools]).toEqual([3, 0]);
    expect(one.tools).toBeLessThan(3);
    expect(one.sufficiency).toBeLessThan(all.sufficiency);
    expect(none.sufficiency).toBeLessThan(one.sufficiency);
    expect(none.sufficient).toBe(false);
  });

  it('lets a session go on after the service was killed', async () => {
    const first = await shop.route(STEPS[0], ASK);
    await shop.route(STEPS[1], ASK);
    await service.kill();
    service = await RunningService.start(folder.path);
    shop = new Shop(service, 'budgets');
    const third = await shop.route(STEPS[2], ASK);
    expect(names(third)).toEqual(['refund_payment', 'track_parcel', 'create_invoice']);
    expect(third.tools[0].definition).toEqual(first.tools[0].definition);
    expect(third.tools.map(({ reason }) => reason)).toEqual(['carried', 'carried', 'retrieved']);
  });
});

describe.skipIf(redisProgram.path === null)('a token budget, over Redis', () => {
  const disposals: (() => unknown)[] = [];
  afterEach(async () => {
    for (const dispose of disposals.splice(0).reverse()) await dispose();
  });

  it('goes on with a session through any router', async () => {
    const { deployment } = await startDeployment(disposals);
    const one = await shopOf(await deployment.startRouter());
    const two = new Shop(await deployment.startRouter(), 'budgets');
    const answers = [await one.route(STEPS[0], ASK), await two.route(STEPS[1], ASK)];
    await Promise.all([one.route(STEPS[2], ASK), two.route('close the ticket', ASK)]);
    const last = await one.route('order new stock of an item', ASK);
    expect(answers.map(names)).toEqual([['refund_payment'], ['refund_payment', 'track_parcel']]);
    expect(names(last).slice(0, 2)).toEqual(['refund_payment', 'track_parcel']);
    expect(new Set(names(last).slice(2, 4))).toEqual(new Set(['create_invoice', 'close_ticket']));
    expect(names(last).slice(4)).toEqual(['restock_item']);
  });
});
