import { hash64 } from '../../../bandit/random.ts';
import { CONTEXT_FEATURES } from '../../../bandit/ranking/context-features.ts';
import { Problem } from '../../errors/problem.ts';
import { isStoreAway } from '../../errors/store-errors.ts';
import type { UserContexts } from '../user-contexts.ts';
import type { TrainingExamples } from './train-ranker.ts';
import { type ContextExample, USED, UserExamples } from './user-examples.ts';

/** With 20 items each 25 MB, and about 80 MB in the thread that learns from them. */
const MOST_EXAMPLES = 10_000;
/** Users who are looked at. */
const MOST_USERS = 100_000;
const USERS_AT_ONCE = 8;

export interface Gathered {
  readonly examples: TrainingExamples;
  /** Examples, and those of them that say which items were used. */
  readonly count: number;
  readonly telling: number;
  /** Users with any that does. */
  readonly users: number;
  /** Why nothing could be read of a user, who is left out: one each. */
  readonly damaged: readonly unknown[];
}

/**
 * Reads what the users of a catalog left for training: of so many users that there are 10,000 examples, in the order of a hash of their
 * names, so that it is the same sample whenever it is taken. Examples of another embedder, what is no example, and users whose records are damaged are left out.
 * @param onRead is told the share that is read @throws what a store that is away throws, Problem without the service's key, or the reason of `signal`
 */
export async function gatherExamples(
  contexts: Pick<UserContexts, 'users' | 'examples'>,
  catalog: string,
  fingerprint: string,
  signal: AbortSignal,
  onRead: (share: number) => void = () => {},
): Promise<Gathered> {
  const names = await usersInOrder(contexts.users(catalog), signal);
  const all: ContextExample[][] = [];
  const damaged: unknown[] = [];
  const read = async (user: string): Promise<UserExamples> => {
    try {
      return await contexts.examples({ catalog, user });
    } catch (error) {
      if (isStoreAway(error) || error instanceof Problem) throw error;
      damaged.push(error);
      return new UserExamples();
    }
  };
  let count = 0;
  for (let at = 0; at < names.length && count < MOST_EXAMPLES; at += USERS_AT_ONCE) {
    signal.throwIfAborted();
    const some = names.slice(at, at + USERS_AT_ONCE);
    for (const user of await Promise.all(some.map(read))) {
      const own = user.fingerprint === fingerprint ? user.all.filter(isSound) : [];
      if (own.length === 0) continue;
      all.push(own);
      count += own.length;
    }
    onRead(Math.max(at / names.length, count / MOST_EXAMPLES));
  }
  const isTelling = ({ said }: ContextExample): boolean => said.some((bits) => (bits & USED) !== 0);
  return {
    examples: packed(all),
    count,
    telling: all.reduce((sum, own) => sum + own.filter(isTelling).length, 0),
    users: all.filter((own) => own.some(isTelling)).length,
    damaged,
  };
}

async function usersInOrder(users: AsyncIterable<string>, signal: AbortSignal): Promise<string[]> {
  let keyed: { user: string; low: number; high: number }[] = [];
  const cut = (): void => {
    keyed = keyed.sort((a, b) => a.high - b.high || a.low - b.low).slice(0, MOST_USERS);
  };
  for await (const user of users) {
    signal.throwIfAborted();
    const [low, high] = hash64(`training ${user}`);
    if (keyed.push({ user, low, high }) >= 2 * MOST_USERS) cut();
  }
  cut();
  return keyed.map(({ user }) => user);
}

/** Whether something can be learned from it: numbers that are there, of every item. */
function isSound({ said, features }: ContextExample): boolean {
  const d = CONTEXT_FEATURES.length;
  if (said.length < 2 || features.length !== said.length * d) return false;
  if (features.some((value) => Math.abs(value) === Number.POSITIVE_INFINITY)) return false;
  return said.every((_, row) =>
    features.subarray(row * d, (row + 1) * d).some((value) => !Number.isNaN(value)),
  );
}

function packed(all: readonly (readonly ContextExample[])[]): TrainingExamples {
  const flat = all.flat();
  const rows = flat.reduce((sum, { said }) => sum + said.length, 0);
  const examples = {
    features: new Float32Array(rows * CONTEXT_FEATURES.length),
    said: new Uint8Array(rows),
    starts: new Uint32Array(flat.length + 1),
    users: new Uint32Array(all.length + 1),
  };
  let row = 0;
  for (const [at, { said, features }] of flat.entries()) {
    examples.features.set(features, row * CONTEXT_FEATURES.length);
    examples.said.set(said, row);
    row += said.length;
    examples.starts[at + 1] = row;
  }
  let example = 0;
  for (const [at, own] of all.entries()) {
    example += own.length;
    examples.users[at + 1] = example;
  }
  return examples;
}
