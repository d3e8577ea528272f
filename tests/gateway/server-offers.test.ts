import { expect, it } from 'vitest';
import type { Server } from '../../src/gateway/server.ts';
import { ServerOffers } from '../../src/gateway/server-offers.ts';
import type { McpConnection } from '../../src/outgoing/mcp/mcp-connection.ts';

type ListPrompts = () => Promise<string[]>;

interface Setting {
  readonly down?: readonly string[];
  readonly ttlMs?: number;
  readonly log?: (name: string, line: string) => void;
  readonly now?: () => number;
}

/** Servers that offer prompts alone. */
function offersOf(servers: Record<string, ListPrompts>, setting: Setting = {}): ServerOffers {
  const { down = [], ttlMs = null, log = () => {}, now = () => 0 } = setting;
  return new ServerOffers({
    ...{ log, now },
    keys: () => Object.keys(servers),
    get: (name) => {
      const connection: Partial<McpConnection> = {
        listPrompts: async () => ({
          items: (await servers[name]()).map((prompt) => ({ name: prompt })),
          ttlMs,
        }),
      };
      const server: Pick<Server, 'status' | 'use'> = {
        status: {
          ...{ name, state: down.includes(name) ? 'down' : 'stopped', inFlight: 0 },
          ...{ failures: 0, error: null, retryInMs: null },
        },
        use: (work) => work(connection as McpConnection),
      };
      return server as Server;
    },
  });
}

const namesOf = async (offers: ServerOffers) => (await offers.listPrompts()).map(({ name }) => name);

it('a server is asked once, and again when it is forgotten', async () => {
  let asked = 0;
  const offers = offersOf({ a: async () => [`greet-${++asked}`], b: async () => ['ask'] });
  expect(await namesOf(offers)).toEqual(['a/greet-1', 'b/ask']);
  expect(await namesOf(offers)).toEqual(['a/greet-1', 'b/ask']);
  offers.forget('a');
  expect(await namesOf(offers)).toEqual(['a/greet-2', 'b/ask']);
});

it('a list that is forgotten while it is read is not kept', async () => {
  let answer: (names: string[]) => void = () => {};
  let asked = 0;
  const offers = offersOf({
    a: () =>
      ++asked === 1
        ? new Promise((resolve) => {
            answer = resolve;
          })
        : Promise.resolve(['new']),
  });
  const early = namesOf(offers);
  offers.forget('a');
  answer(['old']);
  expect(await early).toEqual(['a/old']);
  expect(await namesOf(offers)).toEqual(['a/new']);
});

it('servers that fail or are down hide nothing of the others, and at most four are asked at once', async () => {
  let asking = 0;
  let most = 0;
  const slow: ListPrompts = async () => {
    most = Math.max(most, ++asking);
    await new Promise((resolve) => setImmediate(resolve));
    asking--;
    return ['greet'];
  };
  const failing = () => Promise.reject(new Error('broken'));
  const many = Object.fromEntries(Array.from({ length: 9 }, (_, i) => [`s${i}`, slow]));
  const offers = offersOf({ failing, ...many, off: slow }, { down: ['off'] });
  expect(await namesOf(offers)).toEqual(Object.keys(many).map((name) => `${name}/greet`));
  expect(most).toBe(4);
});

it('a list is asked for again after the time that its server has stated, and is kept when that fails', async () => {
  let asked = 0;
  let time = 0;
  const lines: string[] = [];
  const list = async () => (++asked < 3 ? [`greet-${asked}`] : Promise.reject(new Error('out of order')));
  const setting = { ttlMs: 100, now: () => time, log: (...line: string[]) => lines.push(line.join(' ')) };
  const offers = offersOf({ a: list }, setting);
  expect(await namesOf(offers)).toEqual(['a/greet-1']);
  time = 99;
  expect(await namesOf(offers)).toEqual(['a/greet-1']);
  time = 100;
  expect(await namesOf(offers)).toEqual(['a/greet-2']);
  time = 200;
  expect(await namesOf(offers)).toEqual(['a/greet-2']);
  expect(lines).toEqual(['a listPrompts failed: out of order']);
});
