import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import type { LearnerSize } from '../../bandit/policy.ts';
import { randomFor } from '../../bandit/random.ts';
import type { Decision } from '../decisions/decision.ts';
import type { PolicySettings } from '../ledger/catalog-settings.ts';
import { type AgentBehaviour, CAREFUL_AGENT, type Call, conductOf } from './agent.ts';
import { type CatalogChanges, castingOf, NO_CHANGES, shuffled } from './catalog-changes.ts';
import { type Evaluation, type ExposureShare, Exposures, evaluate, type LabelledQuery } from './evaluate.ts';
import { type PreparedTool, SimulatedCatalog } from './simulated-catalog.ts';

export interface SimulationOptions {
  readonly kernels: Kernels;
  readonly tools: readonly PreparedTool[];
  /** Learned from, in a seeded order, `passes` times. */
  readonly queries: readonly LabelledQuery[];
  /** Queries for evaluations, never learned from. */
  readonly heldOut: readonly LabelledQuery[];
  readonly policy: PolicySettings;
  /** Tools shown per query, 1…50. */
  readonly k: number;
  readonly seed: number;
  readonly passes?: number;
  readonly agent?: AgentBehaviour;
  /** `unitId` of every request; absent: none. */
  readonly unit?: string;
  readonly changes?: CatalogChanges;
  /** Evaluations before the end: after how many steps. There is always one at the end. */
  readonly evaluateAfter?: readonly number[];
  readonly onProgress?: (progress: {
    readonly step: number;
    readonly steps: number;
    readonly recall: number;
  }) => void;
  readonly signal?: AbortSignal;
}

export interface SimulationResult {
  readonly steps: number;
  /** Share of the fitting tools in the slate, per step; NaN where no live tool fitted. */
  readonly online: Float64Array;
  readonly evaluations: readonly Evaluation[];
  /** How often newcomers were shown when they fitted, by how often they had been shown before. */
  readonly newcomers: readonly ExposureShare[];
  readonly size: LearnerSize;
}

/** The simulation pauses for the event loop and the progress bar after this many steps. */
const STEPS_PER_TURN = 64;

/**
 * Simulates an agent that routes labelled queries with a policy, in process. Deterministic: the same options give the same
 * result.
 * @throws RangeError when the changes need more tools than there are. @throws the reason of `signal`.
 */
export async function simulate(options: SimulationOptions): Promise<SimulationResult> {
  const { kernels, tools, policy, k, seed, changes = NO_CHANGES, agent = CAREFUL_AGENT } = options;
  const key = `simulation/${seed}`;
  const passes = Array.from({ length: options.passes ?? 1 }, (_, pass) =>
    shuffled(options.queries, `${key}/${pass}`),
  );
  const stream = passes.flat();
  const steps = stream.length;
  const casting = castingOf(
    tools.map(({ tool }) => tool.name),
    changes,
    key,
  );
  const cast = (names: ReadonlySet<string>): PreparedTool[] =>
    tools.filter(({ tool }) => names.has(tool.name));

  const catalog = new SimulatedCatalog(kernels, tools[0]?.embedding?.length ?? 0, policy);
  try {
    catalog.put(tools.filter(({ tool }) => !casting.newcomers.has(tool.name)));
    let drifted = false;
    const fittingOf = ({ relevant }: LabelledQuery): ReadonlySet<string> => {
      const now = drifted ? relevant.map((name) => casting.successors.get(name) ?? name) : relevant;
      return new Set(now.filter((name) => catalog.state.tools.get(name) !== undefined));
    };
    const marks = new Set(options.evaluateAfter ?? []);
    const evaluations: Evaluation[] = [];
    const online = new Float64Array(steps).fill(Number.NaN);
    const exposures = new Exposures(casting.newcomers);
    const arrivals = new Map<number, { decision: Decision; calls: readonly Call[] }[]>();

    for (const [step, query] of stream.entries()) {
      if (marks.has(step)) evaluations.push(evaluate(catalog, options.heldOut, fittingOf, step));
      catalog.advance(step);
      if (step === Math.floor(steps / 2)) {
        drifted = true;
        if (casting.newcomers.size > 0) catalog.put(cast(casting.newcomers));
      }
      if (casting.removed.size > 0 && step === Math.floor(steps / 3)) catalog.remove([...casting.removed]);
      if (casting.removed.size > 0 && step === Math.floor((2 * steps) / 3))
        catalog.put(cast(casting.removed));

      const fitting = fittingOf(query);
      if (fitting.size > 0) {
        const decision = catalog.decide(`simulation.${seed}x${step}`, query, k, true, {
          unitId: options.unit,
        });
        const shown = decision.slate.map((index) => decision.candidates[index]);
        online[step] = shown.filter((name) => fitting.has(name)).length / fitting.size;
        exposures.count(shown, fitting);
        const { calls, delay } = conductOf(shown, fitting, agent, randomFor(`${key}/agent/${step}`));
        if (delay !== null) {
          const due = arrivals.get(step + delay) ?? [];
          arrivals.set(step + delay, [...due, { decision, calls }]);
        }
      }
      for (const { decision, calls } of arrivals.get(step) ?? []) catalog.report(decision, calls);
      arrivals.delete(step);

      if (step % STEPS_PER_TURN === 0) {
        options.signal?.throwIfAborted();
        options.onProgress?.({ step, steps, recall: recentMean(online, step) });
        await nextTurn();
      }
    }
    evaluations.push(evaluate(catalog, options.heldOut, fittingOf, steps));
    const size = catalog.state.learners.active.policy.sizeInBytes();
    return { steps, online, evaluations, newcomers: exposures.shares(), size };
  } finally {
    catalog.free();
  }
}

/** Mean over the last thousand steps that had something to find. */
function recentMean(online: Float64Array, step: number): number {
  return meanOf(online.subarray(Math.max(0, step - 999), step + 1));
}

/** Mean of the values that are numbers; NaN if there are none. */
export function meanOf(values: ArrayLike<number>): number {
  let sum = 0;
  let count = 0;
  for (let i = 0; i < values.length; i++) {
    if (Number.isNaN(values[i])) continue;
    sum += values[i];
    count++;
  }
  return sum / count;
}
