/**
 * Do the rules grade descriptions as people do? Kendall's τ-b and Cohen's κ (low 1–2, medium 3, high 4–5) on tools that were graded for
 * this; by the chat model as well if BANDOLIER_CHAT_URL names one. And how well the tools of public sets are described.
 *
 *     npx tsx bench/description-quality.ts [--data ../shared/data] [--errors]
 */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { ToolDefinition } from '../src/ledger/tool-definition.ts';
import { chatDescriptionQuality, descriptionQuality } from '../src/merging/description-quality.ts';
import { toolOf } from './merge-judge/labelled-pairs.ts';

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: '../shared/data' },
    errors: { type: 'boolean', default: false },
  },
});

const lines = readFileSync(new URL('merge-judge/graded.txt', import.meta.url), 'utf8').split('\n');
const graded = lines
  .filter((line) => line !== '' && !line.startsWith('#'))
  .map((line) => ({ grade: Number(line[0]), tool: toolOf(line.slice(4)) }));

const byRules = graded.map(({ tool }) => descriptionQuality(tool).score);
report('rules', byRules);
if (values.errors) {
  for (const [at, { grade, tool }] of graded.entries()) {
    if (grade !== byRules[at])
      console.log(`${grade} → ${byRules[at]}: ${tool.name}: ${descriptionQuality(tool).reasons.join(' ')}`);
  }
}

const { BANDOLIER_CHAT_URL: url, BANDOLIER_CHAT_MODEL: model, BANDOLIER_CHAT_KEY: key } = process.env;
if (url && model) {
  const scores: (number | null)[] = [];
  for (const { tool } of graded) {
    const quality = await chatDescriptionQuality(
      { url, model, key, timeoutMs: 60_000, allowPrivate: true },
      tool,
    );
    scores.push(quality?.score ?? null);
  }
  report(model, scores);
  report('rules and model', byRules, scores);
}

for (const set of ['bfcl-simple', 'seal-tools', 'ultratool', 'mcp-zero']) {
  const file = join(values.data, set, 'tools.jsonl');
  if (!existsSync(file)) {
    console.log(`${set}: not in ${values.data}`);
    continue;
  }
  const scores = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => {
      const { name, description = '', parameters = {} } = JSON.parse(line);
      return descriptionQuality({ name, description, inputSchema: parameters } as ToolDefinition).score;
    });
  const share = (...of: number[]) =>
    `${((100 * scores.filter((score) => of.includes(score)).length) / scores.length).toFixed(1)} %`;
  console.log(`${set}: ${scores.length} tools, low ${share(1, 2)}, medium ${share(3)}, high ${share(4, 5)}`);
}

function report(
  name: string,
  scores: readonly (number | null)[],
  others: readonly (number | null)[] = graded.map(({ grade }) => grade),
): void {
  const both = scores.flatMap((score, at) =>
    score === null || others[at] === null ? [] : [[score, others[at] as number] as const],
  );
  const exact = both.filter(([a, b]) => a === b).length;
  console.log(
    `${name}: ${both.length} of ${scores.length} tools, Kendall's τ-b ${tau(both).toFixed(3)}, Cohen's κ of three bins ${kappa(both).toFixed(3)}, the same grade ${exact}`,
  );
}

function tau(pairs: readonly (readonly [number, number])[]): number {
  let sum = 0;
  let [tiesA, tiesB, all] = [0, 0, 0];
  for (const [at, [a, b]] of pairs.entries()) {
    for (const [c, d] of pairs.slice(at + 1)) {
      sum += Math.sign(a - c) * Math.sign(b - d);
      if (a === c) tiesA++;
      if (b === d) tiesB++;
      all++;
    }
  }
  return sum / Math.sqrt((all - tiesA) * (all - tiesB));
}

function kappa(pairs: readonly (readonly [number, number])[]): number {
  const bin = (score: number) => (score <= 2 ? 0 : score === 3 ? 1 : 2);
  const share = (test: (pair: readonly [number, number]) => boolean) =>
    pairs.filter(test).length / pairs.length;
  const observed = share(([a, b]) => bin(a) === bin(b));
  const expected = [0, 1, 2].reduce(
    (sum, one) => sum + share(([a]) => bin(a) === one) * share(([, b]) => bin(b) === one),
    0,
  );
  return (observed - expected) / (1 - expected);
}
