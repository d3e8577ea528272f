import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Reaction, ScriptedModel } from '../examples/scripted-model.ts';
import { RunningService, temporaryFolder } from './running-service.ts';
import { Shop } from './shop.ts';

const folder = temporaryFolder();
let model: ScriptedModel;
let service: RunningService;
beforeAll(async () => {
  model = await ScriptedModel.start();
  service = await RunningService.start(`${folder.path}/with-model`, [], {
    BANDOLIER_CHAT_URL: model.url,
    BANDOLIER_CHAT_MODEL: 'small',
    BANDOLIER_CHAT_KEY: 'sk-chat',
    BANDOLIER_ALLOW_PRIVATE_HOSTS: 'true',
  });
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  model.stop();
  folder.remove();
});

const QUERY = 'Say where the parcel of Mrs. Berg is and export the sales report of March.';
const PARTS = ['Say where the parcel of Mrs. Berg is', 'export the sales report of March.'];
const frozen = { explore: false, learn: false };

async function splitOf(shop: Shop, query: string): Promise<unknown> {
  const { decisionId } = await shop.route(query, frozen);
  return (await shop.explain(decisionId)).split;
}

describe('a query that asks for two things', () => {
  it('is taken apart by its clauses, and has a tool for both in the slate', async () => {
    const shop = await Shop.open(service, 'clauses');
    expect((await shop.greedy(QUERY, { k: 2 })).sort()).toEqual(['export_report', 'track_parcel']);
    expect(await splitOf(shop, QUERY)).toEqual({ by: 'clauses', parts: 2, fallback: null });
    expect(await splitOf(shop, 'export the sales report of March')).toBeUndefined();
  });

  it('is not taken apart where the catalog wants it whole', async () => {
    const shop = await Shop.open(service, 'whole', { decomposition: 'none' });
    expect(await splitOf(shop, QUERY)).toBeUndefined();
    await shop.configure({ decomposition: 'clauses' });
    expect(await splitOf(shop, QUERY)).toMatchObject({ parts: 2 });
  });

  it('is shown part by part only where texts are kept', async () => {
    const shop = await Shop.open(service, 'texts', { retainText: true });
    expect(await splitOf(shop, QUERY)).toMatchObject({ texts: PARTS });
  });

  it('is taken apart by the configured model, and by clauses when that fails', async () => {
    const shop = await Shop.open(service, 'llm', { decomposition: 'llm', retainText: true });
    const parts = ['where the parcel of Mrs. Berg is', 'the report of March', 'export it'];
    const says = (answer: string): Reaction => ({ says: answer });
    model.follow(says(JSON.stringify(parts)));
    expect(await splitOf(shop, QUERY)).toEqual({ by: 'llm', parts: 3, fallback: null, texts: parts });
    expect(model.keys).toEqual(['Bearer sk-chat']);
    expect(model.requests[0].model).toBe('small');

    model.follow(says('I would rather not.'));
    const split = await splitOf(shop, `${QUERY} It is urgent.`);
    expect(split).toMatchObject({ by: 'clauses', parts: 2, fallback: expect.stringMatching(/JSON array/) });
    expect(service.output).toMatch(/chat endpoint: the model did not answer with a JSON array/);
  });

  it('says so in every decision when no model is configured', async () => {
    const modelless = await RunningService.start(`${folder.path}/without-model`);
    try {
      const shop = await Shop.open(modelless, 'llm', { decomposition: 'llm' });
      const fallback = expect.stringMatching(/no chat endpoint is configured/);
      expect(await splitOf(shop, QUERY)).toEqual({ by: 'clauses', parts: 2, fallback });
      expect(await splitOf(shop, 'export the report')).toEqual({ by: 'clauses', parts: 0, fallback });
    } finally {
      expect(await modelless.stop()).toBe(0);
    }
  });

  it('still counts as one query: what was learned for it is found again', async () => {
    const shop = await Shop.open(service, 'learned');
    await shop.teach(QUERY, 'update_address', 3);
    expect((await shop.greedy(QUERY, { k: 3 })).sort()).toContain('update_address');
  });
});

describe('an agent at work', () => {
  it('gets tools for the step that it says comes next', async () => {
    const shop = await Shop.open(service, 'steps');
    const said = [
      { role: 'user', content: 'Say where the parcel of Mrs. Berg is' },
      { role: 'assistant', content: 'I have found it. Next I hand the ticket over to the second level.' },
    ];
    const before = await shop.greedy(QUERY, { query: undefined, messages: said.slice(0, 1), k: 2 });
    const after = await shop.greedy(QUERY, { query: undefined, messages: said, k: 2 });
    expect(before).not.toContain('escalate_ticket');
    expect(after).toContain('escalate_ticket');
  });
});

describe('settings of decomposition', () => {
  it('are checked', async () => {
    const answer = await service.request('PUT', '/v1/catalogs/default', { decomposition: 'words' });
    expect(answer.status).toBe(422);
    const start = RunningService.start(`${folder.path}/half`, [], { BANDOLIER_CHAT_URL: model.url });
    await expect(start).rejects.toThrow(/Set BANDOLIER_CHAT_MODEL/);
  });

  it('never show the key', () => {
    expect(service.output).not.toContain('sk-chat');
  });
});
