/**
 * How near is the estimate of tokens to o200k, on text that it was not fitted on? Beside it a quarter of the bytes. Tool definitions and
 * queries are read from --data, prose and code from the repository, other languages from `tokens/samples.ts`.
 *
 *   npx tsx bench/tokens.ts [--data ../shared/data] [--fit]
 *
 * --fit computes `src/tokens/estimate-weights.ts` anew: ridge regression of the tokens of each word on its features, of each script's
 * words on their letters, and the mean of marks by length. The texts for it are others than those for the error.
 */
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { ESTIMATE, WORD_FEATURES, wordFeatures } from '../src/tokens/estimate.ts';
import { o200k } from '../src/tokens/o200k.ts';
import { visitPieces } from '../src/tokens/pieces.ts';
import { SAMPLES } from './tokens/samples.ts';

interface Corpus {
  readonly name: string;
  readonly texts: readonly string[];
}

const root = new URL('..', import.meta.url).pathname;
const { values } = parseArgs({
  options: { data: { type: 'string', default: join(root, '../shared/data') }, fit: { type: 'boolean' } },
});
if (!existsSync(values.data)) {
  console.log(`No data sets in ${values.data} (option --data): nothing to measure.`);
  process.exit(0);
}
const exact = await o200k();
const RIDGE = 1e-5;

if (values.fit === true) fitWeights();
else report();

function report(): void {
  const rows = tested().map(({ name, texts }) => {
    const tokens = sum(texts.map(exact.count));
    const off = (counted: number): string => `${(100 * (counted / tokens - 1)).toFixed(1)} %`;
    const each = texts
      .map((text) => Math.abs(ESTIMATE.count(text) / exact.count(text) - 1))
      .sort((a, b) => a - b);
    return {
      text: name,
      texts: texts.length,
      tokens,
      estimate: off(sum(texts.map(ESTIMATE.count))),
      'each, median': `${(100 * each[Math.floor(each.length / 2)]).toFixed(1)} %`,
      'each, 90th percentile': `${(100 * each[Math.floor(each.length * 0.9)]).toFixed(1)} %`,
      'bytes / 4': off(sum(texts.map((text) => Buffer.byteLength(text) / 4))),
    };
  });
  console.table(rows);
  const text = tested()
    .flatMap(({ texts }) => texts)
    .join('\n')
    .slice(0, 2_000_000);
  for (const { name, count } of [ESTIMATE, exact]) {
    const start = process.cpuUsage();
    count(text);
    const { user, system } = process.cpuUsage(start);
    console.log(`${name}: ${(text.length / (user + system)).toFixed(1)} million characters a second`);
  }
}

function fitted(): readonly (Corpus & { readonly weight: number })[] {
  return [
    {
      name: 'tools',
      weight: 1,
      texts: ['seal-tools', 'toolalpaca', 'toollens', 'xlam-toolret'].flatMap((set) => some(tools(set), 700)),
    },
    {
      name: 'queries',
      weight: 0.6,
      texts: [...some(queries('seal-tools', 'dev'), 600), ...some(queries('mcp-zero', 'train'), 600)],
    },
    { name: 'prose', weight: 0.8, texts: files('docs', '.md').filter((_, i) => i % 2 === 0) },
    { name: 'code', weight: 0.6, texts: some(files('src', '.ts'), 150) },
    { name: 'languages', weight: 1, texts: Object.values(SAMPLES).map(([first]) => first) },
  ];
}

function tested(): Corpus[] {
  const of = (name: string, texts: readonly string[]): Corpus => ({ name, texts });
  return [
    ...['mcp-zero', 'bfcl-simple', 'stabletoolbench', 'api-bank', 'restbench'].map((set) =>
      of(`tools of ${set}`, some(tools(set), 500)),
    ),
    of('tools of ultratool (partly Chinese)', tools('ultratool')),
    of('queries of mcp-zero, bfcl-simple', [
      ...some(queries('mcp-zero', 'test'), 500),
      ...queries('bfcl-simple', 'test'),
    ]),
    of(
      'English prose',
      files('docs', '.md').filter((_, i) => i % 2 === 1),
    ),
    of('TypeScript', some(files('bench', '.ts'), 60)),
    of('Python', files('models/train', '.py')),
    ...Object.entries(SAMPLES).map(([language, [, second]]) => of(language, [second])),
  ];
}

/** Writes the weights: in hundredths of a token, for words; base and per letter, for other scripts. */
function fitWeights(): void {
  const normal = Array.from({ length: WORD_FEATURES }, () => new Float64Array(WORD_FEATURES));
  const right = new Float64Array(WORD_FEATURES);
  const scripts = new Map<number, [letters: number, tokens: number][]>();
  const marks = Array.from({ length: 8 }, () => ({ tokens: 0, weight: 0 }));
  for (const { weight, texts } of fitted()) {
    const characters = sum(texts.map(({ length }) => length));
    for (const text of texts) {
      visitPieces(text, {
        word(start, end, prefix, hasContraction) {
          const features = new Map<number, number>();
          wordFeatures(text, start, end, prefix, hasContraction, (feature) => {
            features.set(feature, (features.get(feature) ?? 0) + 1);
          });
          const from = prefix > 0 ? start - 1 : start;
          const tokens = exact.count(text.slice(from, hasContraction ? end + 2 : end));
          const share = weight / characters;
          for (const [a, x] of features) {
            right[a] += share * x * tokens;
            for (const [b, y] of features) normal[a][b] += share * x * y;
          }
        },
        script(start, end, block) {
          const found = scripts.get(block) ?? [];
          found.push([end - start, exact.count(text.slice(start, end))]);
          scripts.set(block, found);
        },
        marks(start, end) {
          const mean = marks[Math.min(end - start, marks.length) - 1];
          mean.tokens += (weight / characters) * exact.count(text.slice(start, end));
          mean.weight += weight / characters;
        },
        digits: () => {},
        blanks: () => {},
      });
    }
  }
  for (let i = 0; i < WORD_FEATURES; i++) normal[i][i] += RIDGE;
  const weights = [...solve(normal, right)].map((weight) => Math.round(100 * weight));
  const byScript = [...scripts].map(([block, pieces]) => {
    const [a, b] = lineThrough(pieces);
    return `  0x${block.toString(16)}: [${a.toFixed(2)}, ${b.toFixed(3)}],`;
  });
  const means = marks.map(({ tokens, weight }, i) => (weight > 0 ? tokens / weight : (i + 2) / 2).toFixed(2));
  writeFileSync(
    join(root, 'src/tokens/estimate-weights.ts'),
    `// Made by \`npx tsx bench/tokens.ts --fit\`.

/** Of the features of a word, in hundredths of a token. */
// biome-ignore format: a table
export const WEIGHTS: readonly number[] = [
${lines(weights)}
];

/** By the first bits of a letter's code: tokens of a word in this script, and of each of its letters. */
export const SCRIPTS: Readonly<Record<number, readonly [base: number, perLetter: number]>> = {
${byScript.join('\n')}
};

/** Tokens of so many marks in a row, one first. */
export const MARKS: readonly number[] = [${means.join(', ')}];
`,
  );
}

function lines(numbers: readonly number[]): string {
  const rows: string[] = [];
  for (let at = 0; at < numbers.length; at += 28) rows.push(`  ${numbers.slice(at, at + 28).join(', ')},`);
  return rows.join('\n');
}

/** Least squares with a little ridge: pieces of one script are few. */
function lineThrough(pieces: readonly (readonly [number, number])[]): [number, number] {
  let [n, x, y, xx, xy] = [1, 0, 0, 0.1, 0];
  for (const [length, tokens] of pieces) {
    n++;
    x += length;
    y += tokens;
    xx += length * length;
    xy += length * tokens;
  }
  const determinant = n * xx - x * x;
  return [(y * xx - x * xy) / determinant, (n * xy - x * y) / determinant];
}

/** Cholesky. Both arguments are used up. */
function solve(a: Float64Array[], b: Float64Array): Float64Array {
  const size = b.length;
  for (let j = 0; j < size; j++) {
    for (let k = 0; k < j; k++) {
      const factor = a[j][k];
      if (factor !== 0) for (let i = j; i < size; i++) a[i][j] -= factor * a[i][k];
    }
    const root = Math.sqrt(a[j][j]);
    for (let i = j; i < size; i++) a[i][j] /= root;
  }
  for (let i = 0; i < size; i++) {
    for (let k = 0; k < i; k++) b[i] -= a[i][k] * b[k];
    b[i] /= a[i][i];
  }
  for (let i = size - 1; i >= 0; i--) {
    for (let k = i + 1; k < size; k++) b[i] -= a[k][i] * b[k];
    b[i] /= a[i][i];
  }
  return b;
}

function tools(set: string): string[] {
  return rows(`${set}/tools.jsonl`).map(({ name, description, parameters }) =>
    JSON.stringify({ name, description, inputSchema: parameters }),
  );
}

function queries(set: string, split: string): string[] {
  return rows(`${set}/queries.${split}.jsonl`).flatMap(({ query }) => (query === '' ? [] : [query]));
}

function rows(path: string) {
  const text = readFileSync(join(values.data, path), 'utf8').trim();
  return text.split('\n').map((line) => JSON.parse(line)) as {
    name: string;
    description: string;
    parameters: unknown;
    query: string;
  }[];
}

function files(folder: string, ending: string): string[] {
  const names = readdirSync(join(root, folder), { recursive: true }) as string[];
  return names
    .filter((name) => name.endsWith(ending))
    .sort()
    .map((name) => readFileSync(join(root, folder, name), 'utf8'));
}

/** So many of them, evenly. */
function some<T>(all: readonly T[], count: number): T[] {
  const step = Math.max(1, Math.floor(all.length / count));
  return all.filter((_, i) => i % step === 0);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
