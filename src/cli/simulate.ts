import { writeFile } from 'node:fs/promises';
import { SingleBar } from 'cli-progress';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';
import { POLICY_KINDS, policyKind, policyParameters } from '../../bandit/policies/registry.ts';
import { randomFor } from '../../bandit/random.ts';
import { toolFaults } from '../http/wire/tool-faults.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { openEmbedder } from '../models/open-embedder.ts';
import { CAREFUL_AGENT } from '../simulation/agent.ts';
import { type Label, type Prepared, prepare } from '../simulation/prepare.ts';
import { simulate } from '../simulation/simulate.ts';
import { readTools } from '../sources/formats/read-tools.ts';
import { loadKernels } from '../stores/load-kernels.ts';
import { wholeNumber } from './options.ts';
import { readText } from './read-text.ts';
import { type SimulatedPolicy, simulationReport } from './simulate-report.ts';
import { UserError } from './terminal.ts';

interface SimulateOptions {
  readonly tools: string;
  readonly queries: string;
  readonly heldOut?: string;
  readonly policy: readonly string[];
  readonly k: number;
  readonly passes: number;
  readonly seeds: number;
  readonly noise: number;
  readonly loss: number;
  readonly delay: number;
  readonly model: string;
  readonly json?: string;
}

/** Where the curve is looked at, as shares of the stream. */
const MARKS = [0, 0.1, 0.25, 0.5, 0.75];

export function simulateCommand(): Command {
  return new Command('simulate')
    .description('play labelled queries against a policy, in process, and see what learning would bring')
    .requiredOption('--tools <file>', 'tools in any shape that `import` takes')
    .requiredOption('--queries <file>', 'JSON lines {"query", "relevant": [names]}')
    .option('--held-out <file>', 'queries to measure on; without it, every fifth query is held back')
    .option(
      '--policy <name[:parameter=value,…]>',
      `policy to play; repeat it to compare (${POLICY_KINDS.map(({ name }) => name).join(', ')})`,
      (value: string, before: readonly string[]) => [...before, value],
      [] as readonly string[],
    )
    .option('--k <number>', 'tools shown per query', wholeNumber(1, 50), 5)
    .option('--passes <number>', 'how often the queries are played', wholeNumber(1, 100), 1)
    .option('--seeds <number>', 'runs, each with another order and another agent', wholeNumber(1, 100), 5)
    .option('--noise <share>', 'how often the agent calls a wrong tool by mistake', share, 0)
    .option('--loss <share>', 'how often outcomes are never reported', share, 0)
    .option('--delay <decisions>', 'mean delay of outcomes, in decisions', wholeNumber(0, 1e6), 0)
    .option('--model <model>', 'embedding model: bundled, none, or a folder', 'bundled')
    .option('--json <file>', 'write all figures to this file as well')
    .addHelpText(
      'after',
      `
The agent calls each shown tool that fits with probability .93 and succeeds; if it called none, it tries a wrong one
and fails. Held-out queries are ranked greedily and teach nothing. Deciding and learning are the service's own code.

Examples:
  bandolier simulate --tools tools.jsonl --queries last-month.jsonl
  bandolier simulate --tools t.json --queries q.jsonl --policy sc-linucb-memory --policy sc-linucb:alpha=1
  bandolier simulate --tools t.json --queries q.jsonl --noise 0.2 --loss 0.5 --delay 500`,
    )
    .action(runSimulation);
}

async function runSimulation(options: SimulateOptions): Promise<void> {
  const { tools, refused } = readTools(await readText(options.tools), toolFaults);
  for (const { name, why } of refused) process.stderr.write(`bandolier: left out ${name}: ${why}\n`);
  const all = readLabels(await readText(options.queries), options.queries);
  const [learn, heldOut] =
    options.heldOut === undefined
      ? split(all)
      : [all, readLabels(await readText(options.heldOut), options.heldOut)];
  const policies = (options.policy.length > 0 ? options.policy : ['sc-linucb-memory']).map(policyOf);

  const embedder = await openEmbedder(options.model);
  try {
    const bar = new SingleBar({ format: ' {bar} {task}', noTTYOutput: false, clearOnComplete: true });
    bar.start(1, 0, { task: 'embedding' });
    const progress = (task: string) => (done: number, of: number) => {
      bar.setTotal(of);
      bar.update(done, { task });
    };
    const stream = await prepare(tools, learn, embedder, progress('embedding'));
    const measured = await prepare(tools, heldOut, embedder, progress('embedding'));
    bar.stop();
    refuseUnusable(options, tools, stream, measured);
    bar.start(1, 0, { task: 'playing' });
    const results: SimulatedPolicy[] = [];
    for (const policy of policies) results.push(await play(policy, options, stream, measured, progress));
    bar.stop();
    const report = simulationReport({ tools: tools.length, stream, measured, k: options.k, results });
    process.stdout.write(report);
    if (options.json !== undefined) await writeFile(options.json, `${JSON.stringify(results, null, 2)}\n`);
  } finally {
    await embedder?.close();
  }
}

/** @throws UserError when there is nothing to learn from, or nothing to measure on */
function refuseUnusable(
  { queries, heldOut }: SimulateOptions,
  tools: readonly ToolDefinition[],
  stream: Prepared,
  measured: Prepared,
): void {
  const unusable = [
    { file: queries, of: stream },
    { file: heldOut ?? queries, of: measured },
  ].find(({ of }) => of.queries.length === 0);
  if (unusable === undefined) return;
  const { file, of } = unusable;
  const some = tools.slice(0, 3).map(({ name }) => `"${name}"`);
  const unknown = of.unknown.slice(0, 3).map((name) => `"${name}"`);
  throw new UserError(
    of.unknown.length === 0
      ? `${file} holds too few queries: some are learned from, and every fifth is held back. Add queries, or name others with --held-out.`
      : `No query of ${file} can be used: \`relevant\` names ${unknown.join(', ')}, and no tool has such a name. Tools are called ${some.join(', ')}: use their names, not ids.`,
  );
}

async function play(
  policy: PolicySettings,
  options: SimulateOptions,
  stream: Prepared,
  measured: Prepared,
  progress: (task: string) => (done: number, of: number) => void,
): Promise<SimulatedPolicy> {
  const { noise, loss, delay, k, passes } = options;
  const steps = stream.queries.length * passes;
  const kernels = await loadKernels();
  const runs = [];
  for (let seed = 1; seed <= options.seeds; seed++) {
    const report = progress(`${policy.name}, run ${seed} of ${options.seeds}`);
    const { evaluations } = await simulate({
      kernels,
      tools: stream.tools,
      queries: stream.queries,
      heldOut: measured.queries,
      policy,
      k,
      seed,
      passes,
      agent: { ...CAREFUL_AGENT, noise, loss, delay },
      evaluateAfter: [...new Set(MARKS.map((mark) => Math.floor(mark * steps)))],
      onProgress: ({ step }) => report(step, steps),
    });
    runs.push(evaluations);
  }
  return { policy, runs };
}

/** Every fifth query of a seeded order is held back; the rest is learned from. */
function split(labels: readonly Label[]): [Label[], Label[]] {
  const random = randomFor('simulate/split');
  const order = [...labels.keys()].sort((a, b) => random.uniform(a) - random.uniform(b));
  const held = new Set(order.filter((_, at) => at % 5 === 0));
  return [labels.filter((_, at) => !held.has(at)), labels.filter((_, at) => held.has(at))];
}

/** `name` or `name:parameter=value,parameter=value`. */
function policyOf(text: string): PolicySettings {
  const [name, list = ''] = text.split(':');
  const pairs = list.split(',').filter((pair) => pair !== '');
  const parameters = Object.fromEntries(
    pairs.map((pair) => {
      const [key, value = ''] = pair.split('=');
      return [key, numberOf(value)] as const;
    }),
  );
  try {
    policyParameters(name, parameters);
    return { name, parameters, exploration: policyKind(name).defaultExploration, temperature: 0.03 };
  } catch (error) {
    throw new UserError((error as Error).message);
  }
}

/** `Number('')` is 0, and nothing is no number. */
function numberOf(text: string): number {
  return text.trim() === '' ? Number.NaN : Number(text);
}

function share(text: string): number {
  const value = numberOf(text);
  if (value >= 0 && value <= 1) return value;
  throw new InvalidArgumentError('It has to be a number from 0 to 1.');
}

const label = z.object({ query: z.string().min(1), relevant: z.array(z.string()).min(1) });

/**
 * Labelled queries, one JSON object per line: `{"query": "…", "relevant": ["tool", …]}`; other fields are ignored.
 * @throws UserError naming the line.
 */
export function readLabels(text: string, file: string): Label[] {
  const lines = text.split('\n');
  const labels: Label[] = [];
  for (const [index, line] of lines.entries()) {
    if (line.trim() === '') continue;
    const { success, data } = label.safeParse(jsonOf(line));
    if (!success) {
      throw new UserError(
        `${file}, line ${index + 1}: expected {"query": "…", "relevant": ["name of a tool", …]}.`,
      );
    }
    labels.push(data);
  }
  if (labels.length === 0) throw new UserError(`${file} holds no queries.`);
  return labels;
}

function jsonOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
