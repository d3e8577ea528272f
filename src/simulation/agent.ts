import type { Random } from '../../bandit/random.ts';

/** How the simulated agent behaves; every probability is 0…1. */
export interface AgentBehaviour {
  /** Probability that it calls a shown tool that fits. */
  readonly calls: number;
  /** Probability that it makes a mistake and calls the highest-ranked shown tool that does not fit instead. */
  readonly noise: number;
  /** Probability that, if no shown tool fits, it finds one that fits elsewhere and reports that one. */
  readonly finds: number;
  /** Probability that the outcomes of a whole decision are lost. */
  readonly loss: number;
  /** Probability that an outcome is reported as its opposite. */
  readonly flips: number;
  /** Mean of the exponential delay of outcomes, in decisions; 0: at once. */
  readonly delay: number;
}

export const CAREFUL_AGENT: AgentBehaviour = { calls: 0.93, noise: 0, finds: 0, loss: 0, flips: 0, delay: 0 };

export interface Call {
  readonly tool: string;
  readonly success: boolean;
}

export interface Conduct {
  readonly calls: readonly Call[];
  /** Number of decisions until the outcomes arrive; null: they are lost. */
  readonly delay: number | null;
}

const LOSS_DRAW = 0;
const DELAY_DRAW = 1;
const NOISE_DRAW = 2;
const WRONG_DRAW = 3;
const FIND_DRAW = 4;
const FIRST_CALL_DRAW = 5;
const FIRST_FLIP_DRAW = 1000;

/**
 * Returns what the agent does with a slate. It calls each shown tool that fits with probability `calls`, and succeeds. If it
 * called none, it finds one elsewhere, or calls one of the others at random and fails. Pure: the same random numbers give the
 * same result.
 */
export function conductOf(
  shown: readonly string[],
  fitting: ReadonlySet<string>,
  behaviour: AgentBehaviour,
  random: Random,
): Conduct {
  const lost = random.uniform(LOSS_DRAW) < behaviour.loss;
  const delay = Math.floor(-behaviour.delay * Math.log(random.uniform(DELAY_DRAW)));
  const calls = callsOf(shown, fitting, behaviour, random).map(({ tool, success }, at) => {
    const flipped = random.uniform(FIRST_FLIP_DRAW + at) < behaviour.flips;
    return { tool, success: success !== flipped };
  });
  return { calls, delay: lost ? null : delay };
}

function callsOf(
  shown: readonly string[],
  fitting: ReadonlySet<string>,
  behaviour: AgentBehaviour,
  random: Random,
): Call[] {
  const wrong = shown.filter((tool) => !fitting.has(tool));
  if (random.uniform(NOISE_DRAW) < behaviour.noise) {
    return wrong.slice(0, 1).map((tool) => ({ tool, success: false }));
  }
  const calls = shown
    .filter((tool, rank) => fitting.has(tool) && random.uniform(FIRST_CALL_DRAW + rank) < behaviour.calls)
    .map((tool) => ({ tool, success: true }));
  if (calls.length > 0) return calls;
  const elsewhere = [...fitting].filter((tool) => !shown.includes(tool));
  if (elsewhere.length > 0 && random.uniform(FIND_DRAW) < behaviour.finds) {
    return [{ tool: elsewhere[0], success: true }];
  }
  if (wrong.length === 0) return calls;
  const tool = wrong[Math.floor(random.uniform(WRONG_DRAW) * wrong.length)];
  return [{ tool, success: false }];
}
