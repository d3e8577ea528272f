import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { EmbedderUnavailableError, UnusableModelError } from '../../src/models/embedder.ts';
import type { EmbeddingsEndpoint } from '../../src/models/http/embeddings-client.ts';
import { HttpEmbedder } from '../../src/models/http/http-embedder.ts';
import { embedderContract } from '../contracts/embedder.contract.ts';
import { type EmbeddingsServer, letterVector, startEmbeddingsServer } from './embeddings-server.ts';

let server: EmbeddingsServer;
beforeAll(async () => {
  server = await startEmbeddingsServer();
});
afterAll(() => server.close());
afterEach(() => server.misbehave(null));

const open = (options: Partial<EmbeddingsEndpoint> = {}): Promise<HttpEmbedder> =>
  HttpEmbedder.open({
    url: server.url,
    model: 'letters',
    timeoutMs: 5_000,
    allowPrivate: true,
    retryMs: 1,
    restMs: 50,
    ...options,
  });
const answering =
  (body: unknown, status = 200) =>
  (_: unknown, response: ServerResponse): void => {
    response.statusCode = status;
    response.end(typeof body === 'string' ? body : JSON.stringify(body));
  };
const vectors = (values: unknown[]) => (_: unknown, response: ServerResponse, input: string[]) =>
  answering({ data: input.map((__, index) => ({ index, embedding: values })) })(_, response);

embedderContract('HttpEmbedder', () => open());

describe('HttpEmbedder', () => {
  it('sends batches, keeps their order, and sends no empty text', async () => {
    const embedder = await open();
    const before = server.requests.length;
    const texts = Array.from({ length: 150 }, (_, at) => (at === 70 ? ' ' : 'ab'.repeat(at % 7) + at));
    const embedded = await embedder.embedDocuments(texts);
    expect(server.requests.slice(before).map(({ input }) => input.length)).toEqual([64, 63, 22]);
    for (const [at, vector] of embedded.entries()) {
      const expected = letterVector(texts[at]);
      const length = Math.hypot(...expected) || 1;
      for (const [i, value] of vector.entries()) expect(value).toBeCloseTo(expected[i] / length, 5);
    }
    await embedder.close();
  });

  it('sends the key as a bearer token, and none if there is none', async () => {
    const plain = await open();
    const withKey = await open({ key: 'sk-secret' });
    expect(server.requests.slice(-2).map(({ authorization }) => authorization)).toEqual([
      undefined,
      'Bearer sk-secret',
    ]);
    expect(withKey.fingerprint).toBe(plain.fingerprint);
    const other = await open({ model: 'others' });
    expect(other.fingerprint).not.toBe(plain.fingerprint);
    for (const one of [plain, withKey, other]) await one.close();
  });

  it('tries documents again when the service stumbles, and queries not', async () => {
    const embedder = await open({ restMs: 1 });
    let stumbles = 2;
    server.misbehave((request, response, input) => {
      if (stumbles-- > 0) return answering('busy', 503)(request, response);
      server.misbehave(null);
      const data = input.map((text, index) => ({ index, embedding: letterVector(text) }));
      answering({ data })(request, response);
    });
    expect(await embedder.embedDocuments(['send'])).toHaveLength(1);
    const before = server.requests.length;
    server.misbehave(answering('busy', 503));
    await expect(embedder.embedQueries(['once'])).rejects.toThrow(EmbedderUnavailableError);
    expect(server.requests.length).toBe(before + 1);
    await embedder.close();
  });

  it('leaves a failing service alone, says so, and is back by itself', async () => {
    const changes: boolean[] = [];
    const embedder = await open({ onChange: (available) => changes.push(available) });
    server.misbehave(answering('down', 500));
    for (let query = 0; query < 30; query++)
      await embedder.embedQueries([`q${query}`]).catch(() => undefined);
    expect(changes[0]).toBe(false);
    const asked = server.requests.length;
    await expect(embedder.embedQueries(['more'])).rejects.toThrow(EmbedderUnavailableError);
    expect(server.requests.length).toBeLessThanOrEqual(asked + 1);
    server.misbehave(null);
    await vi.waitFor(async () => expect(await embedder.embedQueries(['back'])).toHaveLength(1), {
      timeout: 20_000,
    });
    expect(changes.at(-1)).toBe(true);
    await embedder.close();
  });

  it('gives up on a service that says nothing', async () => {
    server.misbehave(() => undefined);
    await expect(open({ timeoutMs: 30 })).rejects.toThrow(/no answer from .* within 30 ms/);
  });

  it('refuses addresses of its own network unless they are allowed', async () => {
    await expect(open({ allowPrivate: false })).rejects.toThrow(UnusableModelError);
    await expect(open({ allowPrivate: false })).rejects.toThrow(/own network, and those are not allowed/);
    const named = server.url.replace('127.0.0.1', 'localhost');
    await expect(open({ allowPrivate: false, url: named })).rejects.toThrow(/own network/);
  });

  it('follows no redirect: the key is for this address', async () => {
    server.misbehave((_, response) => {
      response.writeHead(302, { location: 'http://example.com/' });
      response.end();
    });
    await expect(open()).rejects.toThrow(/sends us elsewhere/);
  });

  const nonsense: [what: string, message: RegExp, how: Parameters<EmbeddingsServer['misbehave']>[0]][] = [
    ['nothing', /its answer is empty/, answering('')],
    ['a web page', /it answered with a web page/, answering('<!doctype html><title>Sign in</title>')],
    ['no JSON', /its answer is not JSON/, answering('{"data": [')],
    ['another JSON', /its answer has no list "data"/, answering({ error: 'no' })],
    ['too few embeddings', /it gave 0 embeddings for 1 texts/, answering({ data: [] })],
    ['NaN', /an element that is no number/, answering('{"data":[{"index":0,"embedding":[null,1]}]}')],
    ['text', /an element that is no number/, vectors(['a', 'b'])],
    ['numbers that are too large', /infinite length/, vectors([1.7e308, 1.7e308])],
    ['no list', /is no list of numbers/, answering({ data: [{ index: 0, embedding: 'AAAA' }] })],
    ['a wrong key', /it answered 401: see BANDOLIER_EMBEDDINGS_KEY/, answering('', 401)],
    ['a wrong address', /it answered 404: is this the base address/, answering('', 404)],
  ];
  it.each(nonsense)('explains %s', async (_, message, how) => {
    server.misbehave(how);
    await expect(open()).rejects.toThrow(UnusableModelError);
    await expect(open()).rejects.toThrow(message);
  });

  it('never mixes dimensions: 1,024 instead of 8 is a failure, not a vector', async () => {
    const embedder = await open();
    server.misbehave(vectors(new Array(1_024).fill(0.03)));
    await expect(embedder.embedQueries(['send'])).rejects.toThrow(EmbedderUnavailableError);
    await expect(embedder.embedDocuments(['send'])).rejects.toThrow(/1024 dimensions instead of 8/);
    await expect(open({ dimensions: 8 })).rejects.toThrow(/1024 dimensions instead of 8/);
    server.misbehave(null);
    await embedder.close();
  });
});
