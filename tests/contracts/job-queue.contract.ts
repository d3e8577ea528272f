import { afterEach, describe, expect, it } from 'vitest';
import { StoreUnavailableError } from '../../src/errors/store-errors.ts';
import { type Job, type JobQueue, UnrecoverableJobError } from '../../src/queue/job-queue.ts';

/** One place in which jobs are kept, used by one process at a time. */
export interface QueuePlace {
  /** Connects to it, as a starting process does. */
  connect(limits?: { readonly maxJobs: number }): Promise<JobQueue>;
  /** What the schedule of retries calls a second, in ms of `now`; a real clock runs it faster. */
  readonly secondMs: number;
  /** ms since the epoch, by the clock of the queue. */
  now(): number;
  /** Resolves once `condition` holds; meanwhile time goes by, really or because a clock is turned. */
  until(condition: () => boolean | Promise<boolean>): Promise<void>;
  dispose(): Promise<void>;
}

/** What every implementation of `JobQueue` keeps. `createPlace` makes an empty one. */
export function jobQueueContract(name: string, createPlace: () => Promise<QueuePlace>): void {
  describe(`${name} as a job queue`, () => {
    let place: QueuePlace;
    let queue: JobQueue;

    async function start(limits?: { readonly maxJobs: number }): Promise<void> {
      place = await createPlace();
      queue = await place.connect(limits);
    }

    async function restart(): Promise<void> {
      await queue.close(0);
      queue = await place.connect();
    }

    afterEach(async () => {
      await queue.close(0);
      await place.dispose();
    });

    /** In this order: a job goes from the delayed ones to the others, never back. */
    const isIdle = async (): Promise<boolean> =>
      (await queue.delayed()) === 0 && (await queue.pending()) === 0;

    it('runs every job once, with its payload, in the order of adding', async () => {
      await start();
      const seen: Job[] = [];
      await queue.add([job('a', { n: 1, deep: [{ text: 'ä\u2028', none: null }] }), job('b', 'text')]);
      queue.process('work', async (taken) => void seen.push(taken), { concurrency: 1 });
      for (let i = 0; i < 20; i++) await queue.add([job(`c${i}`, i)]);
      await place.until(isIdle);
      expect(seen.map(({ id }) => id)).toEqual(['a', 'b', ...Array.from({ length: 20 }, (_, i) => `c${i}`)]);
      expect(seen[0]).toMatchObject(job('a', { n: 1, deep: [{ text: 'ä\u2028', none: null }] }));
      expect(seen[1].payload).toBe('text');
    });

    it('keeps jobs until they are taken, over a restart', async () => {
      await start();
      await queue.add([job('a'), job('b'), { ...job('c'), name: 'other' }]);
      expect(await queue.pending()).toBe(3);
      await restart();
      expect(await queue.pending()).toBe(3);
      const seen = collect(queue);
      await place.until(() => seen.length === 2);
      expect(seen).toEqual(['a', 'b']);
      await place.until(async () => (await queue.pending()) === 1);
    });

    it('does not run a job again that is done, even after a restart', async () => {
      await start();
      const seen = collect(queue);
      await queue.add(Array.from({ length: 50 }, (_, i) => job(`${i}`)));
      await place.until(isIdle);
      await restart();
      const again = collect(queue);
      await queue.add([job('last')]);
      await place.until(isIdle);
      expect(seen).toHaveLength(50);
      expect(again).toEqual(['last']);
    });

    it('runs as many at a time as it may, and no more', async () => {
      await start();
      let running = 0;
      let most = 0;
      const gate = new Gate();
      const handler = async (): Promise<void> => {
        most = Math.max(most, ++running);
        await gate.opened;
        running--;
      };
      queue.process('work', handler, { concurrency: 3 });
      await queue.add(Array.from({ length: 10 }, (_, i) => job(`${i}`)));
      await place.until(() => running === 3);
      expect(await queue.pending()).toBe(10);
      gate.open();
      await place.until(isIdle);
      expect(most).toBe(3);
    });

    it('ignores an id that waits or runs, and takes it again when it is done', async () => {
      await start();
      await Promise.all([queue.add([job('a', 1), job('a', 2)]), queue.add([job('a', 3)])]);
      expect(await queue.pending()).toBe(1);
      const payloads: unknown[] = [];
      const gate = new Gate();
      const handler = async ({ payload }: Job): Promise<void> => {
        payloads.push(payload);
        await gate.opened;
      };
      queue.process('work', handler, { concurrency: 5 });
      await place.until(() => payloads.length === 1);
      await queue.add([job('a', 4)]);
      gate.open();
      await place.until(isIdle);
      await queue.add([job('a', 5)]);
      await place.until(() => payloads.length === 2);
      expect(payloads).toEqual([1, 5]);
    });

    it('runs a delayed job when its time has come, and counts it apart until then', async () => {
      await start();
      const started: { id: string; at: number }[] = [];
      const handler = async ({ id }: Job): Promise<void> => void started.push({ id, at: place.now() });
      queue.process('work', handler, { concurrency: 10 });
      const begin = place.now();
      const dueIn = (seconds: number): number => begin + seconds * place.secondMs;
      await queue.add([
        { ...job('late'), runAt: dueIn(20) },
        { ...job('soon'), runAt: dueIn(10) },
        { ...job('past'), runAt: begin - 1 },
        { ...job('far'), runAt: dueIn(36_000) },
      ]);
      await place.until(async () => (await queue.delayed()) === 1 && (await queue.pending()) === 0);
      expect(started.map(({ id }) => id)).toEqual(['past', 'soon', 'late']);
      expect(started[1].at).toBeGreaterThanOrEqual(dueIn(10));
      expect(started[2].at).toBeGreaterThanOrEqual(dueIn(20));
    });

    it('keeps delayed jobs over a restart, and their ids taken', async () => {
      await start();
      const runAt = place.now() + 20 * place.secondMs;
      await queue.add([{ ...job('a', 1), runAt }]);
      await restart();
      expect([await queue.pending(), await queue.delayed()]).toEqual([0, 1]);
      await queue.add([job('a', 2)]);
      const started: [unknown, number][] = [];
      queue.process('work', async ({ payload }) => void started.push([payload, place.now()]), {
        concurrency: 1,
      });
      await place.until(isIdle);
      expect(started).toHaveLength(1);
      expect(started[0][0]).toBe(1);
      expect(started[0][1]).toBeGreaterThanOrEqual(runAt);
    });

    it('names every job that waits, runs or is delayed', async () => {
      await start();
      const runAt = place.now() + 3600 * place.secondMs;
      await queue.add([job('a', { n: 1 }), { ...job('later', 2), runAt }, { ...job('b'), name: 'other' }]);
      const gate = new Gate();
      let runs = false;
      const handler = async (): Promise<void> => {
        runs = true;
        await gate.opened;
      };
      queue.process('work', handler, { concurrency: 1 });
      await place.until(() => runs);
      const jobs: Job[] = [];
      for await (const one of queue.jobs()) jobs.push(one);
      expect(jobs.sort((x, y) => x.id.localeCompare(y.id))).toEqual([
        { ...job('a', { n: 1 }), runAt: expect.any(Number) },
        { ...job('b'), name: 'other', runAt: expect.any(Number) },
        { ...job('later', 2), runAt },
      ]);
      gate.open();
    });

    it('tries a failed job again, waiting longer each time', async () => {
      await start();
      const attempts: number[] = [];
      const handler = async (): Promise<void> => {
        attempts.push(place.now());
        if (attempts.length < 4) throw new Error('not yet');
      };
      queue.process('work', handler, { concurrency: 1 });
      await queue.add([job('a')]);
      await place.until(isIdle);
      expect(attempts).toHaveLength(4);
      for (const [n, seconds] of [1, 2, 4].entries()) {
        expect(attempts[n + 1] - attempts[n]).toBeGreaterThanOrEqual(seconds * place.secondMs);
      }
      expect(await queue.deadJobs(10)).toEqual([]);
    });

    it('lets others run while one waits for its next try', async () => {
      await start();
      const seen: string[] = [];
      const handler = async ({ id }: Job): Promise<void> => {
        seen.push(id);
        if (id === 'bad' && seen.length === 1) throw new Error('not yet');
      };
      queue.process('work', handler, { concurrency: 1 });
      await queue.add([job('bad'), job('good')]);
      await place.until(isIdle);
      expect(seen).toEqual(['bad', 'good', 'bad']);
    });

    it('buries a job after ten attempts, with what went wrong', async () => {
      await start();
      let attempts = 0;
      const handler = async (): Promise<void> => {
        throw new Error(`broken ${++attempts}`);
      };
      queue.process('work', handler, { concurrency: 1 });
      await queue.add([job('a', { some: 'payload' })]);
      await place.until(async () => (await queue.deadJobs(1)).length === 1);
      expect(attempts).toBe(10);
      expect(await isIdle()).toBe(true);
      const [dead] = await queue.deadJobs(1);
      expect(dead).toMatchObject({ job: job('a', { some: 'payload' }), attempts: 10, error: 'broken 10' });
      expect(dead.failedAt).toBeLessThanOrEqual(place.now());
    });

    it('counts a job that waits for its next try as pending, and never buries it because a store is away', async () => {
      await start();
      let attempts = 0;
      const handler = async (): Promise<void> => {
        if (++attempts < 15) throw new StoreUnavailableError('away');
      };
      queue.process('work', handler, { concurrency: 1 });
      await queue.add([job('a')]);
      await place.until(() => attempts >= 2);
      expect([await queue.pending(), await queue.delayed()]).toEqual([1, 0]);
      await place.until(isIdle);
      expect(attempts).toBe(15);
      expect(await queue.deadJobs(1)).toEqual([]);
    });

    it('remembers over a restart how often a job has failed', async () => {
      await start();
      let attempts = 0;
      const handler = async (): Promise<void> => {
        attempts++;
        throw new Error('broken');
      };
      queue.process('work', handler, { concurrency: 1 });
      await queue.add([job('a')]);
      await place.until(() => attempts >= 3);
      await queue.close(10 * place.secondMs);
      queue = await place.connect();
      queue.process('work', handler, { concurrency: 1 });
      await place.until(async () => (await queue.deadJobs(1)).length === 1);
      expect(attempts).toBe(10);
    });

    it('buries at once what can never succeed', async () => {
      await start();
      const handler = async ({ id }: Job): Promise<void> => {
        throw new UnrecoverableJobError(`no such catalog: ${id}`);
      };
      queue.process('work', handler, { concurrency: 1 });
      for (const id of ['a', 'b', 'c']) {
        await queue.add([job(id)]);
        await place.until(isIdle);
      }
      expect(await queue.buried()).toBe(3);
      const dead = await queue.deadJobs(2);
      expect(dead.map(({ job: { id }, attempts }) => [id, attempts])).toEqual([
        ['c', 1],
        ['b', 1],
      ]);
      await restart();
      expect((await queue.deadJobs(10)).map(({ error }) => error)).toEqual([
        'no such catalog: c',
        'no such catalog: b',
        'no such catalog: a',
      ]);
    });

    it('puts buried jobs back: some, or all of them, with all their attempts before them', async () => {
      await start();
      let works = false;
      const seen: string[] = [];
      const handler = async ({ id }: Job): Promise<void> => {
        if (!works) throw new UnrecoverableJobError('down');
        seen.push(id);
      };
      queue.process('work', handler, { concurrency: 1 });
      await queue.add([job('a'), job('b'), job('c')]);
      await place.until(async () => (await queue.deadJobs(10)).length === 3);
      expect(await queue.redrive(['b', 'unknown'])).toBe(1);
      await place.until(async () => (await queue.deadJobs(10)).length === 3);
      works = true;
      expect(await queue.redrive(['b'])).toBe(1);
      await place.until(() => seen.length === 1);
      expect(await queue.redrive()).toBe(2);
      await place.until(isIdle);
      expect([...seen].sort()).toEqual(['a', 'b', 'c']);
      expect(await queue.deadJobs(10)).toEqual([]);
      expect(await queue.redrive()).toBe(0);
    });

    it('takes a buried id again, and does not put it back while that one waits', async () => {
      await start();
      await queue.add([job('a', 'first')]);
      let fails = true;
      let open = (): void => {};
      let isHeld = false;
      const payloads: unknown[] = [];
      const handler = async ({ payload }: Job): Promise<void> => {
        if (fails) throw new UnrecoverableJobError('down');
        payloads.push(payload);
        if (payload !== 'gate') return;
        isHeld = true;
        await new Promise<void>((resolve) => {
          open = resolve;
        });
      };
      queue.process('work', handler, { concurrency: 1 });
      await place.until(async () => (await queue.deadJobs(1)).length === 1);
      fails = false;
      // The only worker is busy, so that the second one waits however long it takes to ask.
      await queue.add([job('gate', 'gate')]);
      await place.until(() => isHeld);
      await queue.add([{ ...job('a', 'second'), runAt: place.now() + 5 * place.secondMs }]);
      expect(await queue.redrive()).toBe(0);
      open();
      await place.until(isIdle);
      expect(payloads).toEqual(['gate', 'second']);
    });

    it('accepts a batch whole or not at all when it is full, and more when there is room again', async () => {
      await start({ maxJobs: 3 });
      const later = { ...job('later'), runAt: place.now() + 3600 * place.secondMs };
      await queue.add([later, { ...later, id: 'later still' }]);
      await queue.add([job('a'), job('b')]);
      await expect(queue.add([job('c'), job('d')])).rejects.toThrow(StoreUnavailableError);
      expect(await queue.pending()).toBe(2);
      await queue.add([job('a'), job('b')]);
      await queue.add([job('c')]);
      await expect(queue.add([job('d')])).rejects.toMatchObject({ retryAfterSeconds: 1 });
      const seen = collect(queue);
      await place.until(async () => (await queue.pending()) === 0);
      await queue.add([job('d')]);
      await place.until(() => seen.length === 4);
      expect(seen).toEqual(['a', 'b', 'c', 'd']);
    });

    it('waits for what runs when it is closed, and starts nothing new', async () => {
      await start();
      const seen: string[] = [];
      const gate = new Gate();
      const handler = async ({ id }: Job): Promise<void> => {
        seen.push(id);
        await gate.opened;
      };
      queue.process('work', handler, { concurrency: 1 });
      await queue.add([job('a'), job('b')]);
      await place.until(() => seen.length === 1);
      const closing = queue.close(60 * place.secondMs);
      gate.open();
      await closing;
      queue = await place.connect();
      const again = collect(queue);
      await place.until(isIdle);
      expect(seen).toEqual(['a']);
      expect(again).toEqual(['b']);
    });

    it('runs a job again that was not done when the time for closing was over', async () => {
      await start();
      const gate = new Gate();
      let isRunning = false;
      const handler = async (): Promise<void> => {
        isRunning = true;
        await gate.opened;
      };
      queue.process('work', handler, { concurrency: 1 });
      await queue.add([job('a', 'payload')]);
      await place.until(() => isRunning);
      let isClosed = false;
      const closing = queue.close(2 * place.secondMs).then(() => {
        isClosed = true;
      });
      await place.until(() => isClosed);
      await closing;
      queue = await place.connect();
      const seen: Job[] = [];
      queue.process('work', async (taken) => void seen.push(taken), { concurrency: 1 });
      await place.until(() => seen.length === 1);
      expect(seen[0]).toMatchObject(job('a', 'payload'));
      gate.open();
      await place.until(isIdle);
    });

    it('tells a long job when it closes, and runs it again as one that has not failed', async () => {
      await start();
      let isRunning = false;
      const handler = async (_: Job, stop: AbortSignal): Promise<void> => {
        isRunning = true;
        await new Promise((_resolve, reject) => stop.addEventListener('abort', () => reject(stop.reason)));
      };
      queue.process('work', handler, { concurrency: 1 });
      await queue.add([job('long', 'payload'), job('next')]);
      await place.until(() => isRunning);
      // It does not wait for the end of an hour.
      await queue.close(3600 * place.secondMs);
      queue = await place.connect();
      expect(await queue.pending()).toBe(2);
      const seen: string[] = [];
      queue.process('work', async ({ id }) => void seen.push(id), { concurrency: 1 });
      await place.until(isIdle);
      expect(seen.sort()).toEqual(['long', 'next']);
      expect(await queue.buried()).toBe(0);
    });

    it('counts jobs by name, and runs those of one name while another one is busy', async () => {
      await start();
      const gate = new Gate();
      queue.process('long', () => gate.opened, { concurrency: 1 });
      await queue.add([{ ...job('a'), name: 'long' }, { ...job('b'), name: 'long' }, job('c')]);
      expect(await queue.pending(['long'])).toBe(2);
      expect(await queue.pending(['work', 'unknown'])).toBe(1);
      expect(await queue.pending(['work', 'long'])).toBe(3);
      const seen = collect(queue);
      await place.until(() => seen.length === 1);
      await place.until(async () => (await queue.pending(['work'])) === 0);
      expect(await queue.pending()).toBe(2);
      gate.open();
      await place.until(isIdle);
    });

    it('refuses a second handler for the same name, and anything after it was closed', async () => {
      await start();
      queue.process('work', async () => {}, { concurrency: 1 });
      expect(() => queue.process('work', async () => {}, { concurrency: 1 })).toThrow('"work"');
      await queue.close(0);
      await expect(queue.add([job('a')])).rejects.toThrow(StoreUnavailableError);
      await queue.close(0);
    });
  });
}

function job(id: string, payload: unknown = null): Job {
  return { name: 'work', id, payload };
}

/** Ids of the jobs that run from now on. */
function collect(queue: JobQueue): string[] {
  const seen: string[] = [];
  queue.process('work', async ({ id }) => void seen.push(id), { concurrency: 1 });
  return seen;
}

class Gate {
  open = (): void => {};
  readonly opened = new Promise<void>((resolve) => {
    this.open = resolve;
  });
}
