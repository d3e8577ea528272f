/**
 * How far does a router get in other languages? Queries in German, Spanish, Chinese and Japanese, written for the sample
 * catalog, whose tools are described in English: Recall@5 before and after 500 outcomes, on queries that were learned
 * from and on others. The default policy.
 *
 *   npx tsx bench/languages.ts [--model <folder>] [--seeds 3]
 *
 * Each of 50 tools has four queries in each language: three to learn from, the fourth in other words and never learned
 * from. They were written together and say similar things, so the gains are on the friendly side.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { packageRoot } from '../config/package-root.ts';
import { DEFAULT_CATALOG_SETTINGS } from '../src/ledger/catalog-settings.ts';
import type { ToolDefinition } from '../src/ledger/tool-definition.ts';
import { openModelFolder } from '../src/models/open-embedder.ts';
import { type Label, type Prepared, prepare } from '../src/simulation/prepare.ts';
import { simulate } from '../src/simulation/simulate.ts';
import { loadKernels } from '../src/stores/load-kernels.ts';
import { measuredOn } from './measured-on.ts';

const { values: options } = parseArgs({
  options: {
    model: { type: 'string', default: join(packageRoot(), 'models', 'tool-static-256') },
    seeds: { type: 'string', default: '3' },
  },
});

const LANGUAGES = { de: 'German', es: 'Spanish', zh: 'Chinese', ja: 'Japanese' } as const;
const OUTCOMES = 500;

interface Row {
  readonly language: string;
  /** Queries without a term, and those whose embedding is zero: then words alone decide, and are learned. */
  readonly withoutTerms: number;
  readonly withoutEmbedding: number;
  /** Recall@5 before and after, means over the seeds. */
  readonly unseen: readonly [before: number, after: number];
  readonly learned: readonly [before: number, after: number];
}

interface WrittenQuery extends Label {
  readonly part: 'learn' | 'unseen';
}

function written(language: string): WrittenQuery[] {
  const file = join(packageRoot(), 'bench', 'queries', `languages.${language}.jsonl`);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as WrittenQuery);
}

/** Recall@5 of the held-out queries before and after so many outcomes of the others. */
async function recallAround(queries: Prepared, heldOut: Prepared, seed: number): Promise<[number, number]> {
  const passes = Math.ceil(OUTCOMES / queries.queries.length);
  const kernels = await loadKernels();
  const { evaluations } = await simulate({
    kernels,
    tools: queries.tools,
    queries: queries.queries,
    heldOut: heldOut.queries,
    k: 5,
    seed,
    passes,
    policy: DEFAULT_CATALOG_SETTINGS.policy,
    evaluateAfter: [0, OUTCOMES],
  });
  return [evaluations[0].recall[5], evaluations[1].recall[5]];
}

async function main(): Promise<void> {
  const embedder = await openModelFolder(options.model);
  const file = join(packageRoot(), 'examples', 'sample-catalog', 'tools.json');
  const { tools } = JSON.parse(readFileSync(file, 'utf8')) as { tools: ToolDefinition[] };
  const rows: Row[] = [];
  for (const [code, language] of Object.entries(LANGUAGES)) {
    const all = written(code);
    const [learn, unseen] = await Promise.all(
      ['learn', 'unseen'].map((part) =>
        prepare(
          tools,
          all.filter((one) => one.part === part),
          embedder,
        ),
      ),
    );
    const queries = [...learn.queries, ...unseen.queries];
    const withoutTerms = queries.filter(({ tokens }) => tokens.length === 0).length;
    const withoutEmbedding = queries.filter(({ embedding }) =>
      embedding!.every((value) => value === 0),
    ).length;
    const sums = [0, 0, 0, 0];
    for (let seed = 1; seed <= Number(options.seeds); seed++) {
      const figures = [
        ...(await recallAround(learn, unseen, seed)),
        ...(await recallAround(learn, learn, seed)),
      ];
      for (const [at, value] of figures.entries()) sums[at] += value / Number(options.seeds);
    }
    rows.push({
      language,
      withoutTerms,
      withoutEmbedding,
      unseen: [sums[0], sums[1]],
      learned: [sums[2], sums[3]],
    });
  }
  await embedder.close();

  console.log('Recall@5, before → after 500 outcomes\n');
  console.log('| language | no terms / zero vector | queries learned from | others |\n|---|--:|---|---|');
  for (const { language, withoutTerms, withoutEmbedding, learned, unseen } of rows) {
    const change = ([before, after]: readonly [number, number]): string =>
      `${before.toFixed(3)} → ${after.toFixed(3)}`;
    console.log(
      `| ${[language, `${withoutTerms} / ${withoutEmbedding}`, change(learned), change(unseen)].join(' | ')} |`,
    );
  }
  const folder = join(packageRoot(), 'bench', 'results');
  mkdirSync(folder, { recursive: true });
  const result = { ...measuredOn('npx tsx bench/languages.ts'), model: basename(options.model), rows };
  writeFileSync(join(folder, 'languages.json'), `${JSON.stringify(result, null, 2)}\n`);
}

await main();
