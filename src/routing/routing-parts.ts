import type { Splitters } from '../queries/splitters.ts';
import type { Embedder } from '../retrieval/embedder.ts';
import type { DecisionLogs } from './decision-log.ts';

/** What routing needs beside the catalog. */
export interface RoutingParts {
  /** Null: BM25 alone. */
  readonly embedder: Embedder | null;
  readonly splitters: Splitters;
  readonly decisionLogs: DecisionLogs;
  /** ms since the epoch. */
  now(): number;
}
