import { expect, it } from 'vitest';
import { randomFor } from '../../../bandit/random.ts';
import { COLUMNS, CONTEXT_FEATURES } from '../../../bandit/ranking/context-features.ts';
import { ContextRanker } from '../../../bandit/ranking/context-ranker.ts';
import { shippedContextRanker } from '../../../src/context/shipped-ranker.ts';
import { type StoredTraining, TRAINING_FORMAT } from '../../../src/context/training/context-model-store.ts';
import { startTrainingWorker } from '../../../src/context/training/run-training.ts';
import { USED, UserExamples } from '../../../src/context/training/user-examples.ts';
import { type Job, JobElsewhereError, type JobHandler } from '../../../src/queue/job-queue.ts';

const shipped = await shippedContextRanker();
const ITEMS = 8;
const USERS = 60;
const EACH = 6;

/** Users who want what they have not used for longest. */
function usersOf(count: number): Map<string, UserExamples> {
  const random = randomFor('users of a training');
  let draw = 0;
  const column = COLUMNS['hours since its use'];
  const examplesOf = (user: number): UserExamples => {
    const examples = new UserExamples();
    for (let at = 0; at < EACH; at++) {
      const features = Float32Array.from({ length: ITEMS * CONTEXT_FEATURES.length }, () =>
        random.uniform(draw++),
      );
      const hours = Array.from(
        { length: ITEMS },
        (_, item) => features[item * CONTEXT_FEATURES.length + column],
      );
      const best = hours.indexOf(Math.max(...hours));
      const said = Uint8Array.from(hours, (_, item) => (item === best ? USED : 0));
      examples.add({ decision: `${user}/${at}`, at, said, features }, shipped.embedder);
    }
    return examples;
  };
  return new Map(Array.from({ length: count }, (_, user) => [`user-${user}`, examplesOf(user)]));
}

class Away extends Error {
  readonly retryAfterSeconds = 1;
}

/** One training, run by as many processes as are asked to, and what is stored of it. */
class Deployment {
  stored: StoredTraining;
  model: Uint8Array | null = null;
  /** Called before something is saved: it may throw, or say that the training is over. */
  onSave: (next: StoredTraining) => boolean = () => true;
  readonly users = usersOf(USERS);
  readonly errors: string[] = [];
  slowUsers: (() => AsyncIterable<string>) | null = null;
  catalogIsHere = true;
  read = 0;

  constructor(more: Partial<StoredTraining> = {}) {
    const training = {
      ...({ id: 'x', catalog: 'default', status: 'queued', createdAt: '', endedAt: null } as const),
      ...{ progress: 0, examples: 0, users: 0, telling: 0, result: null, replaced: false, reason: null },
    };
    this.stored = { version: TRAINING_FORMAT, interruptions: 0, training, ...more };
  }

  get training() {
    return this.stored.training;
  }

  /** Runs the job in a new process. */
  async run(): Promise<void> {
    let handler: JobHandler = async () => {};
    const store = {
      training: async () => this.stored,
      save: async (next: StoredTraining) => {
        if (this.training.endedAt !== null || !this.onSave(next)) return false;
        this.stored = next;
        return true;
      },
      model: async () => this.model,
      putModel: async (_: string, bytes: Uint8Array) => {
        this.model = bytes;
        return true;
      },
    };
    const catalog = {
      name: 'default',
      embedder: { fingerprint: shipped.embedder },
      closed: new AbortController().signal,
    };
    const users = () => this.slowUsers?.() ?? this.users.keys();
    startTrainingWorker({
      queue: {
        process: (_: string, own: JobHandler) => {
          handler = own;
        },
      },
      catalogs: { find: () => (this.catalogIsHere ? catalog : undefined) },
      contexts: {
        async *users() {
          yield* users();
        },
        examples: async ({ user }: { user: string }) => {
          this.read++;
          const examples = this.users.get(user)!;
          if (examples instanceof Error) throw examples;
          return examples;
        },
      },
      store,
      models: {
        shipped,
        lookAt: async () => {},
        rankerOf: () => (this.model === null ? shipped : ContextRanker.decode(this.model)),
      },
      now: () => 1e12,
      onError: (message: string, error: unknown) =>
        this.errors.push(`${message}: ${(error as Error).message}`),
    } as never);
    const job: Job = { name: 'context-training', id: 'j', payload: { catalog: 'default', id: 'x' } };
    await handler(job, new AbortController().signal);
  }
}

it('says that its model is in use, although its process ended between putting it and saying so', async () => {
  const one = new Deployment();
  one.onSave = () => {
    if (one.model !== null) throw new Away('the process ends here');
    return true;
  };
  await expect(one.run()).rejects.toThrow('ends here');
  const { model } = one;
  one.onSave = () => true;
  await one.run();
  expect(one.training).toMatchObject({
    ...{ status: 'done', replaced: true, progress: 1, users: USERS, examples: USERS * EACH },
    reason: expect.stringContaining('surely better'),
  });
  expect([one.model === model, one.errors]).toEqual([true, []]);
});

it('begins again when its process ended before its model was put, or the model was taken back since', async () => {
  const one = new Deployment();
  one.onSave = () => {
    if (one.model !== null) throw new Away('the process ends here');
    return true;
  };
  await expect(one.run()).rejects.toThrow('ends here');
  one.model = null;
  one.onSave = () => true;
  one.read = 0;
  await one.run();
  expect([one.read, one.training.replaced, one.model !== null]).toEqual([USERS, true, true]);
});

it('puts no model when it was cancelled while it learned', async () => {
  const one = new Deployment();
  one.onSave = ({ training }) => training.result === null;
  await one.run();
  expect([one.training.result, one.model, one.errors]).toEqual([null, null, []]);
});

it('fails when its process ended three times while it ran, and goes on after two', async () => {
  for (const [interruptions, status] of [
    [1, 'done'],
    [2, 'failed'],
  ] as const) {
    const one = new Deployment();
    one.stored = { ...one.stored, interruptions, training: { ...one.training, status: 'running' } };
    await one.run();
    expect([one.training.status, one.read > 0]).toEqual([status, status === 'done']);
    if (status === 'failed') expect(one.training.reason).toContain('interrupted 3 times');
  }
});

it('learns from the others where what one user left is damaged, and reports that once', async () => {
  const one = new Deployment();
  one.users.set('user-0', new Error('damaged: zero') as never);
  one.users.set('user-9', new Error('damaged: nine') as never);
  await one.run();
  expect(one.training).toMatchObject({ status: 'done', users: USERS - 2, replaced: true });
  expect(one.errors).toEqual([expect.stringMatching(/2 users .*damaged: (zero|nine)$/)]);
});

it('waits for a store that is away, and reports nothing', async () => {
  const one = new Deployment();
  one.users.set('user-7', new Away('away') as never);
  await expect(one.run()).rejects.toThrow('away');
  expect([one.training.status, one.errors]).toEqual(['queued', []]);
});

it('is left to another process where the catalog is not open', async () => {
  const one = new Deployment();
  one.catalogIsHere = false;
  await expect(one.run()).rejects.toThrow(JobElsewhereError);
});

it('stops within a second of being cancelled, while it reads as well', async () => {
  const one = new Deployment();
  const soon = () => new Promise((resolve) => setImmediate(resolve));
  one.slowUsers = async function* () {
    for (let user = 0; ; user++) {
      yield `user-${user}`;
      await soon();
    }
  };
  let saves = 0;
  one.onSave = () => saves++ === 0;
  await one.run();
  expect([one.training.status, one.model, one.errors]).toEqual(['running', null, []]);
});
