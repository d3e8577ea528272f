import type { Catalog } from '../catalog/catalog.ts';
import type { Decision } from '../decisions/decision.ts';
import { type AssignedVariant, shadowsFor } from '../experiments/assign.ts';
import type { ExposureRecorder } from '../experiments/exposure-recorder.ts';
import { decide, type Question } from './decide.ts';

/** Rankings that may wait at a time. Further decisions are not compared, so that a backlog cannot grow. */
const MAX_WAITING = 64;

/** Shadow variants rank what others serve, one at a time, after the answer was sent. One that fails is reported, and the next one ranks. */
export class ShadowRanking {
  readonly #recorder: ExposureRecorder;
  readonly #onError: (message: string, error: unknown) => void;
  readonly #waiting: (() => void)[] = [];
  #turn: NodeJS.Immediate | null = null;

  constructor(recorder: ExposureRecorder, onError: (message: string, error: unknown) => void) {
    this.#recorder = recorder;
    this.#onError = onError;
  }

  rank(question: Question, decision: Decision, catalog: Catalog): void {
    const shadows = shadowsFor(question.request, question.id, catalog.state);
    for (const shadow of shadows) {
      if (this.#waiting.length >= MAX_WAITING) return;
      this.#waiting.push(() => this.#compare(question, decision, catalog, shadow));
    }
    if (shadows.length > 0) this.#turn ??= setImmediate(() => this.#next());
  }

  close(): void {
    if (this.#turn !== null) clearImmediate(this.#turn);
    this.#waiting.length = 0;
  }

  /** One per turn of the event loop, so that no request waits for more than one. */
  #next(): void {
    try {
      this.#waiting.shift()?.();
    } catch (error) {
      this.#onError('a shadow variant could not rank', error);
    }
    this.#turn = this.#waiting.length > 0 ? setImmediate(() => this.#next()) : null;
  }

  #compare(question: Question, served: Decision, catalog: Catalog, shadow: AssignedVariant): void {
    // It may have been deleted in the meantime, or moved to another embedder.
    const { state } = catalog;
    const current = state.learners.get(shadow.learner.version);
    if (current?.policy !== shadow.learner.policy || served.fingerprint !== state.fingerprint) return;
    const ranked = decide(question, catalog, shadow);
    const { experiment, variant } = shadow.assignment;
    this.#recorder.compare(catalog, {
      decisionId: served.id,
      experiment,
      variant,
      slate: slateOf(ranked),
      served: slateOf(served),
    });
  }
}

function slateOf({ slate, candidates }: Decision): string[] {
  return slate.map((index) => candidates[index]);
}
