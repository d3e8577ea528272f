import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ToolStatistics } from '../../src/state/tool-table.ts';
import { cleanEnvironment, RunningService, temporaryFolder } from '../e2e/running-service.ts';
import { type Reaction, ScriptedModel } from './scripted-model.ts';

const program = fileURLToPath(new URL('../../examples/fireact/fireact.mjs', import.meta.url));
const folder = temporaryFolder();
let service: RunningService;
let model: ScriptedModel;
beforeAll(async () => {
  service = await RunningService.start(folder.path, ['--sample']);
  model = await ScriptedModel.start();
  // Slates without chance, so that what is offered can be foretold.
  await service.ask('PUT', '/v1/catalogs/default', {
    policy: { name: 'sc-linucb-memory', exploration: 'greedy' },
  });
});
afterAll(async () => {
  model.stop();
  expect(await service.stop()).toBe(0);
  folder.remove();
});

/** Runs the example to its end. */
async function fireact(task: string, ...options: string[]) {
  const words = ['--router', service.url, '--model-url', model.url, '--model', 'scripted', ...options, task];
  const child = spawn(process.execPath, [program, ...words], {
    env: { ...cleanEnvironment(), OPENAI_API_KEY: 'sk-test' },
  });
  const output = { stdout: '', stderr: '' };
  child.stdout.on('data', (chunk) => (output.stdout += chunk));
  child.stderr.on('data', (chunk) => (output.stderr += chunk));
  const [code] = await once(child, 'close');
  return { code, ...output };
}

const statisticsOf = (tool: string) =>
  service.ask<ToolStatistics>('GET', `/v1/catalogs/default/tools/${tool}/stats`);

const TASK = 'give the lady on SUP-5120 her money back and tell her it is on its way';
const SCRIPT: Reaction[] = [
  {
    says: 'I read the ticket. Next I need the payments of this customer.',
    calls: [['getTicket', { ticketKey: 'SUP-5120' }]],
  },
  {
    says: 'I list the payments. Next I refund the payment.',
    calls: [['list_payments', { customer: 'mrs.adeyemi@mail.example' }]],
  },
  {
    says: 'I refund it. Next I answer the customer on the ticket.',
    calls: [['create_refund', { payment_intent: 'pi_771' }]],
  },
  {
    says: 'I reply. Then everything is done.',
    calls: [['replyToRequester', { ticketKey: 'SUP-5120', body: 'Your refund is on its way.' }]],
  },
  { says: 'She has her 64 back and knows it.' },
];

describe('the FiReAct example', () => {
  it('filters, reasons, acts and reports, step by step, and shows it', async () => {
    model.follow(...SCRIPT);
    const { code, stdout, stderr } = await fireact(TASK, '--trace', '--k', '6');
    expect(stderr).toBe('');
    expect(code).toBe(0);
    expect(stdout).toMatch(/She has her 64 back and knows it\.\n$/);
    for (const step of [1, 2, 3, 4, 5]) expect(stdout).toContain(`step ${step}\n  filter `);
    expect(stdout).toMatch(
      /step 3\n {2}filter .*create_refund.*\n {2}thought {2}I refund it\. .*\n {2}action {3}create_refund \{"payment_intent":"pi_771"\}\n {2}observe {2}\{"payment_intent":"pi_771","refunded":64\}\n {2}reward {3}create_refund success: queued/,
    );
    // What the model says it will need is what the router filters for next.
    const offered = model.offered();
    expect(offered.map((tools) => tools.length)).toEqual([6, 6, 6, 6, 6]);
    expect(offered[0]).not.toContain('list_payments');
    expect(offered[1]).toContain('list_payments');
    expect(offered[0]).not.toContain('replyToRequester');
    expect(offered[3]).toContain('replyToRequester');
    expect(model.keys).toEqual(Array(5).fill('Bearer sk-test'));
  });

  it('has taught the router: the tools of the turn come first when it is asked again', async () => {
    await service.settled();
    for (const tool of ['getTicket', 'list_payments', 'create_refund', 'replyToRequester']) {
      expect(await statisticsOf(tool)).toMatchObject({ failures: 0 });
      expect((await statisticsOf(tool)).called).toBeGreaterThanOrEqual(1);
    }
    const ask = { query: TASK, k: 4, format: 'names', explore: false, learn: false };
    const { tools } = await service.ask<{ tools: { name: string }[] }>('POST', '/v1/route', ask);
    expect(tools.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['getTicket', 'create_refund', 'list_payments', 'replyToRequester']),
    );
  });

  it('tells failures from calls that say nothing, and goes on after each', async () => {
    const connected = 'getTicket list_payments create_refund replyToRequester search_emails CRM_LOG_ACTIVITY';
    let unconnected = '';
    model.follow(
      { says: 'I refund the payment.', calls: [['create_refund', { payment_intent: 'pi_000' }]] },
      {
        says: 'I fetch the ticket.',
        calls: (offered) => {
          unconnected = offered.find((name) => !connected.includes(name))!;
          return [
            ['getTicket', 'no JSON'],
            [unconnected, {}],
            ['launch_rocket', {}],
          ];
        },
      },
      { says: 'It cannot be done.' },
    );
    const { code, stdout } = await fireact(
      'refund payment pi_000 of ticket SUP-5120, see the email',
      '--trace',
      '--k',
      '12',
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /Error: there is no payment_intent pi_000\n {2}reward {3}create_refund failure: queued/,
    );
    expect(stdout).toMatch(/The arguments are not JSON\./);
    expect(stdout).toContain(`${unconnected} is not connected in this example.`);
    expect(stdout).toMatch(/There is no tool launch_rocket in this step\./);
    expect(stdout).not.toMatch(/reward {3}launch_rocket/);
    await service.settled();
    expect(await statisticsOf('create_refund')).toMatchObject({ failures: expect.any(Number) });
    expect((await statisticsOf('create_refund')).failures).toBeGreaterThanOrEqual(1);
    // The agent could not call it: that is no fault of the tool's.
    expect(await statisticsOf(unconnected)).toMatchObject({ failures: 0, successes: 0 });
  });

  it('gives up on a model that never ends', async () => {
    model.follow({ says: 'Again.', calls: [['getTicket', { ticketKey: 'SUP-5120' }]] });
    const { code, stderr } = await fireact(TASK, '--max-steps', '2');
    expect(stderr).toBe('It did not come to an end within 2 steps.\n');
    expect(code).toBe(1);
    expect(model.requests).toHaveLength(2);
  });

  it.each([
    ['no task', [''], /Say what the user says\.[\s\S]*--router/],
    ['an unknown option', ['--rooter', 'x', TASK], /--rooter[\s\S]*--router/],
    [
      'a router that is not there',
      ['--router', 'http://127.0.0.1:9', TASK],
      /^http:\/\/127\.0\.0\.1:9 cannot be reached/,
    ],
    [
      'a model that is not there',
      ['--model-url', 'http://127.0.0.1:9/v1', TASK],
      /^http:\/\/127\.0\.0\.1:9 cannot be/,
    ],
    ['a catalog that is not there', ['--catalog', 'nowhere', TASK], /answered 404: .*nowhere/],
  ])('says what is wrong with %s', async (_, words, message) => {
    model.follow({ says: 'Done.' });
    const { code, stderr } = await fireact(words.at(-1)!, ...words.slice(0, -1));
    expect(stderr).toMatch(message);
    expect(code).toBe(1);
  });
});
