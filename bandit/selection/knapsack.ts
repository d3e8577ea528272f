/** A corpus to choose from, column by column, of which at most `limit` may be chosen. */
export interface KnapsackCorpus {
  /** Gain of each one, finite; what is worth nothing, or less, is not chosen. */
  readonly gain: Float64Array;
  /** Tokens of each one, at least 0; ∞: it can never be chosen. */
  readonly tokens: Float64Array;
  readonly limit: number;
}

/** The choice: indices from each corpus, ascending. */
export interface Chosen {
  readonly tools: readonly number[];
  readonly instructions: readonly number[];
}

export type Knapsack = (tools: KnapsackCorpus, instructions: KnapsackCorpus, budget: number) => Chosen;

/** Gains are rounded to whole numbers up to about this, so that sums are exact and equal ones are equal; a double holds the sum of 2¹³ of them. */
const PRECISION = 2 ** 40;
/** Bisections of the price of a token. With a price that is not quite the best a few more points are kept, no others are found. */
const BISECTIONS = 16;

/**
 * Chooses from both corpora so that the sum of gains is largest within one budget and each corpus's limit. Of choices with the same
 * gain it takes the one with the fewest tokens. The order of the candidates decides nothing but which of identical ones is taken: the
 * first.
 *
 * Exact, to 2⁻⁴⁰ of the largest gain. Per corpus it keeps, for k = 0 … limit, every (tokens, gain) of at most k candidates that no other
 * choice beats (Nemhauser, Ullmann: Discrete dynamic programming and capital allocation; Management Science 1969), and drops a point as
 * soon as its Lagrangian bound is below a choice that is known already. One pass over the split of the budget joins the two.
 */
export const exactKnapsack: Knapsack = (tools, instructions, budget) => {
  const most = Math.max(largest(tools.gain), largest(instructions.gain), Number.MIN_VALUE);
  // A power of two, so that gains that are equal in sum stay so.
  const scale = PRECISION / 2 ** Math.ceil(Math.log2(most));
  const corpora = [tools, instructions].map((corpus) => worthwhile(corpus, budget, scale));
  const best = corpora.map(({ items, limit }) => items.slice(0, limit));
  if (tokensOf(best.flat()) <= budget) return chosenOf(best);

  const price = priceOf(corpora, budget);
  const good = byPrice(corpora, budget, price);
  const known = gainOf(good.flat());
  const remaining = corpora.map(({ items, limit }) => bestRemaining(items, limit, price));
  const worth = corpora.map(({ limit }, at) => remaining[at][0][limit]);
  const bound = worth[0] + worth[1] + price * budget;
  // Nothing is better then, and whatever is as good uses up the budget as well, since a token is worth something.
  if (bound - known < 0.9 && price > 1) return chosenOf(good);
  const [first, second] = corpora.map((corpus, at) => {
    // The bound is computed with rounding, what is known without.
    const least = known * (1 - 1e-12) - 1 - worth[1 - at] - price * budget;
    return front(corpus, budget, { price, remaining: remaining[at], least });
  });
  return chosenOf(bestSplit(first, second, budget));
};

/** Takes the largest gain per token first, as long as it fits: what Franko (Instruction-Tool Retrieval, section 3.4) does. */
export const greedyKnapsack: Knapsack = (tools, instructions, budget) => {
  const corpora = [tools, instructions].map((corpus) => worthwhile(corpus, budget, 1));
  const order = corpora.flatMap(({ items }, corpus) => items.map((item) => ({ ...item, corpus })));
  order.sort((a, b) => b.gain * a.tokens - a.gain * b.tokens || inOrder(a, b));
  const taken: Item[][] = [[], []];
  let room = budget;
  for (const item of order) {
    if (item.tokens > room || taken[item.corpus].length === corpora[item.corpus].limit) continue;
    taken[item.corpus].push(item);
    room -= item.tokens;
  }
  return chosenOf(taken);
};

interface Item {
  readonly index: number;
  readonly gain: number;
  readonly tokens: number;
}

interface Corpus {
  /** The best first, of equals the cheapest. */
  readonly items: readonly Item[];
  readonly limit: number;
}

/** Returns the candidates that may be chosen at all. */
function worthwhile({ gain, tokens, limit }: KnapsackCorpus, budget: number, scale: number): Corpus {
  const items: Item[] = [];
  for (let index = 0; index < gain.length; index++) {
    if (!(gain[index] > 0 && tokens[index] <= budget)) continue;
    const whole = scale === 1 ? gain[index] : Math.max(1, Math.round(gain[index] * scale));
    items.push({ index, gain: whole, tokens: tokens[index] });
  }
  items.sort(inOrder);
  return { items, limit: Math.min(limit, items.length) };
}

function inOrder(a: Item, b: Item): number {
  return b.gain - a.gain || a.tokens - b.tokens || a.index - b.index;
}

/** Returns about the price of a token at which what is worth its price, within the limits, costs the budget (the dual's minimum). */
function priceOf(corpora: readonly Corpus[], budget: number): number {
  let low = 0;
  let high = 0;
  for (const { items } of corpora) {
    for (const { gain, tokens } of items) if (tokens > 0) high = Math.max(high, gain / tokens);
  }
  for (let i = 0; i < BISECTIONS; i++) {
    const price = (low + high) / 2;
    let tokens = 0;
    for (const corpus of corpora) tokens += tokensAt(corpus, price);
    if (tokens > budget) low = price;
    else high = price;
  }
  return high;
}

/** Returns the tokens of the candidates that are worth most beyond this price, within the limit. */
function tokensAt({ items, limit }: Corpus, price: number): number {
  if (limit === 0) return 0;
  const nets = new Float64Array(items.length);
  for (let i = 0; i < nets.length; i++) nets[i] = items[i].gain - price * items[i].tokens;
  const least = Math.max(0, nets.slice().sort()[nets.length - limit]);
  let tokens = 0;
  for (let i = 0; i < nets.length; i++) if (nets[i] >= least) tokens += items[i].tokens;
  return tokens;
}

/** Returns a good choice: what is worth most beyond this price first, as long as it fits. */
function byPrice(corpora: readonly Corpus[], budget: number, price: number): Item[][] {
  const order = corpora.flatMap(({ items }, corpus) =>
    items.map((item) => ({ ...item, corpus, net: item.gain - price * item.tokens })),
  );
  order.sort((a, b) => b.net - a.net);
  const taken: Item[][] = corpora.map(() => []);
  let room = budget;
  for (const item of order) {
    if (item.tokens > room || taken[item.corpus].length === corpora[item.corpus].limit) continue;
    taken[item.corpus].push(item);
    room -= item.tokens;
  }
  return taken;
}

/** Returns, for every i and k, the most that k of the candidates from the i-th on are worth beyond this price. */
function bestRemaining(items: readonly Item[], limit: number, price: number): Float64Array[] {
  const sums: Float64Array[] = [];
  const best: number[] = [];
  for (let i = items.length; i >= 0; i--) {
    const net = i === items.length ? 0 : items[i].gain - price * items[i].tokens;
    if (net > 0) {
      let place = best.length;
      while (place > 0 && best[place - 1] < net) place--;
      best.splice(place, 0, net);
      if (best.length > limit) best.pop();
    }
    const sum = new Float64Array(limit + 1);
    for (let k = 1; k <= limit; k++) sum[k] = sum[k - 1] + (best[k - 1] ?? 0);
    sums[i] = sum;
  }
  return sums;
}

interface Bound {
  readonly price: number;
  readonly remaining: readonly Float64Array[];
  /** Points whose gain, less their price, with the best that remains, is below this lead to nothing new. */
  readonly least: number;
}

/** A choice, as the last candidate that was added and the choice before. */
interface Point {
  readonly tokens: number;
  readonly gain: number;
  readonly item: Item | null;
  readonly before: Point | null;
}

const NOTHING: Point = { tokens: 0, gain: 0, item: null, before: null };

/** Returns the choices that no other beats, with tokens and gains rising. */
function front(
  { items, limit }: Corpus,
  budget: number,
  { price, remaining, least }: Bound,
): readonly Point[] {
  // Where the budget ends before the limit is reached, nothing has to be counted.
  const counts = limit < mostThatFit(items, budget);
  /** levels[k]: of at most k candidates; or one level, of any number. */
  const levels: Point[][] = Array.from({ length: counts ? limit + 1 : 1 }, () => [NOTHING]);
  for (const [i, item] of items.entries()) {
    for (let k = levels.length - 1; k >= 0; k--) {
      const needed = least - remaining[i + 1][counts ? limit - k : limit];
      const old = levels[k];
      const less = counts ? (levels[k - 1] ?? []) : old;
      const merged: Point[] = [];
      let gain = -1;
      let p = 0;
      let q = 0;
      while (p < old.length || q < less.length) {
        const tokens = q < less.length ? less[q].tokens + item.tokens : Number.POSITIVE_INFINITY;
        const added = q < less.length ? less[q].gain + item.gain : 0;
        const takesOld =
          p < old.length && (old[p].tokens < tokens || (old[p].tokens === tokens && old[p].gain >= added));
        if (takesOld) {
          const point = old[p++];
          if (point.gain <= gain || point.gain - price * point.tokens < needed) continue;
          merged.push(point);
          gain = point.gain;
        } else {
          if (tokens > budget) break;
          const before = less[q++];
          if (added <= gain || added - price * tokens < needed) continue;
          merged.push({ tokens, gain: added, item, before });
          gain = added;
        }
      }
      levels[k] = merged;
    }
  }
  return levels[levels.length - 1];
}

function mostThatFit(items: readonly Item[], budget: number): number {
  let room = budget;
  let count = 0;
  for (const { tokens } of items.toSorted((a, b) => a.tokens - b.tokens)) {
    room -= tokens;
    if (room < 0) break;
    count++;
  }
  return count;
}

/** Returns the items of the best two points that fit together; none of either if the budget is below 0. */
function bestSplit(first: readonly Point[], second: readonly Point[], budget: number): Item[][] {
  let best: readonly [Point, Point] | null = null;
  let at = second.length - 1;
  for (const one of first) {
    while (at >= 0 && one.tokens + second[at].tokens > budget) at--;
    if (at < 0) break;
    const pair = [one, second[at]] as const;
    if (best === null || isBetter(pair, best)) best = pair;
  }
  return best === null ? [[], []] : best.map(itemsOf);
}

function isBetter(one: readonly [Point, Point], other: readonly [Point, Point]): boolean {
  const gain = one[0].gain + one[1].gain - other[0].gain - other[1].gain;
  if (gain !== 0) return gain > 0;
  return one[0].tokens + one[1].tokens < other[0].tokens + other[1].tokens;
}

function itemsOf(point: Point): Item[] {
  const items: Item[] = [];
  for (let one = point; one.item !== null && one.before !== null; one = one.before) items.push(one.item);
  return items;
}

function chosenOf([tools, instructions]: readonly (readonly Item[])[]): Chosen {
  const indices = (items: readonly Item[]) => items.map(({ index }) => index).sort((a, b) => a - b);
  return { tools: indices(tools), instructions: indices(instructions) };
}

function tokensOf(items: readonly Item[]): number {
  return items.reduce((sum, { tokens }) => sum + tokens, 0);
}

function gainOf(items: readonly Item[]): number {
  return items.reduce((sum, { gain }) => sum + gain, 0);
}

function largest(values: Float64Array): number {
  let most = 0;
  for (const value of values) if (value > most) most = value;
  return most;
}
