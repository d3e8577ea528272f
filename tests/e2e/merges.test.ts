import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { redisProgram } from '../redis/redis-server.ts';
import { twoRouters } from '../redis/two-routers.ts';
import { cleanEnvironment, mainFile, RunningService, temporaryFolder, until } from './running-service.ts';

interface Merge {
  readonly id: string;
  readonly status: string;
  readonly members: readonly string[];
  readonly representative: string;
  readonly confidence: number;
  readonly tokensSaved: number;
  readonly evidence: { readonly judge: string };
  readonly actor?: string;
  readonly left?: readonly string[];
  readonly digest: string;
  readonly definition: { readonly name: string };
}

interface Page {
  readonly merges: readonly Merge[];
  readonly nextCursor: string | null;
  readonly counts: Readonly<Record<string, number>>;
  readonly run: { readonly id: string; readonly status: string; readonly endedAt: string | null } | null;
}

const day = { type: 'string', format: 'date' };
const calendar = (prefix: string) => [
  {
    name: `${prefix}list_events`,
    description: 'List the events of the calendar between two days.',
    inputSchema: { type: 'object', properties: { from: day, to: day }, required: ['from'] },
    annotations: { readOnlyHint: true },
  },
  {
    name: `${prefix}delete_event`,
    description: 'Delete an event from the calendar.',
    inputSchema: { type: 'object', properties: { id: { type: 'string' } }, required: ['id'] },
    annotations: { destructiveHint: true },
  },
];
const OTHERS = ['weather of a city', 'price of a share', 'route between two towns'].map((what, at) => ({
  name: `other_${at}`,
  description: `Get the ${what}.`,
  inputSchema: { type: 'object', properties: { of: { type: 'string' } } },
}));
const CALENDARS = [...calendar(''), ...calendar('calendar_'), ...OTHERS];

/** A chat model that answers nothing until it is released, so that a run is under way as long as a test wants; then it fails. */
class SlowModel {
  readonly #server = createServer((_, response) => {
    if (this.#held === null) refuse(response);
    else this.#held.add(response);
    this.#onAsked();
  });
  #held: Set<ServerResponse> | null = new Set();
  #onAsked = () => {};

  async start(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get settings(): Readonly<Record<string, string>> {
    const { port } = this.#server.address() as AddressInfo;
    return {
      BANDOLIER_CHAT_URL: `http://127.0.0.1:${port}`,
      BANDOLIER_CHAT_MODEL: 'slow',
      BANDOLIER_CHAT_TIMEOUT_MS: '30000',
      BANDOLIER_ALLOW_PRIVATE_HOSTS: 'true',
    };
  }

  /** Resolves when it is asked next. */
  asked(): Promise<void> {
    return new Promise((resolve) => {
      this.#onAsked = resolve;
    });
  }

  hold(): void {
    this.#held ??= new Set();
  }

  release(): void {
    for (const response of this.#held ?? []) refuse(response);
    this.#held = null;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }
}

function refuse(response: ServerResponse): void {
  response.statusCode = 401;
  response.end('{}');
}

class Catalog {
  readonly #service: () => RunningService;
  readonly name: string;

  constructor(service: () => RunningService, name: string) {
    this.#service = service;
    this.name = name;
  }

  get path(): string {
    return `/v1/catalogs/${this.name}`;
  }

  /** With words alone: no test here depends on a model. */
  async open(tools: readonly object[], settings: object = {}): Promise<this> {
    await this.#service().ask('PUT', this.path, { embedder: 'none', ...settings });
    await this.put(tools);
    return this;
  }

  async put(tools: readonly object[]): Promise<void> {
    await this.#service().ask('PUT', `${this.path}/tools`, { tools });
  }

  propose(body: object = {}) {
    return this.#service().request<{ run: Page['run'] & object; code: string }>(
      'POST',
      `${this.path}/merges/propose`,
      body,
    );
  }

  own(tools: readonly string[], more: object = {}) {
    const path = `${this.path}/merges`;
    return this.#service().request<Merge & { code: string; detail: string; guarded?: string }>('POST', path, {
      tools,
      ...more,
    });
  }

  page(query = ''): Promise<Page> {
    return this.#service().ask('GET', `${this.path}/merges${query}`);
  }

  async found(body: object = {}): Promise<Page> {
    const { status, body: answer } = await this.propose(body);
    expect(status).toBe(202);
    return this.ended(answer.run.id);
  }

  async ended(run: string): Promise<Page> {
    let page: Page | undefined;
    await until(async () => {
      page = await this.page();
      return page.run?.id === run && page.run.endedAt !== null;
    });
    return page!;
  }

  decide(
    id: string,
    how: 'approve' | 'reject' | 'undo',
    headers: Record<string, string> = {},
    more: { readonly digest?: string } = {},
  ) {
    return this.#service().request<Merge & { code: string; detail: string }>(
      'POST',
      `${this.path}/merges/${id}/${how}`,
      { actor: 'anna', ...more },
      headers,
    );
  }

  async slate(query = 'list the events of the calendar'): Promise<string[]> {
    const asked = { query, catalog: this.name, k: 3, explore: false, learn: false };
    const { tools } = await this.#service().ask<{ tools: { name: string }[] }>('POST', '/v1/route', asked);
    return tools.map(({ name }) => name);
  }

  async tools(): Promise<object[]> {
    return (await this.#service().ask<{ tools: object[] }>('GET', `${this.path}/tools`)).tools;
  }
}

/** What holds in both modes. @param model that of both @param reader another process over the same store, or the same */
function behaves(model: SlowModel, writer: () => RunningService, reader: () => RunningService): void {
  const both = (name: string) => [new Catalog(writer, name), new Catalog(reader, name)] as const;
  const known = async (catalog: Catalog) => {
    await until(async () => (await reader().request('GET', catalog.path)).status === 200);
  };

  it('are found, approved and undone, and the tools stay as they were put', async () => {
    const [catalog, elsewhere] = both('week');
    await catalog.open(CALENDARS);
    const tools = await catalog.tools();
    expect(await catalog.page()).toMatchObject({ merges: [], nextCursor: null, run: null });
    const { merges, run, counts } = await catalog.found();
    expect(run).toMatchObject({ status: 'succeeded', proposals: 2, judge: 'rules', progress: 1 });
    expect(counts).toMatchObject({ proposed: 2, approved: 0 });
    const members = merges.map((merge) => merge.members);
    expect(members).toContainEqual(['calendar_list_events', 'list_events']);
    expect(members).toContainEqual(['calendar_delete_event', 'delete_event']);
    const list = merges.find(({ representative }) => representative.endsWith('list_events'))!;
    expect(list).toMatchObject({ status: 'proposed', definition: { name: list.representative } });
    expect(list.tokensSaved).toBeGreaterThan(0);

    await known(catalog);
    await until(async () => (await elsewhere.page()).counts.proposed === 2);
    const before = await elsewhere.slate();
    expect(before.filter((name) => name.endsWith('list_events'))).toHaveLength(2);
    expect(await elsewhere.decide(list.id, 'approve', {}, { digest: 'of something else' })).toMatchObject({
      status: 409,
      body: { code: 'merge-conflict', detail: expect.stringContaining('in another form') },
    });
    const key = { 'idempotency-key': 'monday' };
    const { digest } = list;
    expect(await elsewhere.decide(list.id, 'approve', key, { digest })).toMatchObject({
      status: 200,
      body: { status: 'approved', actor: 'anna' },
    });
    expect((await elsewhere.decide(list.id, 'approve', key, { digest })).status).toBe(200);
    const merged = await elsewhere.slate();
    expect(merged.filter((name) => name.endsWith('list_events'))).toEqual([list.representative]);
    expect(await catalog.tools()).toEqual(tools);

    // Which tools only look alike, and why they are not the same.
    const path = `${catalog.path}/merges/run`;
    await writer().ask('PATCH', `${catalog.path}/tools`, {
      put: [
        { ...CALENDARS[1], name: 'delete_all_events', description: 'Delete all events from the calendar.' },
      ],
    });
    await catalog.found();
    const { lookAlikes } = await writer().ask<{ lookAlikes: { pair: string[]; reason: string }[] }>(
      'GET',
      path,
    );
    const alike = lookAlikes.find(({ pair }) => pair.includes('delete_all_events'))!;
    expect(alike.pair.some((name) => name.endsWith('delete_event'))).toBe(true);
    expect(alike.reason).not.toBe('');
    await catalog.put(CALENDARS);

    // What is known is not proposed again.
    expect(await catalog.found({ touched: 'all' })).toMatchObject({ counts: { proposed: 1, approved: 1 } });
    expect((await elsewhere.decide(list.id, 'undo')).body.status).toBe('undone');
    expect(await elsewhere.slate()).toEqual(before);
    expect(await catalog.found()).toMatchObject({ counts: { proposed: 1, undone: 1 } });
    const rest = merges.find(({ id }) => id !== list.id)!;
    expect((await catalog.decide(rest.id, 'reject')).body.status).toBe('rejected');
    expect(await catalog.found({ touched: 'all' })).toMatchObject({
      counts: { proposed: 0, undone: 1, rejected: 1 },
    });
  });

  it('are refused with a sentence where they cannot be decided, and lose nothing', async () => {
    const [catalog] = both('bad');
    await catalog.open(CALENDARS);
    const [{ id }, { id: other }] = (await catalog.found()).merges;
    for (const [how, answer] of [
      [catalog.decide(id, 'undo'), { status: 409, body: { code: 'merge-conflict' } }],
      [catalog.decide('m_0123456789abcdef', 'approve'), { status: 404, body: { code: 'merge-not-found' } }],
      [catalog.decide('..%2f', 'approve'), { status: 404 }],
      [catalog.decide(id, 'approve', { 'if-match': 'r0' }), { status: 412 }],
      [catalog.propose({ threshold: 2 }), { status: 422 }],
      [catalog.propose({ actor: 'Automatic' }), { status: 422, body: { code: 'validation-failed' } }],
    ] as const) {
      expect(await how).toMatchObject(answer);
    }
    const key = { 'idempotency-key': 'one' };
    expect((await catalog.decide(id, 'reject', key)).status).toBe(200);
    expect(await catalog.decide(other, 'reject', key)).toMatchObject({
      body: { code: 'idempotency-conflict' },
    });
    expect(await catalog.decide(id, 'reject')).toMatchObject({ status: 409 });
    // A tool that changed is not what was judged.
    await catalog.put(CALENDARS.map((tool) => ({ ...tool, description: `${tool.description} Now.` })));
    expect(await catalog.decide(other, 'approve')).toMatchObject({ status: 409 });
    const page = await catalog.found();
    expect(page.counts.proposed).toBe(2);
    const pages = [await catalog.page('?status=proposed&limit=1')];
    pages.push(await catalog.page(`?status=proposed&limit=1&cursor=${pages[0].nextCursor}`));
    expect(pages.flatMap(({ merges }) => merges)).toEqual(
      page.merges.filter(({ status }) => status === 'proposed'),
    );
    expect(pages[1].nextCursor).toBeNull();
  });

  it('are proposed by hand, with what the rules say against them, and no run takes them back', async () => {
    const [catalog] = both('by-hand');
    await catalog.open(CALENDARS);
    const twice = await Promise.all([
      catalog.own(['other_1', 'other_0'], { actor: 'bo' }),
      catalog.own(['other_0', 'other_1'], { actor: 'bo' }),
    ]);
    for (const { status, body } of twice) {
      expect(status).toBe(201);
      expect(body).toMatchObject({
        members: ['other_0', 'other_1'],
        representative: 'other_0',
        status: 'proposed',
        evidence: { judge: 'person', reason: 'bo wants them served as one.' },
        guarded: expect.stringMatching(/The rules take other_0 and other_1 to be/),
      });
    }
    const { id } = twice[0].body;
    expect((await catalog.page()).merges.map((merge) => merge.id)).toEqual([id]);
    expect((await catalog.found({ autoApprove: 0 })).merges).toContainEqual(
      expect.objectContaining({ id, status: 'proposed' }),
    );
    const harmless = await catalog.own(['calendar_list_events', 'list_events'], {
      name: 'calendar_list_events',
    });
    expect(harmless).toMatchObject({ status: 409, body: { detail: expect.stringContaining('approved') } });

    const many = Array.from({ length: 1_001 }, (_, at) => `copy_${at}`);
    for (const [asked, answer] of [
      [catalog.own(['other_0']), { status: 422 }],
      [catalog.own(['other_0', 'other_0']), { status: 422, body: { code: 'validation-failed' } }],
      [catalog.own(many), { status: 422 }],
      [catalog.own(['other_0', 'nobody']), { status: 404, body: { code: 'tool-not-found' } }],
      [catalog.own(['other_0', 'other_2'], { name: 'list_events' }), { status: 422 }],
      [catalog.own(['other_0', 'list_events']), { status: 409, body: { code: 'merge-conflict' } }],
    ] as const) {
      expect(await asked).toMatchObject(answer);
    }
    expect((await catalog.decide(id, 'approve')).body.status).toBe('approved');
    expect(await catalog.own(['other_0', 'other_1'])).toMatchObject({
      ...{ status: 409, body: { detail: expect.stringContaining('was approved already') } },
    });
    // All tools of an approved merge and one more are a larger one.
    expect((await catalog.own(['other_0', 'other_1', 'other_2'])).status).toBe(201);
    expect((await catalog.decide(id, 'undo')).body.status).toBe('undone');
    expect((await catalog.own(['other_0', 'other_1'])).body.detail).toContain('was undone');
  });

  it('are approved by themselves only if they are sure enough and harmless', async () => {
    const [catalog] = both('auto');
    await catalog.open(CALENDARS, { merging: { autoApprove: 0.5 } });
    const { merges } = await catalog.found();
    const status = Object.fromEntries(merges.map((merge) => [merge.members[0], merge.status]));
    expect(status).toEqual({ calendar_delete_event: 'proposed', calendar_list_events: 'approved' });
    expect(await catalog.found({ autoApprove: null })).toMatchObject({ counts: { approved: 1 } });
  });

  it('stay proposed where the judge of a later run decides nothing, and are told anew where it says something else', async () => {
    model.release();
    const [catalog] = both('open');
    const [list] = CALENDARS;
    const copies = ['east', 'west'].map((server) => ({
      ...{ ...list, server, name: `${server}_list_days`, description: 'List the days off of a team.' },
    }));
    await catalog.open([...CALENDARS, ...copies]);
    const found = await catalog.found();
    expect(found.counts.proposed).toBe(3);
    const judges = ({ merges }: Page) =>
      Object.fromEntries(merges.map(({ representative, evidence }) => [representative, evidence.judge]));
    expect(new Set(Object.values(judges(found)))).toEqual(new Set(['rules']));
    // Of copies nothing is asked; everything else the model refuses to answer.
    const later = await catalog.found({ judge: 'chat', touched: 'all' });
    expect(later).toMatchObject({
      run: {
        status: 'succeeded',
        open: { undecided: expect.any(Number), reason: expect.stringMatching(/401|in a row/) },
      },
      counts: { proposed: 3 },
    });
    expect(judges(later)).toEqual({ ...judges(found), east_list_days: 'chat' });
  });

  it('are looked for by themselves where that is set, once the tools have changed', async () => {
    const [catalog] = both('by-itself');
    await catalog.open(CALENDARS, { merging: { automatic: true } });
    await until(async () => (await catalog.page()).run?.status === 'succeeded');
    expect((await catalog.page()).counts.proposed).toBe(2);
  });

  it('are looked for by one run at a time, whoever asks, and it can be cancelled', async () => {
    model.hold();
    const [catalog, elsewhere] = both('one');
    await catalog.open(CALENDARS, { merging: { judge: 'chat' } });
    await known(catalog);
    const asked = await Promise.all([catalog, catalog, catalog].map((one) => one.propose()));
    await until(async () => (await elsewhere.page()).run !== null);
    asked.push(await elsewhere.propose({ touched: 'changed' }));
    const ids = new Set(asked.map(({ body }) => body.run.id));
    expect(ids.size).toBe(1);
    expect(await catalog.propose({ judge: 'rules' })).toMatchObject({
      status: 409,
      body: { code: 'merge-conflict' },
    });
    const cancelled = await reader().request<{ run: object }>('DELETE', `${catalog.path}/merges/run`);
    expect(cancelled).toMatchObject({ status: 200, body: { run: { status: 'cancelled' } } });
    expect((await reader().request('DELETE', `${catalog.path}/merges/run`)).status).toBe(409);
    const [id] = ids;
    expect(await catalog.ended(id)).toMatchObject({ run: { status: 'cancelled' }, merges: [] });
    // The next one is another, and does not wait for the model.
    const again = await catalog.found({ judge: 'rules' });
    expect(again).toMatchObject({ run: { status: 'succeeded' }, counts: { proposed: 2 } });
    expect(again.run!.id).not.toBe(id);
  });

  it('end with their catalog', async () => {
    model.hold();
    const [catalog, elsewhere] = both('gone');
    await catalog.open(CALENDARS);
    await known(catalog);
    const asked = model.asked();
    expect((await catalog.propose({ judge: 'chat' })).status).toBe(202);
    await asked;
    expect((await writer().request('DELETE', catalog.path)).status).toBe(204);
    expect((await catalog.propose()).status).toBe(404);
    await until(async () => (await reader().request('GET', catalog.path)).status === 404);
    await catalog.open(CALENDARS);
    expect(await catalog.page()).toMatchObject({ merges: [], run: null });
    expect((await catalog.found()).counts.proposed).toBe(2);
    await known(elsewhere);
  });
}

describe('merges in files', () => {
  const folder = temporaryFolder();
  const model = new SlowModel();
  let service: RunningService;
  const start = async () => {
    service = await RunningService.start(folder.path, [], model.settings);
  };
  beforeAll(async () => {
    await model.start();
    await start();
  });
  afterAll(async () => {
    expect(await service.stop('SIGTERM')).toBe(0);
    expect(service.output).not.toMatch(/"level":[56]0/);
    model.close();
    folder.remove();
  });
  const running = () => service;
  behaves(model, running, running);

  it('are proposed, listed, shown and decided at a terminal', async () => {
    const catalog = await new Catalog(running, 'typed').open(CALENDARS);
    const merges = async (...words: string[]) => {
      const child = spawn(
        process.execPath,
        [mainFile, 'merges', ...words, '--catalog', 'typed', '--url', service.url],
        { env: cleanEnvironment(), stdio: ['ignore', 'pipe', 'pipe'] },
      );
      let text = '';
      for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (text += chunk));
      const [code] = await once(child, 'close');
      return { code, text };
    };
    expect(await merges('list')).toMatchObject({ code: 0, text: expect.stringContaining('merges propose') });
    expect(await merges('propose')).toMatchObject({
      code: 0,
      text: expect.stringContaining('2 merges wait'),
    });
    const { text } = await merges('review');
    expect(text).toContain('list_events in place of calendar_list_events');
    expect(text).toMatch(/Look closely: .*may destroy/);
    expect(text).toContain(
      '  list_events is served as\n    List the events of the calendar between two days.\n',
    );
    expect(text).toContain('    from: string (date), required\n');
    expect(text).toContain('  calendar_list_events was put just so\n');
    const whole = JSON.parse((await merges('review', '--json')).text) as {
      merges: { definitions: object }[];
    };
    expect(whole.merges.map(({ definitions }) => definitions)).toContainEqual({
      calendar_list_events: expect.objectContaining({ description: CALENDARS[2].description }),
      list_events: expect.objectContaining({ annotations: { readOnlyHint: true } }),
    });
    const own = await merges('propose', 'other_2', 'other_0', '--name', 'other_2', '--actor', 'bo');
    expect(own).toMatchObject({
      code: 0,
      text: expect.stringContaining('(proposed): other_2 in place of other_0'),
    });
    expect(await merges('reject', own.text.split(' ')[0])).toMatchObject({ code: 0 });
    expect(await merges('propose', 'other_2')).toMatchObject({
      code: 1,
      text: expect.stringContaining('two'),
    });
    expect(await merges('propose', 'other_2', 'other_0', '--all')).toMatchObject({
      ...{ code: 1, text: expect.stringContaining('not both') },
    });
    expect(await merges('propose', '--name', 'other_2')).toMatchObject({ code: 1 });
    const listed = JSON.parse((await merges('list', '--json')).text) as Page;
    const { id } = listed.merges.find(({ representative }) => representative === 'list_events')!;
    expect(await merges('approve', id, '--actor', 'bo')).toMatchObject({
      code: 0,
      text: `${id} is approved.\n`,
    });
    expect((await catalog.page('?status=approved')).merges).toMatchObject([{ id, actor: 'bo' }]);
    expect(await merges('reject', id)).toMatchObject({ code: 1, text: expect.stringContaining('undo') });
    expect((await merges('show', id)).text).toContain('"name": "list_events"');
    expect((await merges('undo', id)).code).toBe(0);
    expect((await merges('show', 'm_0')).text).toContain('bandolier merges list');
    expect((await merges('propose', '--cancel')).text).toContain('No run is under way');
    expect((await catalog.page()).counts).toMatchObject({ proposed: 1, undone: 1, rejected: 1 });
  });

  it('are proposed by hand of a thousand tools', async () => {
    const catalog = new Catalog(running, 'thousand');
    const names = Array.from({ length: 1_000 }, (_, at) => `copy_${at}`);
    await catalog.open(names.map((name) => ({ ...OTHERS[0], name })));
    const { status, body } = await catalog.own(names);
    expect(status).toBe(201);
    expect(body).toMatchObject({ representative: 'copy_0', guarded: expect.stringContaining('and others') });
    expect(body.members).toHaveLength(1_000);
  });

  it('are not judged by a chat model that nobody has configured', async () => {
    const own = temporaryFolder();
    const judgedBy = (judge: string) => ({ merging: { judge } });
    const bare = await RunningService.start(own.path);
    const refused = await bare.request('PUT', '/v1/catalogs/chatty', judgedBy('chat'));
    expect(refused).toMatchObject({ status: 422, body: { violations: [{ path: 'merging.judge' }] } });
    expect(JSON.stringify(refused.body)).toContain('BANDOLIER_CHAT_URL');
    expect((await bare.request('GET', '/v1/catalogs/chatty')).status).toBe(404);
    expect(await bare.stop('SIGTERM')).toBe(0);
    const configured = await RunningService.start(own.path, [], model.settings);
    await configured.ask('PUT', '/v1/catalogs/chatty', { embedder: 'none', ...judgedBy('chat') });
    expect(await configured.stop('SIGTERM')).toBe(0);
    await expect(RunningService.start(own.path)).rejects.toThrow(/chatty.*BANDOLIER_CHAT_URL/);
    const mended = await RunningService.start(own.path, [], model.settings);
    await mended.ask('PUT', '/v1/catalogs/chatty', judgedBy('rules'));
    expect(await mended.stop('SIGTERM')).toBe(0);
    expect(await (await RunningService.start(own.path)).stop('SIGTERM')).toBe(0);
    own.remove();
  });

  it('go on where a process died or was stopped, and what was decided stays', async () => {
    const decided = await new Catalog(running, 'decided').open(CALENDARS);
    const { merges } = await decided.found();
    const merge = merges.find(({ representative }) => representative === 'list_events')!;
    await decided.decide(merge.id, 'approve');
    for (const end of [() => service.kill(), () => service.stop('SIGTERM')]) {
      model.hold();
      const catalog = await new Catalog(running, 'ended').open(CALENDARS);
      const asked = model.asked();
      const { run } = (await catalog.propose({ judge: 'chat', touched: 'all' })).body;
      await asked;
      await end();
      model.release();
      await start();
      // Nothing is merged of what could not be judged.
      expect(await catalog.ended(run.id)).toMatchObject({ run: { status: 'succeeded' }, merges: [] });
      const page = await decided.page('?status=approved');
      expect(page.merges.map(({ id }) => id)).toEqual([merge.id]);
      expect((await decided.slate()).filter((name) => name.endsWith('list_events'))).toHaveLength(1);
    }
  });
});

describe.skipIf(redisProgram.path === null)(`merges over Redis${redisProgram.missing ?? ''}`, () => {
  const model = new SlowModel();
  beforeAll(() => model.start());
  const running = twoRouters({ settings: () => model.settings });
  behaves(
    model,
    () => running.first,
    () => running.second,
  );

  it('go on in another router when one dies', async () => {
    model.hold();
    const catalog = await new Catalog(() => running.first, 'killed').open(CALENDARS);
    const elsewhere = new Catalog(() => running.second, 'killed');
    await until(async () => (await running.second.request('GET', elsewhere.path)).status === 200);
    const asked = model.asked();
    const { run } = (await catalog.propose({ judge: 'chat' })).body;
    await asked;
    await running.first.kill();
    model.release();
    expect((await elsewhere.ended(run.id)).run).toMatchObject({ status: 'succeeded' });
  });

  afterAll(() => {
    expect(running.second.output).not.toMatch(/"level":[56]0/);
    model.close();
  });
});
