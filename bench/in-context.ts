/**
 * Does meaning help an agent that learns which tool to call from a few dozen outcomes? In-context-learning experiments
 * 1–4 of the paper (Müller, Semantic Context for Tool Orchestration, section 5.1 and appendix C.1): queries fixed or
 * moving, tools fixed or moving, one tool chosen per turn. Played by policies, and by a chat model if one is configured.
 *
 *   npx tsx bench/in-context.ts [--seeds 200] [--model <folder>]
 *
 *   BANDOLIER_CHAT_URL=https://api.openai.com/v1 BANDOLIER_CHAT_MODEL=… BANDOLIER_CHAT_KEY=… \
 *     npx tsx bench/in-context.ts
 *
 * A chat model plays the paper's 5 or 7 trials of each experiment and condition: 2,964 requests at temperature .5, one
 * after the other. Any OpenAI-compatible endpoint will do; a local one needs no key.
 *
 * The condition says what text of a tool is seen: by the embedder and BM25, or in the prompt. Results go to
 * bench/results/in-context.json, those with a chat model to in-context-chat.json.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../config/package-root.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { ChatModel } from './chat-model.ts';
import { ChatPlayer } from './in-context/chat-player.ts';
import { EXPERIMENTS, type Experiment } from './in-context/experiments.ts';
import { CONDITIONS, type Condition, type Played, type Player, play, success } from './in-context/play.ts';
import { EmbeddedTexts, OneHotPlayer, PolicyPlayer } from './in-context/policy-players.ts';
import { measuredOn } from './measured-on.ts';

const POLICIES = ['sc-linucb-memory', 'sc-linucb', 'lin-ts', 'cosine', 'uniform'];
/** Players that see no text of a tool play one condition only: all four would be alike. */
const NO_TEXT: readonly Condition[] = ['index only'];

/** What the paper says about its figures 3 (reward) and 7 (regret); it states no numbers. */
const PAPER: Record<Experiment['kind'], Partial<Record<Condition, string>>> = {
  fQfA: {
    'index only': 'lags; regret highest',
    'names only': 'near-optimal reward, yet regret as poor as index only',
    'names and descriptions': 'near-optimal; regret near zero',
  },
  mQfA: {
    'index only': 'lags; regret highest',
    'names only': 'slightly below names and descriptions, yet regret as poor as index only',
    'names and descriptions': 'best; regret near zero',
  },
  fQmA: {
    'index only': 'slow; regret keeps climbing',
    'names only': 'adapts with a delay',
    'names and descriptions': 'best; regret flat from turn 17',
  },
  mQmA: {
    'index only': 'least reward',
    'names only': 'most reward; regret as with descriptions, at times lower',
    'names and descriptions': 'below names only; regret very low',
  },
};

/** Who plays, how often in each experiment, and a new player for each run. */
interface Contender {
  readonly name: string;
  readonly conditions: readonly Condition[];
  readonly runs: (experiment: Experiment) => number;
  readonly create: (experiment: Experiment, key: string) => Player;
}

interface Row {
  readonly experiment: string;
  readonly player: string;
  readonly condition: Condition;
  readonly runs: number;
  readonly reward: Estimate;
  readonly regret: Estimate;
  /** Share of turns without a valid choice. */
  readonly unchosen: number;
  /** By turn: share of runs in which the best tool available was chosen. */
  readonly best: readonly number[];
}

/** Mean over runs, and its standard error. */
interface Estimate {
  readonly mean: number;
  readonly error: number;
}

async function rowOf(experiment: Experiment, contender: Contender, condition: Condition): Promise<Row> {
  const runs: Played[] = [];
  for (let seed = 0; seed < contender.runs(experiment); seed++) {
    const key = `in-context/${contender.name}/${experiment.kind}/${seed}`;
    const player = contender.create(experiment, key);
    runs.push(await play(experiment, condition, seed, player));
    player.free();
  }
  const choices = runs.flatMap((run) => run.choices);
  return {
    experiment: experiment.name,
    player: contender.name,
    condition,
    runs: runs.length,
    reward: estimate(runs.map(({ reward }) => reward)),
    regret: estimate(runs.map(({ regret }) => regret)),
    unchosen: choices.filter((choice) => choice === null).length / choices.length,
    best: runs[0].best.map((_, turn) => runs.filter(({ best }) => best[turn]).length / runs.length),
  };
}

function estimate(values: readonly number[]): Estimate {
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  const squares = values.reduce((sum, value) => sum + (value - mean) ** 2, 0);
  return { mean, error: Math.sqrt(squares / Math.max(1, values.length - 1) / values.length) };
}

/** Expected reward of always choosing the best tool there is. */
function bestReward({ arms, queries, phases }: Experiment): number {
  const perPhase = phases.map((phase) => {
    const best = phase.queries.map((id) => {
      const query = queries.find((one) => one.id === id)!;
      return Math.max(...arms.filter((arm) => phase.arms.includes(arm.id)).map((arm) => success(arm, query)));
    });
    return (phase.turns * best.reduce((sum, p) => sum + p, 0)) / best.length;
  });
  return perPhase.reduce((sum, reward) => sum + reward, 0);
}

function cellOf({ reward, regret, unchosen }: Row): string {
  const none = unchosen === 0 ? '' : `, ${(100 * unchosen).toFixed(0)} % without a choice`;
  return `${reward.mean.toFixed(1)} ± ${reward.error.toFixed(1)} / ${regret.mean.toFixed(1)}${none}`;
}

async function main(): Promise<void> {
  const { values: options } = parseArgs({
    options: {
      model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
      seeds: { type: 'string', default: '200' },
    },
  });
  const kernels = await loadKernels();
  const embedder = await openModelFolder(options.model);
  const texts = new EmbeddedTexts(embedder);
  const chat = ChatModel.configured(process.env);
  const seeds = (): number => Number(options.seeds);
  const contenders: Contender[] = [
    ...POLICIES.map((name) => ({
      name,
      conditions: name === 'uniform' ? NO_TEXT : CONDITIONS,
      runs: seeds,
      create: (_: Experiment, key: string) => new PolicyPlayer(name, kernels, texts, key),
    })),
    {
      name: 'linucb-onehot',
      conditions: NO_TEXT,
      runs: seeds,
      create: (_, key) => new OneHotPlayer(kernels, texts, key),
    },
  ];
  if (chat !== null) {
    contenders.push({
      name: `chat model ${chat.name}`,
      conditions: CONDITIONS,
      runs: ({ trials }) => trials,
      create: ({ maxTokens }) => new ChatPlayer(chat, maxTokens),
    });
  }
  console.log(`Mean cumulative reward ± standard error / regret; ${options.seeds} seeds\n`);
  console.log(`| | ${CONDITIONS.join(' | ')} |\n|---|${'---|'.repeat(CONDITIONS.length)}`);
  const rows: Row[] = [];
  for (const experiment of EXPERIMENTS) {
    const { name, kind, phases } = experiment;
    const turns = phases.reduce((sum, phase) => sum + phase.turns, 0);
    const best = bestReward(experiment).toFixed(1);
    console.log(
      `| **${name} (${kind}), ${turns} turns, at best ${best}** |${' |'.repeat(CONDITIONS.length)}`,
    );
    for (const contender of contenders) {
      const cells = CONDITIONS.map(() => '');
      for (const [at, condition] of contender.conditions.entries()) {
        const row = await rowOf(experiment, contender, condition);
        rows.push(row);
        cells[at] = cellOf(row);
      }
      console.log(`| ${contender.name} | ${cells.join(' | ')} |`);
    }
    const paper = CONDITIONS.map((condition) => PAPER[kind][condition] ?? 'not stated');
    console.log(`| paper, Gemini 2.0 Flash (numbers not stated) | ${paper.join(' | ')} |`);
  }
  await embedder.close();
  const folder = join(packageRoot(), 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const report = { ...measuredOn('npx tsx bench/in-context.ts'), model: basename(options.model), rows };
  const file = `in-context${chat === null ? '' : '-chat'}.json`;
  writeFileSync(join(folder, file), `${JSON.stringify(report, null, 2)}\n`);
}

await main();
