import { createHash } from 'node:crypto';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { OnnxEmbedder } from '../../src/models/onnx/onnx-embedder.ts';
import { pulledModelFolder, pulledModels } from '../../src/models/pull/model-store.ts';
import { PullError, type PullOptions, pullModel } from '../../src/models/pull/pull-model.ts';
import { writeTinyModel } from '../models/tiny-model.ts';

const root = mkdtempSync(join(tmpdir(), 'bandolier-models-'));
const model = writeTinyModel(join(root, 'hub'));
const SHA = 'a'.repeat(40);
const CONTENT: Record<string, Buffer> = {
  'onnx/model.onnx': readFileSync(join(model, 'model.onnx')),
  'tokenizer.json': readFileSync(join(model, 'tokenizer.json')),
  'config.json': readFileSync(join(model, 'config.json')),
  'README.md': Buffer.from('not wanted'),
};
const ID = 'somebody/tiny';

/** A hub on this machine, with one model; `serve` may be replaced. */
let server: Server;
let requests: { path: string; range: string | undefined }[] = [];
let listing: unknown;
let serve: (path: string, response: ServerResponse, range: string | undefined) => void;
let dataDir: string;
let count = 0;

beforeAll(async () => {
  server = createServer((request, response) => {
    const path = request.url ?? '';
    requests.push({ path, range: request.headers.range });
    if (path.startsWith('/api/')) response.end(JSON.stringify(listing));
    else serve(path, response, request.headers.range);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
});
beforeEach(() => {
  requests = [];
  listing = { sha: SHA, siblings: Object.entries(CONTENT).map(([name, bytes]) => sibling(name, bytes)) };
  serve = (path, response, range) => {
    const bytes = CONTENT[path.replace(`/${ID}/resolve/${SHA}/`, '')];
    if (bytes === undefined) response.statusCode = 404;
    const start = Number(/^bytes=(\d+)-$/.exec(range ?? '')?.[1] ?? 0);
    if (start > 0) response.statusCode = 206;
    response.end(bytes?.subarray(start));
  };
  dataDir = join(root, `data-${count++}`);
});
afterEach(() => server.closeAllConnections());
afterAll(async () => {
  await new Promise((resolve) => server.close(resolve));
  rmSync(root, { recursive: true });
});

function sibling(rfilename: string, bytes: Buffer): object {
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const blobId = createHash('sha1').update(`blob ${bytes.length}\0`).update(bytes).digest('hex');
  const lfs = rfilename.endsWith('.onnx') ? { lfs: { sha256, size: bytes.length } } : {};
  return { rfilename, size: bytes.length, blobId, ...lfs };
}

const pull = (options: Partial<PullOptions> = {}): Promise<string> =>
  pullModel({
    hubUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    dataDir,
    id: ID,
    revision: 'main',
    allowPrivate: true,
    onProgress: () => undefined,
    ...options,
  });

describe('pullModel', () => {
  it('fetches what is needed, of one commit, with progress', async () => {
    const progress = new Map<string, [number, number]>();
    const folder = await pull({ onProgress: (file, bytes, total) => progress.set(file, [bytes, total]) });
    expect(folder).toBe(pulledModelFolder(dataDir, ID));
    expect(readdirSync(folder).sort()).toEqual(['config.json', 'model.onnx', 'tokenizer.json']);
    for (const [, [bytes, total]] of progress) expect(bytes).toBe(total);
    expect(progress.size).toBe(3);
    expect(await pulledModels(dataDir)).toEqual([ID]);
    const embedder = await OnnxEmbedder.open({ folder });
    expect(embedder.dimensions).toBe(8);
    await embedder.close();
  });

  it('goes on where it stopped, and shows nothing before all of it is there', async () => {
    const whole = serve;
    serve = (path, response, range) => {
      if (!path.endsWith('model.onnx')) return whole(path, response, range);
      response.writeHead(200, { 'content-length': CONTENT['onnx/model.onnx'].length });
      // Not destroyed, which could overtake what was written: the connection ends after these bytes.
      response.write(CONTENT['onnx/model.onnx'].subarray(0, 100), () => response.socket?.end());
    };
    await expect(pull()).rejects.toThrow(/broke off after 100 bytes: the same command goes on there/);
    expect(await pulledModels(dataDir)).toEqual([]);
    serve = whole;
    const folder = await pull();
    expect(requests.filter(({ path }) => path.endsWith('model.onnx')).map(({ range }) => range)).toEqual([
      undefined,
      'bytes=100-',
    ]);
    expect(readFileSync(join(folder, 'model.onnx'))).toEqual(CONTENT['onnx/model.onnx']);
    expect(readdirSync(join(dataDir, 'models'))).toEqual(['somebody--tiny']);
  });

  it('refuses what is not what the hub said, and keeps what was there', async () => {
    const folder = await pull();
    rmSync(join(folder, 'config.json'));
    const whole = serve;
    serve = (path, response) =>
      response.end(Buffer.from(CONTENT[path.replace(`/${ID}/resolve/${SHA}/`, '')]).fill(7));
    await expect(pull()).rejects.toThrow(/arrived damaged/);
    expect(existsSync(join(folder, 'model.onnx'))).toBe(true);
    serve = (path, response, range) => {
      response.write('x'.repeat(10_000));
      whole(path, response, range);
    };
    await expect(pull()).rejects.toThrow(/longer than the hub said/);
    serve = whole;
    await pull();
    expect(existsSync(join(folder, 'config.json'))).toBe(true);
  });

  it.each<[what: string, message: RegExp, options: () => Partial<PullOptions>]>([
    ['a name that is a path', /is no model of a hub/, () => ({ id: '../../etc' })],
    ['a name without owner', /is no model of a hub/, () => ({ id: 'tiny' })],
    [
      'a repository without the file',
      /has no model_int8\.onnx\. Its ONNX files: onnx\/model\.onnx/,
      () => ({ file: 'model_int8.onnx' }),
    ],
    [
      'no tokenizer',
      /has no tokenizer\.json/,
      () => {
        listing = { sha: SHA, siblings: [sibling('model.onnx', CONTENT['onnx/model.onnx'])] };
        return {};
      },
    ],
    [
      'something that is no hub',
      /is no list of files/,
      () => {
        listing = { hello: 'world' };
        return {};
      },
    ],
  ])('explains %s', async (_, message, options) => {
    const given = options();
    await expect(pull(given)).rejects.toThrow(PullError);
    await expect(pull(given)).rejects.toThrow(message);
  });

  it('asks no private address unless that is allowed', async () => {
    await expect(pull({ allowPrivate: false })).rejects.toThrow(/own network/);
  });
});
