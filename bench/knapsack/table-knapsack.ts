import type { Knapsack, KnapsackCorpus } from '../../bandit/selection/knapsack.ts';

/** The textbook's way: for every number of candidates and every number of tokens, the largest gain; one pass over the split. */
export const tableKnapsack: Knapsack = (tools, instructions, budget) => {
  const first = tableOf(tools, budget);
  const second = tableOf(instructions, budget);
  let best = 0;
  for (let tokens = 1; tokens <= budget; tokens++) {
    if (at(first, tokens) + at(second, budget - tokens) > at(first, best) + at(second, budget - best))
      best = tokens;
  }
  return { tools: chosenIn(first, best), instructions: chosenIn(second, budget - best) };

  function at({ gain, corpus: { limit } }: Table, tokens: number): number {
    return gain[limit * (budget + 1) + tokens];
  }

  function chosenIn({ taken, corpus: { limit, tokens, gain } }: Table, from: number): number[] {
    const chosen: number[] = [];
    let room = from;
    let k = limit;
    for (let i = gain.length - 1; i >= 0; i--) {
      if (taken[(i * (limit + 1) + k) * (budget + 1) + room] === 0) continue;
      chosen.push(i);
      room -= tokens[i];
      k--;
    }
    return chosen.reverse();
  }
};

interface Table {
  readonly corpus: KnapsackCorpus;
  readonly gain: Float64Array;
  readonly taken: Uint8Array;
}

function tableOf(corpus: KnapsackCorpus, budget: number): Table {
  const width = budget + 1;
  const { limit } = corpus;
  const gain = new Float64Array((limit + 1) * width);
  const taken = new Uint8Array(corpus.gain.length * (limit + 1) * width);
  for (let i = 0; i < corpus.gain.length; i++) {
    const tokens = corpus.tokens[i];
    if (!(corpus.gain[i] > 0)) continue;
    for (let k = limit; k >= 1; k--) {
      const row = (i * (limit + 1) + k) * width;
      for (let room = budget; room >= tokens; room--) {
        const value = gain[(k - 1) * width + room - tokens] + corpus.gain[i];
        if (value <= gain[k * width + room]) continue;
        gain[k * width + room] = value;
        taken[row + room] = 1;
      }
    }
  }
  return { corpus, gain, taken };
}
