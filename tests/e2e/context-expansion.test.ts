import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { contentOf } from '../context/content-of.ts';
import { type Reply, says, ThoughtfulModel, thinks } from '../context/thoughtful-model.ts';
import { RunningService, temporaryFolder } from './running-service.ts';

const folder = temporaryFolder();
let model: ThoughtfulModel;
let service: RunningService;
beforeAll(async () => {
  model = await ThoughtfulModel.start();
  service = await RunningService.start(`${folder.path}/with-model`, [], {
    BANDOLIER_CHAT_URL: model.url,
    BANDOLIER_CHAT_MODEL: 'small',
    BANDOLIER_CHAT_TIMEOUT_MS: '400',
    BANDOLIER_ALLOW_PRIVATE_HOSTS: 'true',
  });
});
afterAll(async () => {
  expect(await service.stop()).toBe(0);
  model.stop();
  folder.remove();
});

const TOOLS = [
  ['place_order', 'Order food or drinks from a restaurant for delivery'],
  ['create_event', 'Put an event into the calendar'],
  ['play_music', 'Play a song or a playlist'],
  ['get_weather', 'Tell the weather of a place'],
].map(([name, description]) => ({ name, description, inputSchema: { type: 'object', properties: {} } }));

/** Nothing that the query says is in the item that it needs. */
const QUERY = 'what have I got on with Zebedee';
const THOUGHT = 'Calendar: the dentist appointment with Dr Weber on Tuesday.';
const ITEMS = [
  { id: 'dentist', text: 'Calendar: dentist appointment, Dr Weber, Tuesday', store: 'calendar' },
  { id: 'pizza', text: 'Luigi: pizza Margherita and a cola, 14.50', store: 'orders' },
  { id: 'run', text: 'Playlist: Morning Run', store: 'music' },
];

interface Answer {
  readonly decisionId: string;
  readonly context?: readonly { readonly id: string }[];
  readonly notes?: readonly string[];
}

async function open(catalog: string, settings: object): Promise<void> {
  await service.ask('PUT', `/v1/catalogs/${catalog}`, settings);
  await service.ask('PUT', `/v1/catalogs/${catalog}/tools`, { tools: TOOLS });
  await service.ask('PUT', `/v1/catalogs/${catalog}/users/mia/context`, { items: ITEMS });
}

async function route(catalog: string, more: object = {}): Promise<Answer> {
  const request = { catalog, query: QUERY, userId: 'mia', k: 3, explore: false, ...more };
  let answer = await service.ask<Answer>('POST', '/v1/route', request);
  // What a user has is not waited for longer than 100 ms; on a slow machine it is there a moment later.
  for (let tries = 0; answer.notes?.some((note) => note.startsWith('What the user has')); tries++) {
    expect(tries).toBeLessThan(20);
    answer = await service.ask<Answer>('POST', '/v1/route', request);
  }
  return answer;
}

const explain = ({ decisionId }: Answer) =>
  service.ask<{ contextExpanded?: boolean }>('GET', `/v1/decisions/${decisionId}`);
const ids = ({ context }: Answer) => context?.map(({ id }) => id);

describe('a query of a user who has items', () => {
  it('goes to no model where the catalog does not want that, which is so at first', async () => {
    await open('off', {});
    model.follow(() => thinks(THOUGHT));
    const answer = await route('off');
    expect(ids(answer)).not.toContain('dentist');
    expect(model.queries).toEqual([]);
    expect(await explain(answer)).not.toHaveProperty('contextExpanded');
    expect(await service.ask('GET', '/v1/catalogs/off')).toMatchObject({
      settings: { contextExpansion: 'off' },
    });
  });

  it('finds its item by what the model thinks of it, asked once, with the query alone', async () => {
    await open('on', { contextExpansion: 'chat' });
    model.follow(() => thinks(THOUGHT));
    const answer = await route('on');
    expect(ids(answer)?.[0]).toBe('dentist');
    expect(answer.notes).toBeUndefined();
    expect(await explain(answer)).toMatchObject({ contextExpanded: true });
    await Promise.all([route('on'), route('on', { k: 2 })]);
    expect(model.queries).toEqual([QUERY]);
    expect(model.bodies[0]).not.toMatch(/Weber|Luigi|Morning Run|mia|place_order/);
  });

  it('is asked about once where it comes twice at once', async () => {
    await open('twice', { contextExpansion: 'chat' });
    await route('twice', { query: 'play the usual' });
    model.follow(() => thinks(THOUGHT));
    const answers = await Promise.all([route('twice'), route('twice')]);
    expect(answers.map((answer) => ids(answer)?.[0])).toEqual(['dentist', 'dentist']);
    expect(model.queries).toEqual([QUERY]);
  });

  it('is not sent without a user, for one who has nothing, and where no items are wanted', async () => {
    await open('nobody', { contextExpansion: 'chat' });
    model.follow(() => thinks(THOUGHT));
    for (const more of [{ userId: undefined }, { userId: 'new' }, { maxContext: 0 }]) {
      expect(await route('nobody', more)).not.toHaveProperty('context');
    }
    expect(await explain(await route('nobody', { query: '…' }))).toMatchObject({ contextExpanded: false });
    expect(model.queries).toEqual([]);
  });

  it('is served as it is, without a note, where the model adds nothing', async () => {
    await open('nothing', { contextExpansion: 'chat' });
    model.follow(() => thinks(''));
    const answer = await route('nothing');
    expect(answer.notes).toBeUndefined();
    expect(await explain(answer)).toMatchObject({ contextExpanded: false });
    expect(ids(answer)).toEqual(ids(await route('off')));
  });

  it.each<[string, Reply, RegExp]>([
    ['slow', 'silence', /no answer within 400 ms/],
    ['failing', { status: 500, body: '' }, /it answered 500/],
    ['talkative', says('Gladly! Zebedee is your dentist.'), /did not answer with JSON/],
  ])('is served as it is, and a note says why, where the model is %s', async (name, reply, reason) => {
    await open(name, { contextExpansion: 'chat' });
    model.follow(() => thinks(''));
    await route(name, { query: 'something else' });
    model.follow(() => reply);
    const answer = await route(name);
    expect(ids(answer)).toEqual(ids(await route('off')));
    expect(answer.notes).toEqual([expect.stringMatching(reason)]);
    expect(answer.notes?.[0]).not.toContain('Zebedee');
    expect(await explain(answer)).toMatchObject({ contextExpanded: false });
  });

  it('is not kept anywhere, nor is what the model thinks of it', async () => {
    const output = service.output;
    await service.stop();
    for (const word of ['Zebedee', 'Dr Weber', 'dentist appointment']) {
      expect((contentOf(folder.path).toString('latin1') + output + service.output).includes(word), word).toBe(
        false,
      );
    }
    service = await RunningService.start(`${folder.path}/without-model`);
  });
});

describe('a service without a chat model', () => {
  it('refuses the setting, and says how to mend that', async () => {
    const { status, body } = await service.request('PUT', '/v1/catalogs/on', { contextExpansion: 'chat' });
    expect({ status, body }).toMatchObject({
      status: 422,
      body: {
        detail: '`contextExpansion` is "chat", and no chat model is configured.',
        suggestedFix: expect.stringContaining('BANDOLIER_CHAT_URL'),
        violations: [{ path: 'contextExpansion' }],
      },
    });
    expect((await service.request('GET', '/v1/catalogs/on')).status).toBe(404);
    expect((await service.request('PUT', '/v1/catalogs/on', { contextExpansion: 'llm' })).status).toBe(422);
    await service.ask('PUT', '/v1/catalogs/on', { contextExpansion: 'off' });
  });

  it('refuses it for a model of this machine that it would never ask, and says how to mend that', async () => {
    await service.stop();
    service = await RunningService.start(`${folder.path}/private-model`, [], {
      BANDOLIER_CHAT_URL: 'http://localhost:1/v1',
      BANDOLIER_CHAT_MODEL: 'any',
    });
    expect(await service.request('PUT', '/v1/catalogs/on', { contextExpansion: 'chat' })).toMatchObject({
      status: 422,
      body: {
        detail: expect.stringContaining('this machine or its own network'),
        suggestedFix: expect.stringContaining('BANDOLIER_ALLOW_PRIVATE_HOSTS=true'),
      },
    });
  });

  it('serves a catalog that was configured with one, and says what is missing', async () => {
    await service.stop();
    service = await RunningService.start(`${folder.path}/with-model`);
    const answer = await route('on');
    expect(ids(answer)).toEqual(ids(await route('off')));
    expect(answer.notes).toEqual([expect.stringContaining('BANDOLIER_CHAT_URL')]);
  });
});
