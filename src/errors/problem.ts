/** Every way in which a request can fail, by name. `http/problem-json.ts` gives each its status. */
export type ProblemCode =
  | 'malformed-request'
  | 'validation-failed'
  | 'catalog-not-found'
  | 'wrong-shard'
  | 'tool-not-found'
  | 'instruction-not-found'
  | 'decision-not-found'
  | 'decision-not-activated'
  | 'decision-expired'
  | 'too-many-discoveries'
  | 'reward-not-found'
  | 'task-not-found'
  | 'task-ambiguous'
  | 'experiment-not-found'
  | 'version-not-found'
  | 'snapshot-not-found'
  | 'evaluation-not-found'
  | 'merge-not-found'
  | 'source-not-found'
  | 'endpoint-not-found'
  | 'method-not-allowed'
  | 'revision-mismatch'
  | 'idempotency-conflict'
  | 'experiment-exists'
  | 'experiment-conflict'
  | 'experiment-overlap'
  | 'sample-ratio-mismatch'
  | 'no-winner'
  | 'evaluation-conflict'
  | 'merge-conflict'
  | 'training-conflict'
  | 'body-too-large'
  | 'too-many-tools'
  | 'too-many-items'
  | 'unsupported-media-type'
  | 'unauthorized'
  | 'host-not-allowed'
  | 'origin-not-allowed'
  | 'headers-too-large'
  | 'expectation-failed'
  | 'request-timeout'
  | 'unknown-policy'
  | 'budget-too-small'
  | 'reward-late'
  | 'too-many-requests'
  | 'unavailable'
  | 'shutting-down'
  | 'internal';

/** One thing that is wrong with the input, with the path to it (`tools[3].name`). */
export interface Violation {
  readonly path: string;
  readonly message: string;
}

/** A failure that the caller can understand and mend. Anything else that is thrown is a fault of ours. */
export class Problem extends Error {
  override readonly name = 'Problem';
  readonly code: ProblemCode;
  readonly suggestedFix: string;
  readonly violations: readonly Violation[];
  readonly retryAfterSeconds: number | undefined;

  constructor(
    code: ProblemCode,
    message: string,
    suggestedFix: string,
    more: { violations?: readonly Violation[]; retryAfterSeconds?: number; cause?: unknown } = {},
  ) {
    super(message, { cause: more.cause });
    this.code = code;
    this.suggestedFix = suggestedFix;
    this.violations = more.violations ?? [];
    this.retryAfterSeconds = more.retryAfterSeconds;
  }
}
