/**
 * What does training from reports add? NDCG@5 on personas from whom nothing was learned: of the model in the package, and of one that was
 * trained from the examples that N users logged. Users are the simulated ones of bench/context.ts with another seed, as they are, and "in turn": they
 * want the item of the same store that was used least lately, which the model in the package has never seen.
 *
 *   npx tsx bench/context-training.ts [--seed 2]
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { CONTEXT_FEATURES } from '../bandit/ranking/context-features.ts';
import type { ContextRanker } from '../bandit/ranking/context-ranker.ts';
import { meanNdcg } from '../bandit/ranking/ranking-set.ts';
import { packageRoot } from '../config/package-root.ts';
import { shippedContextRanker } from '../src/context/shipped-ranker.ts';
import { MOST_ROWS } from '../src/context/training/context-example.ts';
import { gatherExamples } from '../src/context/training/gather-examples.ts';
import { type TrainedRanker, trainRanker } from '../src/context/training/train-ranker.ts';
import { USED, UserExamples } from '../src/context/training/user-examples.ts';
import { bundledModelFolder, openModelFolder } from '../src/models/open-embedder.ts';
import { featuresOf, type Judged, judge, rankingSetOf } from './context/judged.ts';
import { simulatedWorld } from './context/world.ts';
import { measuredOn } from './measured-on.ts';

const { values: options } = parseArgs({ options: { seed: { type: 'string', default: '2' } } });
const SIZES = [50, 150, 450];
const d = CONTEXT_FEATURES.length;

/** The same queries, of users who want what was not used for longest among the items of the first relevant one's store. */
function inTurn(judged: readonly Judged[]): Judged[] {
  return judged.map((one) => {
    const store = one.stores[one.relevant.indexOf(true)];
    const last = (item: number): number => {
      const { lastUsed } = one.candidates[item].usage;
      return one.stores[item] !== store || Number.isNaN(lastUsed) ? Number.POSITIVE_INFINITY : lastUsed;
    };
    const oldest = [...one.candidates.keys()].reduce((best, item) => (last(item) < last(best) ? item : best));
    return { ...one, relevant: one.relevant.map((_, item) => item === oldest) };
  });
}

/** What the service would keep of these queries: the relevant items and the best ranked others. */
function logged(judged: readonly Judged[], ranker: ContextRanker): UserExamples {
  const examples = new UserExamples();
  for (const [at, one] of judged.entries()) {
    const ranked = ranker.rank(one.candidates, one.moment);
    const rows = [
      ...ranked.filter(({ item }) => one.relevant[item]),
      ...ranked.filter(({ item }) => !one.relevant[item]),
    ].slice(0, MOST_ROWS);
    const said = Uint8Array.from(rows, ({ item }) => (one.relevant[item] ? USED : 0));
    const features = new Float32Array(rows.length * d);
    for (const [row, { features: own }] of rows.entries()) features.set(own, row * d);
    examples.add({ decision: `${at}`, at, said, features }, ranker.embedder);
  }
  // As it is read again, in 16 bits.
  return UserExamples.unpack(examples.pack());
}

async function trainFrom(
  users: ReadonlyMap<string, UserExamples>,
  shipped: ContextRanker,
): Promise<TrainedRanker> {
  const contexts = {
    async *users() {
      yield* users.keys();
    },
    examples: async ({ user }: { user: string }) => users.get(user)!,
  };
  const { examples } = await gatherExamples(contexts, '', shipped.embedder, new AbortController().signal);
  const rounds = trainRanker({ base: shipped, inUse: shipped, examples });
  for (let next = rounds.next(); ; next = rounds.next()) if (next.done === true) return next.value;
}

async function main(): Promise<void> {
  const embedder = await openModelFolder(bundledModelFolder());
  const shipped = await shippedContextRanker();
  const world = simulatedWorld(Number(options.seed));
  const personas = world.training.slice(0, Math.max(...SIZES));
  const own: Judged[][] = [];
  for (const persona of personas) own.push(await judge([persona], embedder));
  const test = await judge(world.test, embedder);
  await embedder.close();
  console.log(
    '| users want | logged by | examples | before | after | judged: 95 % of the difference | trees | s |',
  );
  console.log('|---|---|---|---|---|---|---|---|');
  const results: object[] = [];
  for (const [wanted, turned] of [
    ['what they want in bench/context.ts', (judged: readonly Judged[]) => [...judged]],
    ['what they had in turn', inTurn],
  ] as const) {
    const held = turned(test);
    const set = rankingSetOf(
      held,
      held.map((one) => featuresOf(one, shipped.map)),
    );
    const ndcg = ({ trees }: ContextRanker): number => meanNdcg(set, trees.scores(set.features), 5);
    for (const users of SIZES) {
      const all = new Map(own.slice(0, users).map((one, at) => [`${at}`, logged(turned(one), shipped)]));
      const begun = process.cpuUsage().user;
      const found = await trainFrom(all, shipped);
      const seconds = (process.cpuUsage().user - begun) / 1e6;
      const examples = [...all.values()].reduce((sum, one) => sum + one.all.length, 0);
      const [before, after] = [ndcg(shipped), ndcg(found.ranker)];
      const { lower, upper, trees } = found;
      results.push({ wanted, users, examples, before, after, lower, upper, trees, seconds });
      const cells = [wanted, users, examples, before.toFixed(3), after.toFixed(3)];
      const interval = `${lower.toFixed(3)} … ${upper.toFixed(3)}`;
      console.log(`| ${[...cells, interval, trees, seconds.toFixed(1)].join(' | ')} |`);
    }
  }
  const about = measuredOn(`npx tsx bench/context-training.ts --seed ${options.seed}`);
  writeFileSync(
    join(packageRoot(), 'bench', 'results', 'context-training.json'),
    `${JSON.stringify({ ...about, results }, null, 1)}\n`,
  );
}

await main();
