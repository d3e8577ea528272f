import { afterEach, describe, expect, it } from 'vitest';
import { ChatModel } from '../../../bench/chat-model.ts';
import { ORACLE_RIGHT, pickByChat, pickByOracle, pickByWords } from '../../../bench/conditions/reasoning.ts';
import { CONDITIONS, shownAs } from '../../../bench/conditions/shown-tools.ts';
import { ChatServer } from '../chat-server.ts';

const inputSchema = { type: 'object', properties: { city: { type: 'string' } } };
const WEATHER = { name: 'get_weather', description: 'Weather of a city today.', inputSchema };
const STOCKS = { name: 'get_stock', description: 'Price of a stock.', inputSchema: {} };
const JOKES = { name: 'tell_joke', description: 'A joke about weather.', inputSchema: {} };
const tools = [STOCKS, JOKES, WEATHER];
const query = 'weather in the city of Oslo';

it('a condition shows of a tool no more than it says', () => {
  expect(CONDITIONS.map((condition) => shownAs(condition, WEATHER, 7))).toEqual([
    { name: 'Action 7', description: '', inputSchema: {} },
    { name: 'get_weather', description: '', inputSchema: {} },
    { name: 'Action 7', description: 'Weather of a city today.', inputSchema: {} },
    { name: 'get_weather', description: 'Weather of a city today.', inputSchema: {} },
    WEATHER,
  ]);
});

describe('the scripted reasoning steps', () => {
  it('by words takes the tool that shares most of them, of equals the first', () => {
    expect(pickByWords({ query, tools })).toBe(2);
    expect(pickByWords({ query: 'unrelated', tools })).toBe(0);
  });

  it('the oracle takes a right tool it is shown with its probability, by words otherwise', () => {
    const picks = Array.from({ length: 4000 }, (_, at) =>
      pickByOracle({ query: `stock ${at}`, tools, right: 1 }),
    );
    expect(picks.filter((pick) => pick === 1).length / picks.length).toBeCloseTo(ORACLE_RIGHT, 1.5);
    expect(new Set(picks)).toEqual(new Set([1, 0]));
    expect(pickByOracle({ query: 'stock 5', tools, right: 1 })).toBe(picks[5]);
    expect(pickByOracle({ query, tools, right: -1 })).toBe(2);
  });
});

describe('a chat model as the reasoning step', () => {
  let server: ChatServer;
  afterEach(() => server.stop());

  async function pickAfter(answer: string): Promise<number> {
    server = await ChatServer.start(() => answer);
    return pickByChat(new ChatModel({ url: server.url, model: 'scripted' }, []), { query, tools });
  }

  it('is asked zero-shot with the prompt of the paper', async () => {
    expect(await pickAfter('{"tool_calls": [{"name": "get_weather", "arguments": {"city": "Oslo"}}]}')).toBe(
      2,
    );
    const [{ messages, temperature, authorization }] = server.requests;
    expect(messages).toMatchObject([{ role: 'user' }]);
    expect(temperature).toBe(0);
    expect(authorization).toBeUndefined();
    expect(messages[0].content).toMatch(
      /^\[BEGIN OF TASK INSTRUCTION\]\nYou are an expert in composing functions\./,
    );
    expect(messages[0].content).toContain(
      `get_stock: Price of a stock.\ntell_joke: A joke about weather.\nget_weather: Weather of a city today. ${JSON.stringify(inputSchema)}\n[END OF AVAILABLE TOOLS]`,
    );
    expect(messages[0].content).toContain(`User Query: ${query}\n`);
    expect(messages[0].content).toContain('make tool_calls an empty list []\n\n{\n"tool_calls": [');
  });

  it.each([
    ['```json\n{"tool_calls": [{"name": "tell_joke", "arguments": {}}]}\n```', 1],
    ['{"tool_calls": [{"name": "get_stock"}, {"name": "get_weather"}]}', 0],
    ['{"tool_calls": []}', -1],
    ['{"tool_calls": [{"name": "launch_rocket", "arguments": {}}]}', -1],
    ['I would ask get_weather.', -1],
  ])('picks by %j', async (answer, expected) => {
    expect(await pickAfter(answer)).toBe(expected);
  });
});
