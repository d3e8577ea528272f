import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';
import { redisProgram } from '../redis/redis-server.ts';
import { twoRouters } from '../redis/two-routers.ts';
import { oneService } from './one-service.ts';
import { mainFile, type RunningService, until } from './running-service.ts';

const PATH = '/v1/catalogs/default/instructions';
const SHORT = { id: 'style/short', text: 'Answer in two sentences at most.', kind: 'style', priority: 20 };
const LIMITS = {
  id: 'refunds/limits',
  text: 'Refunds above 100 EUR need the approval of a manager.',
  kind: 'policy',
  priority: 70,
};
const TOOLS = ['refund_payment', 'refund_order', 'refund_fee'].map((name) => ({
  name,
  description: 'Gives a refund.',
  inputSchema: { type: 'object' },
}));

interface Page {
  readonly instructions: {
    id: string;
    text: string;
    status: string;
    approvedBy?: string;
    learned: { effect: number; evidence: number } | null;
  }[];
  readonly revision: string;
  readonly nextCursor: string | null;
}

/** What holds in both modes. @param reader another process over the same store, or the same */
function behaves(writer: () => RunningService, reader: () => RunningService): void {
  it('are all approved by a request without a body, and a decision can be asked for more by one', async () => {
    const service = writer();
    const catalog = `${PATH.split('/instructions')[0]}-bare`;
    await service.ask('PUT', catalog, {});
    await service.ask('PATCH', `${catalog}/instructions`, { put: [SHORT] });
    await service.ask('PATCH', `${catalog}/tools`, { put: TOOLS });
    const bare = async (path: string) => {
      const answer = await fetch(service.url + path, { method: 'POST', headers: { 'x-bandolier': '1' } });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    };
    expect(await bare(`${catalog}/instructions/approve`)).toMatchObject({
      status: 200,
      body: { approved: 1 },
    });
    const question = { query: 'a refund', k: 1, catalog: catalog.split('/').at(-1) };
    const { decisionId } = await service.ask<{ decisionId: string }>('POST', '/v1/route', question);
    const more = await bare(`/v1/decisions/${decisionId}/discover`);
    expect([more.status, (more.body.tools as object[]).length]).toEqual([200, 1]);
  });

  it('are put, listed, approved and removed, with a revision of their own and a log', async () => {
    const service = writer();
    const put = await service.request(
      'PATCH',
      PATH,
      { put: [SHORT, LIMITS], remove: ['unknown'], actor: 'ann' },
      { 'idempotency-key': 'first' },
    );
    expect(put.body).toMatchObject({ added: 2, approved: 0, awaiting: 2, duplicates: [] });
    const again = await service.request(
      'PATCH',
      PATH,
      { put: [SHORT, LIMITS], remove: ['unknown'], actor: 'ann' },
      { 'idempotency-key': 'first' },
    );
    expect(again.body).toEqual(put.body);
    expect(await service.ask('POST', `${PATH}/approve`, { ids: [LIMITS.id], actor: 'bo' })).toMatchObject({
      approved: 1,
      awaiting: 1,
    });
    const one = `${PATH}/${encodeURIComponent(LIMITS.id)}`;
    await until(async () => (await reader().request('GET', one)).body.approvedBy === 'bo');
    const drafts = await service.ask<Page>('GET', `${PATH}?status=draft`);
    expect(drafts.instructions.map(({ id }) => id)).toEqual([SHORT.id]);
    const { changes } = await service.ask<{ changes: object[] }>('GET', `${PATH}/changes?limit=2`);
    expect(changes).toMatchObject([
      { actor: 'bo', counts: { approved: 1 }, ids: { approved: [LIMITS.id] } },
      { actor: 'ann', counts: { added: 2 } },
    ]);
    const removed = await service.request('DELETE', `${one}?actor=ann`, undefined, {
      'if-match': drafts.revision,
    });
    expect(removed.status).toBe(200);
    expect((await service.request('GET', one)).body).toMatchObject({ code: 'instruction-not-found' });
  });

  it('can be put as they were got', async () => {
    const service = writer();
    const { instructions } = await service.ask<Page>('GET', PATH);
    expect(await service.ask('PUT', PATH, { instructions })).toMatchObject({ changed: 0, unchanged: 1 });
  });

  it('are kept when what was learned of them is erased', async () => {
    const one = `${PATH}/${encodeURIComponent(SHORT.id)}`;
    expect(await writer().ask('DELETE', `${one}/memory`)).toEqual({ forgotten: 1 });
    expect((await reader().request('GET', one)).body).toMatchObject({ id: SHORT.id });
  });

  it('of two syncs at once with the same If-Match one is applied whole', async () => {
    const { revision } = await writer().ask<Page>('GET', PATH);
    await until(async () => (await reader().ask<Page>('GET', PATH)).revision === revision);
    const sets = ['left', 'right'].map((side) =>
      Array.from({ length: 50 }, (_, i) => ({ ...SHORT, id: `${side}/${i}`, text: `${side} rule ${i}` })),
    );
    const answers = await Promise.all(
      [writer(), reader()].map((service, i) =>
        service.request('PUT', PATH, { instructions: sets[i] }, { 'if-match': revision }),
      ),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
    const winner = answers[0].status === 200 ? 'left' : 'right';
    const { instructions } = await writer().ask<Page>('GET', PATH);
    expect(instructions).toHaveLength(50);
    expect(instructions.every(({ id }) => id.startsWith(winner))).toBe(true);
  });

  it('are refused with what to do about it: a whole prompt, circles, repeated ids, a typing error', async () => {
    const service = writer();
    const refuse = async (put: object[]) => (await service.request('PATCH', PATH, { put })).body;
    const whole = await refuse([{ ...SHORT, text: 'word '.repeat(2 * 1024 * 1024) }]);
    expect(whole).toMatchObject({
      code: 'body-too-large',
      suggestedFix: expect.stringContaining('bandolier import-prompt'),
    });
    const prompt = await refuse([{ ...SHORT, text: 'word '.repeat(20_000) }]);
    expect(prompt).toMatchObject({
      code: 'validation-failed',
      suggestedFix: expect.stringContaining('bandolier import-prompt'),
      violations: [{ path: 'put[0].text' }],
    });
    expect(await refuse([{ ...SHORT, includes: [SHORT.id] }])).toMatchObject({
      detail: expect.stringContaining('in a circle'),
    });
    expect(await refuse([{ ...SHORT, includes: ['nobody'] }])).toMatchObject({ code: 'validation-failed' });
    for (const text of [' \u200b\u2060 ', 'half \ud83d of it']) {
      expect(await refuse([{ ...SHORT, text }])).toMatchObject({ violations: [{ path: 'put[0].text' }] });
    }
    expect(await refuse([SHORT, SHORT])).toMatchObject({ violations: [{ path: 'put[1].id' }] });
    expect(await refuse([{ ...SHORT, prioriy: 3 }])).toMatchObject({ code: 'validation-failed' });
    const large = await service.request('PUT', PATH, `{"instructions": ["${'x'.repeat(33 * 1024 * 1024)}"]}`);
    expect(large.status).toBe(413);
  });
}

describe('instructions in one process', () => {
  const running = oneService();

  behaves(
    () => running.service,
    () => running.service,
  );

  it('are listed with what was learned of their being there, and how much that is worth', async () => {
    const { service } = running;
    const path = '/v1/catalogs/learned';
    await service.ask('PUT', path, {});
    await service.ask('PATCH', `${path}/tools`, { put: TOOLS });
    const put = ['one', 'two', 'three'].map((id) => ({
      ...{ ...LIMITS, id, text: `${LIMITS.text} Rule ${id}.` },
      status: 'approved',
    }));
    await service.ask('PATCH', `${path}/instructions`, { put });
    const list = () => service.ask<Page>('GET', `${path}/instructions`);
    expect((await list()).instructions.map(({ learned }) => learned)).toEqual([null, null, null]);
    const ask = { query: 'a refund', k: 1, catalog: 'learned', instructions: true, maxInstructions: 1 };
    const { decisionId } = await service.ask<{ decisionId: string }>('POST', '/v1/route', ask);
    await service.ask('POST', `/v1/decisions/${decisionId}/rewards`, { outcome: 'success' });
    await until(async () => (await list()).instructions.every(({ learned }) => learned !== null));
    const { instructions } = await list();
    for (const { learned } of instructions) {
      expect(learned!.evidence).toBeGreaterThan(0);
      expect(learned!.evidence).toBeLessThan(1);
    }
    expect((await service.request('GET', `${path}/instructions/one`)).body).toMatchObject({
      learned: instructions.find(({ id }) => id === 'one')!.learned,
    });
    expect(await service.ask('PUT', `${path}/instructions`, { instructions })).toMatchObject({
      unchanged: 3,
    });
    const { stdout } = await promisify(execFile)(process.execPath, [
      ...[mainFile, 'instructions', 'list', '--catalog', 'learned', '--url', service.url],
    ]);
    expect(stdout).toMatch(/^ID +KIND +PRIORITY +STATUS +EFFECT +/m);
    expect(stdout).toMatch(/^one +policy +70 +approved +[+−]\d\.\d\d \([01]\) /m);
  });

  it('say which of them are nearly the same', async () => {
    const twin = { ...LIMITS, id: 'refunds/twin', text: `${LIMITS.text} Always.` };
    expect(await running.service.ask('PATCH', PATH, { put: [LIMITS, twin] })).toMatchObject({
      duplicates: [{ ids: [LIMITS.id, twin.id], exact: false }],
    });
  });

  it('are there whole or not at all after the process was killed while they were put, and after a restart', async () => {
    const { instructions: before } = await running.service.ask<Page>('GET', `${PATH}?limit=1000`);
    const texts = Array.from({ length: 3_000 }, (_, i) => ({ ...SHORT, id: `big/${i}`, text: `rule ${i}` }));
    const sync = running.service.request('PUT', PATH, { instructions: texts }).catch(() => null);
    await until(async () => (await running.service.request('GET', '/readyz')).status === 200);
    await running.service.kill();
    const answer = await sync;
    await running.startAgain();
    const count = async () => {
      let total = 0;
      for (let cursor = ''; ; ) {
        const page = await running.service.ask<Page>('GET', `${PATH}?limit=1000${cursor}`);
        total += page.instructions.length;
        if (page.nextCursor === null) return total;
        cursor = `&cursor=${page.nextCursor}`;
      }
    };
    const found = await count();
    expect([before.length, texts.length]).toContain(found);
    if (answer?.status === 200) expect(found).toBe(texts.length);
    await running.service.ask('PUT', PATH, { instructions: texts });
    expect(await running.service.stop()).toBe(0);
    await running.startAgain();
    expect(await count()).toBe(texts.length);
  });
});

describe.skipIf(redisProgram.path === null)(`instructions over Redis${redisProgram.missing ?? ''}`, () => {
  const running = twoRouters();

  behaves(
    () => running.first,
    () => running.second,
  );
});
