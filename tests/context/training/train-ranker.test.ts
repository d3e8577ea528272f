import { describe, expect, it } from 'vitest';
import { randomFor } from '../../../bandit/random.ts';
import { COLUMNS, CONTEXT_FEATURES } from '../../../bandit/ranking/context-features.ts';
import { shippedContextRanker } from '../../../src/context/shipped-ranker.ts';
import { gatherExamples } from '../../../src/context/training/gather-examples.ts';
import { type TrainedRanker, trainRanker } from '../../../src/context/training/train-ranker.ts';
import { SHOWN, USED, UserExamples } from '../../../src/context/training/user-examples.ts';

const ITEMS = 8;
const shipped = await shippedContextRanker();
const { embedder } = shipped;

/** Users who use the item whose feature `by` is largest; with chance 0 any one. */
function usersOf(count: number, by: 'hours since its use' | null, each = 6): Map<string, UserExamples> {
  const random = randomFor(`users ${by}`);
  let draw = 0;
  return new Map(
    Array.from({ length: count }, (_, user) => {
      const examples = new UserExamples();
      for (let at = 0; at < each; at++) {
        const features = new Float32Array(ITEMS * CONTEXT_FEATURES.length);
        for (let i = 0; i < features.length; i++) features[i] = random.uniform(draw++);
        const column = COLUMNS[by ?? 'cosine'];
        const value = (item: number): number => features[item * CONTEXT_FEATURES.length + column];
        const best = Array.from({ length: ITEMS }, (_, item) => item).sort((a, b) => value(b) - value(a))[0];
        const used = by === null ? Math.floor(random.uniform(draw++) * ITEMS) : best;
        const said = Uint8Array.from({ length: ITEMS }, (_, item) => (item === used ? USED : 0));
        examples.add({ decision: `${user}/${at}`, at, said, features }, embedder);
      }
      return [`user-${user}`, examples];
    }),
  );
}

const contextsOf = (users: ReadonlyMap<string, UserExamples>) => ({
  async *users() {
    yield* users.keys();
  },
  examples: async ({ user }: { user: string }) => users.get(user)!,
});
const gathered = (users: ReadonlyMap<string, UserExamples>) =>
  gatherExamples(contextsOf(users), 'default', embedder, new AbortController().signal);

async function trained(users: ReadonlyMap<string, UserExamples>): Promise<TrainedRanker> {
  const { examples } = await gathered(users);
  const rounds = trainRanker({ base: shipped, inUse: shipped, examples });
  for (let next = rounds.next(); ; next = rounds.next()) if (next.done === true) return next.value;
}

describe('a trained ranker', () => {
  it('knows what the shipped one cannot, of users from whom nothing was learned, and the same each time', async () => {
    const users = usersOf(60, 'hours since its use');
    const found = await trained(users);
    expect(found.judgedUsers).toBe(18);
    expect(found.judgedExamples).toBe(18 * 6);
    expect(found.after).toBeGreaterThan(found.before + 0.2);
    expect(found.lower).toBeGreaterThan(0.1);
    expect(found.upper).toBeGreaterThan(found.lower);
    expect(found.ranker.trees.size).toBe(shipped.trees.size + found.trees);
    expect(found.ranker.map.save()).toEqual(shipped.map.save());
    const again = await trained(new Map([...users].reverse()));
    expect(Buffer.from(again.ranker.encode()).equals(found.ranker.encode())).toBe(true);
    expect(again.lower).toBe(found.lower);
  });

  it('is not surely better where there is nothing to learn', async () => {
    const found = await trained(usersOf(60, null));
    expect(found.lower).toBeLessThanOrEqual(0);
  });
});

describe('examples', () => {
  it('are left out if they are nonsense, or of another embedder', async () => {
    const users = usersOf(3, null, 2);
    const examples = users.get('user-0')!;
    const [{ features, ...rest }] = examples.all;
    const nonsense: Float32Array[] = [features.slice(), features.slice(), features.slice(1)];
    nonsense[0].fill(Number.NaN, 0, CONTEXT_FEATURES.length);
    nonsense[1][5] = Number.POSITIVE_INFINITY;
    for (const [at, some] of nonsense.entries()) {
      examples.add({ ...rest, decision: `nonsense ${at}`, features: some }, embedder);
    }
    const other = new UserExamples();
    other.add({ ...rest, features }, 'another');
    users.set('other', other);
    const found = await gathered(users);
    expect([found.count, found.telling, found.users]).toEqual([6, 6, 3]);
    expect(found.examples.users).toHaveLength(4);
    expect([...found.examples.features].every((value) => Number.isFinite(value))).toBe(true);
  });

  it('of which none was right are read, and do not count among those that say which items were used', async () => {
    const users = usersOf(3, null, 2);
    const [{ features }] = users.get('user-0')!.all;
    const said = Uint8Array.of(SHOWN, ...Array(ITEMS - 1).fill(0));
    users.get('user-0')!.add({ decision: 'none', at: 9, said, features }, embedder);
    const { count, telling } = await gathered(users);
    expect([count, telling]).toEqual([7, 6]);
  });
});
