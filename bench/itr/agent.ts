import type { Random } from '../../bandit/random.ts';

/**
 * The simulated agent of the paper's equations 5 and 6. It takes a right tool that it sees with probability α/(α + h), where h is
 * all that leads it astray, and none that it does not see:
 *
 *   h = own + prompt·(share of the whole prompt that it reads) + distractor·(tools that it sees − 1)
 *
 * α is 1 where it reads all instructions that govern the step, as it does with the monolithic prompt, falls to `unguided` where
 * it reads none of them, and is in between by their share.
 */
export interface AgentParameters {
  /** Hazard of each tool beside the right one: the paper's β. */
  readonly distractor: number;
  /** Hazard of the whole prompt. */
  readonly prompt: number;
  /** Hazard that is there with one tool and no prompt. */
  readonly own: number;
  /** α without any of the instructions that govern the step. */
  readonly unguided: number;
  /** Probability that it notices when no tool that it sees is right; and that it believes so when one is. */
  readonly notices: number;
  readonly doubts: number;
}

/** Share of right calls of the monolithic baseline, by number of tools: the paper's Table 5, column B0. */
export const PAPER_MONOLITH: readonly (readonly [tools: number, correct: number])[] = [
  [8, 0.74],
  [40, 0.57],
  [120, 0.45],
];

/**
 * Fits 1/(1 + c + β(N − 1)) to the shares by least squares: 1/share is a line in N, whose slope and offset are refined by
 * Gauss–Newton, since it is the share that is to be met.
 */
export function fitMonolith(shares: readonly (readonly [number, number])[]): {
  constant: number;
  distractor: number;
} {
  let constant = 0.3;
  let distractor = 0.01;
  for (let round = 0; round < 100; round++) {
    let [aa, ab, bb, ar, br] = [0, 0, 0, 0, 0];
    for (const [tools, share] of shares) {
      const fitted = 1 / (1 + constant + distractor * (tools - 1));
      const da = -(fitted ** 2);
      const db = da * (tools - 1);
      const rest = share - fitted;
      aa += da * da;
      ab += da * db;
      bb += db * db;
      ar += da * rest;
      br += db * rest;
    }
    const determinant = aa * bb - ab * ab;
    constant += (bb * ar - ab * br) / determinant;
    distractor += (aa * br - ab * ar) / determinant;
  }
  return { constant, distractor };
}

/**
 * The parameters of the bench. From the paper comes column B0 of Table 5 alone. It holds the sum of the agent's own hazard and
 * that of the prompt, and not how it is divided: here each has half. What a missing instruction costs, and how well the agent
 * judges its tools, are assumptions.
 */
export function agentParameters(
  assumed: Partial<AgentParameters> & { promptShare?: number } = {},
): AgentParameters {
  const { constant, distractor } = fitMonolith(PAPER_MONOLITH);
  const { promptShare = 0.5, ...rest } = assumed;
  const prompt = constant * promptShare;
  return { distractor, prompt, own: constant - prompt, unguided: 0.5, notices: 0.8, doubts: 0.05, ...rest };
}

/** What the agent sees in one step. */
export interface View {
  readonly tools: readonly string[];
  readonly instructions: ReadonlySet<string>;
  /** Share of the whole prompt that it reads, 0…1, in tokens. */
  readonly promptShare: number;
}

/** α of a step that these instructions govern. */
function clarity(
  governing: readonly string[],
  { instructions }: View,
  { unguided }: AgentParameters,
): number {
  if (governing.length === 0) return 1;
  const read = governing.filter((id) => instructions.has(id)).length / governing.length;
  return unguided + (1 - unguided) * read;
}

/** What it does: calls a tool; or calls the right one with arguments that are wrong. */
export interface Action {
  readonly tool: string | null;
  readonly garbled: boolean;
}

const CHOICE = 0;
const WRONG = 1;
const JUDGEMENT = 2;

/** Chooses among the tools that it sees. Pure: the same random numbers give the same action. */
export function act(
  gold: readonly string[],
  governing: readonly string[],
  view: View,
  parameters: AgentParameters,
  random: Random,
): Action {
  const right = view.tools.find((tool) => gold.includes(tool));
  const wrong = view.tools.filter((tool) => !gold.includes(tool));
  const anyWrong = wrong[Math.floor(random.uniform(WRONG) * wrong.length)] ?? null;
  if (right === undefined) return { tool: anyWrong, garbled: false };
  const alpha = clarity(governing, view, parameters);
  const reading = parameters.own + parameters.prompt * view.promptShare;
  const distraction = parameters.distractor * (view.tools.length - 1);
  const draw = random.uniform(CHOICE) * (alpha + reading + distraction);
  if (draw < alpha) return { tool: right, garbled: false };
  return draw < alpha + reading || anyWrong === null
    ? { tool: right, garbled: true }
    : { tool: anyWrong, garbled: false };
}

/** Returns whether the agent says that the tools do not suffice. */
export function asksForMore(
  gold: readonly string[],
  view: View,
  parameters: AgentParameters,
  random: Random,
): boolean {
  const isThere = view.tools.some((tool) => gold.includes(tool));
  return random.uniform(JUDGEMENT) < (isThere ? parameters.doubts : parameters.notices);
}
