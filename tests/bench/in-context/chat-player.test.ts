import { afterEach, describe, expect, it } from 'vitest';
import { ChatModel } from '../../../bench/chat-model.ts';
import { ChatPlayer, chosenAction } from '../../../bench/in-context/chat-player.ts';
import { EXPERIMENTS } from '../../../bench/in-context/experiments.ts';
import { play } from '../../../bench/in-context/play.ts';
import { type ChatRequest, ChatServer } from '../chat-server.ts';

const [fQfA, mQfA, fQmA] = EXPERIMENTS;
let server: ChatServer;
afterEach(() => server?.stop());

async function playerOf(model: (request: ChatRequest, at: number) => string | number, maxTokens = 500) {
  server = await ChatServer.start(model);
  return new ChatPlayer(
    new ChatModel({ url: server.url, model: 'scripted', key: 'sk-test' }, [0]),
    maxTokens,
  );
}

const systemOf = ({ messages }: ChatRequest): string => messages[0].content;
const userOf = ({ messages }: ChatRequest): string => messages[1].content;

/** The names in the prompt's list of actions. */
function actionsOf(request: ChatRequest): string[] {
  const list = /Available actions: \[\n([\s\S]*)\n\]$/.exec(systemOf(request))![1];
  return list.split('\n').map((line) => line.trim().split(':')[0]);
}

describe('a chat model in the in-context experiments', () => {
  it('is asked with the prompt of the paper, and plays an experiment to its end', async () => {
    const player = await playerOf(() => 'Reasoning: numbers. Chosen Action: Data Analyzer');
    const { choices, regret, reward } = await play(fQfA, 'names and descriptions', 0, player);
    expect(choices).toEqual(Array(10).fill('tool_A'));
    expect(regret).toBe(0);
    expect(server.requests).toHaveLength(10);
    for (const request of server.requests) {
      expect(request).toMatchObject({
        model: 'scripted',
        temperature: 0.5,
        max_tokens: 500,
        authorization: 'Bearer sk-test',
        messages: [{ role: 'system' }, { role: 'user' }],
      });
      expect(systemOf(request)).toMatch(
        /^You are an intelligent assistant playing a multi-armed bandit game\./,
      );
      expect(systemOf(request)).toContain('  Data Analyzer: Processes numerical data arrays to find trends.');
    }
    const [opening, second] = server.requests.map(userOf);
    expect(opening).toContain('(no history yet)');
    expect(opening).toContain('Current User Query (Global Turn 1): "I have a list of sales figures');
    expect(second).toMatch(
      /Turn 1: Query: "I have a list .*", Your Choice: Data Analyzer, Outcome: Reward [01]\n/,
    );
    const told = userOf(server.requests[9]).match(/Outcome: Reward 1/g)?.length ?? 0;
    expect(reward - told).toBeGreaterThanOrEqual(0);
    expect(reward - told).toBeLessThanOrEqual(1);
  });

  it('sees the most recent 20 turns, numbered through', async () => {
    const player = await playerOf((request) => `Chosen Action: ${actionsOf(request)[0]}`);
    await play(mQfA, 'index only', 2, player);
    const turns = (request: ChatRequest) =>
      [...userOf(request).matchAll(/^Turn (\d+):/gm)].map((match) => Number(match[1]));
    expect(turns(server.requests[20])).toEqual(Array.from({ length: 20 }, (_, at) => at + 1));
    expect(turns(server.requests[49])).toEqual(Array.from({ length: 20 }, (_, at) => at + 30));
    expect(systemOf(server.requests[0])).not.toContain('QuickTranslate');
    expect(actionsOf(server.requests[0])).toEqual(['Action 1', 'Action 2', 'Action 3', 'Action 4']);
  });

  it('follows tools as they come and go, and learns from its history', async () => {
    // Takes what earned something the last time, or else the next one in the list.
    const player = await playerOf((request, at) => {
      const actions = actionsOf(request);
      const rewarded = [...userOf(request).matchAll(/Your Choice: (.*), Outcome: Reward 1/g)]
        .map((match) => match[1])
        .filter((name) => actions.includes(name))
        .at(-1);
      return `Chosen Action: "${rewarded ?? actions[at % actions.length]}"`;
    }, 1500);
    const { choices } = await play(fQmA, 'names only', 0, player);
    expect(server.requests.map((request) => actionsOf(request).length)).toEqual([
      ...Array(7).fill(2),
      ...Array(10).fill(3),
      ...Array(18).fill(2),
    ]);
    expect(choices).not.toContain(null);
    expect(choices.at(-1)).toBe('E3_SuperCalc');
    expect(server.requests[0].max_tokens).toBe(1500);
  });

  it('earns nothing by an answer that names no tool', async () => {
    const player = await playerOf(() => 'None of them. Chosen Action: None');
    const { choices, reward, regret } = await play(fQfA, 'names only', 0, player);
    expect(choices).toEqual(Array(10).fill(null));
    expect(reward).toBe(0);
    expect(regret).toBeCloseTo(9, 10);
    expect(userOf(server.requests[1])).toContain('Your Choice: None, Outcome: Reward 0');
  });

  it('asks a busy endpoint again, and says what one that refuses it has said', async () => {
    const player = await playerOf((_, at) => (at === 0 ? 429 : 'Chosen Action: Data Analyzer'));
    await play(fQfA, 'names only', 0, player);
    expect(server.requests).toHaveLength(11);
    server.stop();
    const refused = await playerOf(() => 401);
    await expect(play(fQfA, 'names only', 0, refused)).rejects.toThrow('The chat endpoint answered 401');
    expect(server.requests).toHaveLength(1);
  });

  it('is the one that the settings of the service name', () => {
    expect(ChatModel.configured({})).toBeNull();
    expect(() => ChatModel.configured({ BANDOLIER_CHAT_URL: 'http://localhost/v1' })).toThrow(
      'BANDOLIER_CHAT_MODEL',
    );
    const settings = { BANDOLIER_CHAT_URL: 'http://localhost/v1', BANDOLIER_CHAT_MODEL: 'small' };
    expect(ChatModel.configured(settings)?.name).toBe('small');
  });
});

describe('the choice in an answer', () => {
  const names = ['Data Analyzer', 'Data Analyzer Pro', 'Image Resizer'];
  const numbers = ['Action 1', 'Action 2', 'Action 12'];

  it.each([
    ['Reasoning: … Chosen Action: Data Analyzer', names, 'Data Analyzer'],
    ['Chosen Action: Data Analyzer Pro.', names, 'Data Analyzer Pro'],
    ['**Chosen Action:** "image resizer"', names, 'Image Resizer'],
    ['Chosen Action: Image Resizer\n\nor rather\nChosen Action: [Data Analyzer]', names, 'Data Analyzer'],
    ['Chosen Action:\n- Image Resizer', names, 'Image Resizer'],
    ['Chosen Action: Action 12', numbers, 'Action 12'],
    ['Chosen Action: 2', numbers, 'Action 2'],
    ['Chosen Action: None', names, null],
    ['Chosen Action: Action 3', numbers, null],
    ['Data Analyzer looks good', names, null],
    ['', names, null],
  ])('%j', (answer, labels, expected) => {
    expect(chosenAction(answer, labels)).toBe(expected);
  });
});
