import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import type { QueryFeatures } from '../../bandit/policy.ts';
import { randomFor } from '../../bandit/random.ts';
import type { Embedder } from '../../src/models/embedder.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';

/** Queries that were asked before and are remembered, and others that are asked now. */
export interface Cases {
  readonly name: string;
  readonly remembered: readonly QueryFeatures[];
  readonly asked: readonly QueryFeatures[];
}

const SUBJECTS = 200;
const KINDS = 1000;
const COMMON_WORDS = 3000;
/** Texts per call of the embedder. */
const LOT = 500;

/**
 * Made-up queries: each is of one of 1,000 kinds, which belong to 200 subjects. Half of the words go with the kind,
 * the others are common ones. Vectors are sums of windows of one long row of random numbers: near enough to
 * random, and quick to make.
 */
export function madeUpCases(count: number, asked: number, dimensions: number): Cases {
  const random = randomFor('bench/memory');
  const noise = Float32Array.from({ length: 1 << 20 }, (_, i) => random.uniform(i) - 0.5);
  const window = (at: number): Float32Array => {
    const start = (at * 7919 + 13) % (noise.length - dimensions);
    return noise.subarray(start, start + dimensions);
  };
  const queryOf = (at: number): QueryFeatures => {
    const draw = (i: number): number => random.uniform(2 ** 24 + 16 * at + i);
    const kind = Math.floor(KINDS * draw(0) ** 1.5);
    const subject = kind % SUBJECTS;
    const own = window(SUBJECTS + KINDS + at);
    const [near, far] = [window(SUBJECTS + kind), window(subject)];
    const vector = own.map((value, i) => 0.8 * value + near[i] + 0.7 * far[i]);
    const words = Array.from({ length: 12 }, (_, i) =>
      i < 6
        ? COMMON_WORDS + 20 * kind + Math.floor(20 * draw(i + 1))
        : Math.floor(COMMON_WORDS * draw(i + 1) ** 3),
    );
    const terms = Uint32Array.from(new Set(words)).sort();
    const weights = new Float32Array(terms.length).fill(1 / Math.sqrt(terms.length));
    return { embedding: unit(vector), terms: { terms, weights } };
  };
  const all = Array.from({ length: count + asked }, (_, at) => queryOf(at));
  return { name: 'made up', remembered: all.slice(0, count), asked: all.slice(count) };
}

/**
 * The queries and descriptions of the public sets, in any order. Where that is not enough, they are cut and
 * joined to more. Null where there are no sets.
 */
export async function casesOfTexts(
  data: string,
  count: number,
  asked: number,
  embedder: Embedder,
): Promise<Cases | null> {
  if (!existsSync(data)) return null;
  const random = randomFor('bench/memory/texts');
  let draws = 0;
  const draw = (below: number): number => Math.floor(below * random.uniform(draws++));
  const known = [...new Set(textsIn(data))];
  const texts = [...known];
  while (texts.length < count + asked) {
    const [a, b] = [known[draw(known.length)], known[draw(known.length)]].map((text) => text.split(' '));
    const cut = Math.ceil(a.length * 0.6) + draw(a.length * 0.4 + 1);
    texts.push([...a.slice(0, cut), ...b.slice(0, draw(b.length * 0.3 + 1))].join(' '));
  }
  for (let at = texts.length - 1; at > 0; at--) {
    const other = draw(at + 1);
    [texts[at], texts[other]] = [texts[other], texts[at]];
  }
  texts.length = count + asked;
  const all: QueryFeatures[] = [];
  const tokens = texts.map((text) => Uint32Array.from(new Set(tokenise(text))).sort());
  const frequencies = new Map<number, number>();
  for (const own of tokens) for (const term of own) frequencies.set(term, (frequencies.get(term) ?? 0) + 1);
  for (let from = 0; from < texts.length; from += LOT) {
    const vectors = await embedder.embedQueries(texts.slice(from, from + LOT));
    for (const [at, embedding] of vectors.entries()) {
      const terms = tokens[from + at];
      const weights = Float32Array.from(terms, (term) =>
        Math.log(1 + texts.length / (1 + (frequencies.get(term) ?? 0))),
      );
      all.push({ embedding, terms: { terms, weights: unit(weights) } });
    }
  }
  const name = `texts of ${known.length} queries and descriptions`;
  return { name, remembered: all.slice(0, count), asked: all.slice(count) };
}

function* textsIn(data: string): Generator<string> {
  for (const set of readdirSync(data, { withFileTypes: true })) {
    if (!set.isDirectory()) continue;
    for (const file of readdirSync(join(data, set.name))) {
      if (!/\.jsonl(\.gz)?$/.test(file)) continue;
      const bytes = readFileSync(join(data, set.name, file));
      const lines = (file.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString().split('\n');
      for (const line of lines.filter((each) => each !== '')) {
        const { query, description } = JSON.parse(line) as { query?: string; description?: string };
        const text = query ?? description ?? '';
        if (text.length > 10) yield text.slice(0, 400);
      }
    }
  }
}

function unit(vector: Float32Array): Float32Array {
  const length = Math.hypot(...vector);
  return length === 0 ? vector : vector.map((value) => value / length);
}
