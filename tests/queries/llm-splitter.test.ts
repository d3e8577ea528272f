import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { LlmSplitter, MissingLlmSplitter } from '../../src/queries/llm-splitter.ts';
import { splitQuery } from '../../src/queries/split-query.ts';
import { splitterContract } from '../contracts/splitter.contract.ts';

type Reply = (
  query: string,
) => { status?: number; body: string; headers?: Record<string, string> } | 'silence';

/** A chat endpoint that answers as it is told to. */
let server: Server;
let url: string;
let reply: Reply;
const seen: { headers: IncomingMessage['headers']; body: Record<string, unknown> }[] = [];

beforeAll(async () => {
  server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const body = JSON.parse(Buffer.concat(chunks).toString('utf8'));
    seen.push({ headers: request.headers, body });
    const answer = reply(JSON.parse(body.messages[1].content));
    if (answer === 'silence') return;
    response.writeHead(answer.status ?? 200, answer.headers).end(answer.body);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => void seen.splice(0));

const says = (content: unknown) => ({ body: JSON.stringify({ choices: [{ message: { content } }] }) });
const saysParts = (...parts: string[]) => says(JSON.stringify(parts));

let now = 0;
const changes: [boolean, string][] = [];
const splitter = (timeoutMs = 5_000, key: string | undefined = 'secret') => {
  now = 0;
  changes.splice(0);
  return new LlmSplitter({
    chat: { url: `${url}/`, model: 'small', key, timeoutMs, allowPrivate: true },
    steadyNow: () => now,
    onChange: (available, reason) => void changes.push([available, reason]),
  });
};

const QUERY = 'get the red list to the sales people, and the lights off in the depot too';
const PARTS = ['get the red list to the sales people', 'the lights off in the depot'];

splitterContract('LlmSplitter', () => {
  reply = (query) => saysParts(...splitQuery(query).map((part) => part.slice(0, 500)));
  return splitter();
});
splitterContract('MissingLlmSplitter', () => new MissingLlmSplitter());

describe('LlmSplitter', () => {
  it('asks the configured model, with the key, and takes its parts', async () => {
    reply = () => saysParts(...PARTS);
    expect(await splitter().split(QUERY)).toEqual({ parts: PARTS, by: 'llm', fallback: null });
    expect(seen).toHaveLength(1);
    expect(seen[0].headers.authorization).toBe('Bearer secret');
    expect(seen[0].body).toMatchObject({ model: 'small', temperature: 0 });
  });

  it('sends no authorisation without a key', async () => {
    reply = () => saysParts(...PARTS);
    const keyless = new LlmSplitter({
      chat: { url, model: 'small', key: undefined, timeoutMs: 5_000, allowPrivate: true },
      steadyNow: () => 0,
    });
    await keyless.split(QUERY);
    expect(seen[0].headers.authorization).toBeUndefined();
  });

  it('takes an answer in a code fence', async () => {
    reply = () => says(`\`\`\`json\n${JSON.stringify(PARTS)}\n\`\`\``);
    expect((await splitter().split(QUERY)).parts).toEqual(PARTS);
  });

  it('asks once for the same query, and not at all for a terse one', async () => {
    reply = () => saysParts(...PARTS);
    const one = splitter();
    await one.split(QUERY);
    expect((await one.split(QUERY)).by).toBe('llm');
    await one.split('refund it please');
    expect(seen).toHaveLength(1);
  });

  it.each<[string, Reply, RegExp]>([
    ['an error', () => ({ status: 500, body: 'down' }), /answered 500/],
    [
      'a redirect',
      () => ({ status: 302, body: '', headers: { location: `${url}/x` } }),
      /sends us elsewhere/,
    ],
    ['HTML', () => ({ body: '<html>' }), /not JSON/],
    ['JSON of another shape', () => ({ body: '{"choices":[]}' }), /no choices\[0\]/],
    ['prose', () => says('Sure! Here they are: list, lights'), /JSON array/],
    ['an object', () => says('{"parts":["the red list"]}'), /JSON array/],
    ['no parts', () => says('[]'), /JSON array/],
    ['too many parts', () => saysParts(...Array.from({ length: 9 }, () => 'the red list')), /JSON array/],
    ['a number among them', () => says('["the red list", 7]'), /JSON array/],
    ['a very long part', () => saysParts(`red ${'x'.repeat(600)}`), /JSON array/],
    ['something else entirely', () => saysParts('the red list', 'delete every customer'), /not in the query/],
    ['an endless answer', () => says('x'.repeat(100_000)), /longer than/],
  ])('splits by clauses and says why after %s', async (_, answer, reason) => {
    reply = answer;
    const split = await splitter().split(QUERY);
    expect(split).toMatchObject({ parts: splitQuery(QUERY), by: 'clauses' });
    expect(split.fallback).toMatch(reason);
    expect(changes).toEqual([[false, expect.stringMatching(reason)]]);
  });

  it('does not wait longer than it may', async () => {
    reply = () => 'silence';
    expect((await splitter(50).split(QUERY)).fallback).toMatch(/no answer within 50 ms/);
  });

  it('does not wait for an address without a listener', async () => {
    const nobody = new LlmSplitter({
      chat: {
        url: 'http://127.0.0.1:9',
        model: 'small',
        key: undefined,
        timeoutMs: 5_000,
        allowPrivate: true,
      },
      steadyNow: () => 0,
    });
    expect((await nobody.split(QUERY)).fallback).toMatch(/cannot be reached/);
  });

  it('leaves an endpoint that keeps failing alone for a while, and comes back to it', async () => {
    reply = () => ({ status: 503, body: '' });
    const one = splitter();
    for (let i = 0; i < 3; i++) await one.split(QUERY);
    expect((await one.split(QUERY)).fallback).toMatch(/3 times in a row and is not asked for now/);
    expect(seen).toHaveLength(3);
    now = 10_000;
    reply = () => saysParts(...PARTS);
    expect((await one.split(QUERY)).by).toBe('llm');
    expect(changes).toEqual([
      [false, 'it answered 503'],
      [true, 'answers again'],
    ]);
  });
});

describe('LlmSplitter for a caller that has given up', () => {
  it('ends the request, and does not hold it against the endpoint', async () => {
    const client = new AbortController();
    reply = () => {
      client.abort(new Error('gone'));
      return 'silence';
    };
    await expect(splitter().split(QUERY, client.signal)).rejects.toThrow('gone');
    expect(changes).toEqual([]);
  });
});

describe('MissingLlmSplitter', () => {
  it('splits by clauses and says what to configure', async () => {
    const split = await new MissingLlmSplitter().split(
      'Check the tyres of van 12. Then order two spare tubes.',
    );
    expect(split.parts).toHaveLength(2);
    expect(split.fallback).toMatch(/BANDOLIER_CHAT_URL/);
  });
});
