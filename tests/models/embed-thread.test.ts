import { mkdtempSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { afterAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { threadFile } from '../../config/package-root.ts';
import { EmbedderUnavailableError } from '../../src/models/embedder.ts';
import { EmbedThread } from '../../src/models/onnx/embed-thread.ts';
import { writeTinyModel } from './tiny-model.ts';

const root = mkdtempSync(join(tmpdir(), 'bandolier-embed-thread-'));
afterAll(() => rmSync(root, { recursive: true }));

let folder: string;
let count = 0;
beforeEach(() => {
  folder = writeTinyModel(join(root, `model-${count++}`));
});

/** An embedding thread whose worker can be got at, and what it told. */
async function watched() {
  const workers: Worker[] = [];
  const attempts: number[] = [];
  const changes: [available: boolean, reason: string][] = [];
  const thread = await EmbedThread.open({
    folder,
    startThread: (workerData) => {
      const worker = new Worker(threadFile('embed-thread'), { workerData, execArgv: [] });
      workers.push(worker);
      return worker;
    },
    restartDelay: (attempt) => {
      attempts.push(attempt);
      return 0;
    },
    onChange: (available, reason) => changes.push([available, reason]),
  });
  /** An uncaught exception inside. Not `terminate`: during inference that aborts the process. */
  const kill = async (): Promise<void> => {
    const worker = workers[workers.length - 1];
    const ended = new Promise((resolve) => worker.once('exit', resolve));
    worker.postMessage(null);
    await ended;
  };
  const isBack = () =>
    vi.waitFor(() => expect(thread.available).toBe(true), { timeout: 20_000, interval: 5 });
  return { thread, kill, attempts, changes, isBack };
}

describe('EmbedThread', () => {
  it('rejects what was on its way when the thread dies, and is back by itself', async () => {
    const { thread, kill, changes, isBack } = await watched();
    const before = await thread.embed('send mail', 'query');
    const all = Array.from({ length: 500 }, (_, at) =>
      thread.embed(`send mail ${at}`, at % 2 ? 'query' : 'document'),
    );
    await Promise.race(all);
    void kill();
    const settled = await Promise.allSettled(all);
    const reasons = settled.filter((one) => one.status === 'rejected').map(({ reason }) => reason);
    expect(reasons.length).toBeGreaterThan(0);
    expect(reasons.every((reason) => reason instanceof EmbedderUnavailableError)).toBe(true);
    expect(thread.available).toBe(false);
    await expect(thread.embed('send', 'query')).rejects.toThrow(/has ended and is being started again/);

    await isBack();
    expect(await thread.embed('send mail', 'query')).toEqual(before);
    expect(changes.map(([available]) => available)).toEqual([false, true]);
    await thread.close();
  });

  it('leaves out texts whose callers have given up', async () => {
    const texts: string[] = [];
    const thread = await EmbedThread.open({ folder, onTexts: (_, count) => texts.push(`${count}`) });
    const client = new AbortController();
    const given = ['send mail', 'read file'].map((text) => thread.embed(text, 'query', client.signal));
    const kept = thread.embed('weather', 'query');
    client.abort(new Error('gone'));
    for (const one of await Promise.allSettled(given))
      expect(one).toMatchObject({ reason: { message: 'gone' } });
    expect(await kept).toHaveLength(thread.dimensions);
    expect(texts).toEqual(['1']);
    await thread.close();
  });

  it('says what went wrong inside', async () => {
    const { thread, kill, changes, isBack } = await watched();
    await kill();
    await vi.waitFor(() => expect(changes).toHaveLength(1));
    expect(changes[0]).toEqual([
      false,
      expect.stringMatching(/The embedding thread failed: Cannot read properties of null/),
    ]);
    await isBack();
    await thread.close();
  });

  it('waits longer after every failure, until it has done some work', async () => {
    const { thread, kill, attempts, isBack } = await watched();
    renameSync(folder, `${folder}-away`);
    await kill();
    await vi.waitFor(() => expect(attempts.length).toBeGreaterThan(3), { timeout: 20_000 });
    expect(attempts.slice(0, 4)).toEqual([0, 1, 2, 3]);
    renameSync(`${folder}-away`, folder);
    await isBack();
    await thread.embed('send', 'query');
    attempts.length = 0;
    await kill();
    await isBack();
    expect(attempts).toEqual([0]);
    await thread.close();
  });

  it('never goes on with another model than it began with', async () => {
    const { thread, kill, changes, isBack } = await watched();
    const before = await thread.embed('send', 'query');
    writeTinyModel(folder, { seed: 5 });
    await kill();
    await vi.waitFor(() => expect(changes.some(([, reason]) => /files .* changed/.test(reason))).toBe(true), {
      timeout: 20_000,
    });
    writeTinyModel(folder);
    await isBack();
    expect(await thread.embed('send', 'query')).toEqual(before);
    await thread.close();
  });

  it('survives a text that the model cannot take', async () => {
    writeTinyModel(folder, { rows: 8 });
    const { thread, changes } = await watched();
    await expect(thread.embed('weather', 'query')).rejects.toThrow(/The model failed/);
    expect(await thread.embed('send', 'query')).toHaveLength(8);
    expect(changes).toEqual([]);
    await thread.close();
  });

  it('lets a query pass by the documents', async () => {
    const { thread } = await watched();
    let documentsDone = false;
    const documents = Promise.all(
      Array.from({ length: 400 }, (_, at) => thread.embed(`file ${at}`, 'document')),
    );
    const whenDone = documents.then(() => {
      documentsDone = true;
    });
    await Promise.resolve();
    await thread.embed('send mail', 'query');
    expect(documentsDone).toBe(false);
    await whenDone;
    await thread.close();
  });
});
