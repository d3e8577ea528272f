import type { Rerankers } from '../catalog/rerankers.ts';
import type { DecisionLogs } from '../decisions/decision-log.ts';
import type { ExposureRecorder } from '../experiments/exposure-recorder.ts';
import type { Splitters } from '../queries/splitters.ts';
import type { ShadowRanking } from './shadow-ranking.ts';

/** What routing needs beside the catalog. */
export interface RoutingParts {
  readonly splitters: Splitters;
  readonly rerankers: Rerankers;
  readonly decisionLogs: DecisionLogs;
  readonly exposures: ExposureRecorder;
  readonly shadows: ShadowRanking;
  /** ms since the epoch. */
  now(): number;
}
