import { randomUUID } from 'node:crypto';
import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { Problem, type ProblemCode } from '../errors/problem.ts';
import type { ExperimentChange } from '../ledger/experiment-definition.ts';
import type { ExperimentRecord } from '../state/experiments/experiment-record.ts';
import type { ExperimentRefusal } from '../state/fold-result.ts';
import { basisPoints, completeDraft, type ExperimentDraft } from './experiment-draft.ts';
import { type ExperimentReportView, reportView } from './experiment-report.ts';
import { type ExperimentView, viewOf } from './experiment-view.ts';
import type { ExposureRecorder } from './exposure-recorder.ts';

/** The experiment after a change, and the share of its traffic that has another variant. */
export type MovedExperiment = ExperimentView & { readonly movedPercent: number };

/** Creates, changes and reads experiments. Every change is an entry, and the fold decides whether it is allowed. */
export class Experiments {
  readonly #catalogs: Pick<Catalogs, 'get' | 'holding'>;
  readonly #exposures: ExposureRecorder;

  constructor(catalogs: Pick<Catalogs, 'get' | 'holding'>, exposures: ExposureRecorder) {
    this.#catalogs = catalogs;
    this.#exposures = exposures;
  }

  list(catalog: string): ExperimentView[] {
    const { state } = this.#catalogs.get(catalog);
    return state.experiments.all().map((record) => viewOf(record, catalog));
  }

  get(catalog: string, name: string): ExperimentView {
    return viewOf(this.#find(this.#catalogs.get(catalog), name), catalog);
  }

  async create(catalog: string, draft: ExperimentDraft, actor?: string): Promise<ExperimentView> {
    const definition = completeDraft(draft, this.#catalogs.get(catalog));
    await this.change(catalog, draft.name, { action: 'create', definition }, actor);
    return this.get(catalog, draft.name);
  }

  /**
   * Changes an experiment.
   * @param ifAllocation version of the shares on which the change was decided: it is refused when they have changed since.
   * @throws Problem experiment-not-found, experiment-conflict and whatever else the fold refuses.
   */
  async change(
    catalog: string,
    name: string,
    change: ExperimentChange,
    actor?: string,
    ifAllocation?: number,
  ): Promise<MovedExperiment> {
    const outcome = await this.#catalogs.holding(catalog, async (open) => {
      // What was shown until now belongs to the time before.
      await this.#exposures.flush(open);
      return open.replica.submit({
        kind: 'experiment',
        key: `experiment/${randomUUID()}`,
        at: open.now(),
        name,
        change,
        ...(ifAllocation !== undefined && { ifAllocation }),
        ...(actor !== undefined && { actor }),
      });
    });
    if (outcome.kind === 'experiment-refused') throw refusalProblem(outcome.reason, outcome.sentence);
    const moved = outcome.kind === 'experiment' ? outcome.moved : 0;
    return { ...this.get(catalog, name), movedPercent: moved / 100 };
  }

  changeShares(
    catalog: string,
    name: string,
    shares: Readonly<Record<string, number>>,
    actor?: string,
  ): Promise<MovedExperiment> {
    const whole = Object.fromEntries(basisPoints(Object.entries(shares)));
    return this.change(catalog, name, { action: 'shares', shares: whole }, actor);
  }

  /** Returns the report, with everything that was shown until now. */
  report(catalog: string, name: string): Promise<ExperimentReportView> {
    return this.#catalogs.holding(catalog, async (open) => {
      this.#find(open, name);
      await this.#exposures.flush(open);
      await open.replica.caughtUp();
      return reportView(this.#find(open, name), catalog);
    });
  }

  #find({ state, name: catalog }: Catalog, name: string): ExperimentRecord {
    const record = state.experiments.get(name);
    if (record !== undefined) return record;
    throw new Problem(
      'experiment-not-found',
      `Catalog "${catalog}" has no experiment "${name}".`,
      `GET /v1/catalogs/${catalog}/experiments lists them.`,
    );
  }
}

const PROBLEMS: Record<ExperimentRefusal, { readonly code: ProblemCode; readonly fix: string }> = {
  exists: { code: 'experiment-exists', fix: 'Choose another name; GET the experiment to see what it is.' },
  unknown: { code: 'experiment-not-found', fix: 'GET …/experiments lists them.' },
  'too-many': { code: 'experiment-conflict', fix: 'Use another catalog for further experiments.' },
  status: { code: 'experiment-conflict', fix: 'GET the experiment: `history` says what happened to it.' },
  overlap: {
    code: 'experiment-overlap',
    fix: 'Change `layer`, `unit`, `traffic` or `target`, or stop the other one.',
  },
  shares: {
    code: 'validation-failed',
    fix: 'Give every variant that serves a share; together they are 100 %.',
  },
  variant: { code: 'validation-failed', fix: 'Use the name of a variant that serves.' },
  start: {
    code: 'validation-failed',
    fix: 'Create it with `startsFrom: "cold"` or "kept" for that variant.',
  },
  same: {
    code: 'validation-failed',
    fix: 'Create an experiment whose variants differ in `policy`, `mode`, `learnsFrom`, `startsFrom` or `detail`. Leave the policy of both out to test the experiment itself.',
  },
  'sample-ratio': {
    code: 'sample-ratio-mismatch',
    fix: 'Find out which units are lost or counted twice (redirects, crashes, activation in one variant only), then start a new experiment.',
  },
  'no-winner': { code: 'no-winner', fix: 'Go on, or name the variant to promote: {"variant": "…"}.' },
};

/** Returns the problem for a change that the fold refused. */
export function refusalProblem(reason: ExperimentRefusal, sentence: string): Problem {
  const { code, fix } = PROBLEMS[reason];
  return new Problem(code, sentence, fix);
}
