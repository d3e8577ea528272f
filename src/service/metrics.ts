import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** The numbers that /metrics shows; one registry per service. */
export class Metrics {
  readonly #registry = new Registry();
  private readonly routeSeconds: Histogram;
  private readonly rewards: Counter;
  private readonly folded: Counter;
  readonly textsEmbedded: Counter;
  readonly queryLookups: Counter;
  readonly queryBytes: Gauge;
  readonly queueJobs: Gauge;
  readonly storeUp: Gauge;
  readonly ledgerLag: Gauge;
  readonly ledgerUnsaved: Gauge;
  readonly catalogTools: Gauge;
  readonly indexOutside: Gauge;
  readonly indexRecall: Gauge;
  readonly indexAlarm: Gauge;
  readonly learnerBytes: Gauge;
  readonly learnerCases: Gauge;
  readonly learnerUpdates: Gauge;

  constructor() {
    const registers = [this.#registry];
    collectDefaultMetrics({ register: this.#registry });
    this.routeSeconds = new Histogram({
      name: 'bandolier_route_seconds',
      help: 'Time from a routing request to its durable decision.',
      labelNames: ['catalog', 'fallback'],
      buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5],
      registers,
    });
    this.rewards = new Counter({
      name: 'bandolier_rewards_total',
      help: 'Rewards folded, by what became of them.',
      labelNames: ['catalog', 'status'],
      registers,
    });
    this.folded = new Counter({
      name: 'bandolier_entries_folded_total',
      help: 'Ledger entries folded, by kind.',
      labelNames: ['catalog', 'kind'],
      registers,
    });
    this.textsEmbedded = new Counter({
      name: 'bandolier_texts_embedded_total',
      help: 'Texts that the embedding model was given; cached ones are not.',
      labelNames: ['kind'],
      registers,
    });
    this.queryLookups = new Counter({
      name: 'bandolier_query_cache_total',
      help: 'Queries, by whether what is understood of them was known (hit) or not (miss).',
      labelNames: ['catalog', 'result'],
      registers,
    });
    const gauge = (name: string, help: string, labelNames: string[]): Gauge =>
      new Gauge({ name: `bandolier_${name}`, help, labelNames, registers });
    this.queryBytes = gauge('query_cache_bytes', 'Memory of the queries that are known.', []);
    this.storeUp = gauge('store_up', '0 while queue and ledgers (Redis, or the disk) cannot be used.', []);
    this.queueJobs = gauge('queue_jobs', 'Background jobs by state: pending, delayed, dead.', ['state']);
    this.ledgerLag = gauge('ledger_lag_entries', 'Durable entries not folded here yet.', ['catalog']);
    this.ledgerUnsaved = gauge('ledger_unsaved_entries', 'Entries since the newest snapshot.', ['catalog']);
    this.catalogTools = gauge('catalog_tools', 'Live tools.', ['catalog']);
    this.indexOutside = gauge('index_outside', 'Vectors that the graph of a catalog does not have yet.', [
      'catalog',
    ]);
    this.indexRecall = gauge(
      'index_recall',
      'Share of the 50 nearest tools that the graph of a catalog finds, by comparison with exact scans.',
      ['catalog'],
    );
    this.indexAlarm = gauge('index_alarm', '1 while that is too little, and exact scans serve.', ['catalog']);
    this.learnerBytes = gauge('learner_bytes', 'Memory of a learner, by part.', [
      'catalog',
      'version',
      'part',
    ]);
    this.learnerCases = gauge('learner_cases', 'Remembered cases.', ['catalog', 'version']);
    this.learnerUpdates = gauge('learner_updates', 'Examples learned.', ['catalog', 'version']);
  }

  countRoute(catalog: string, fallback: string | null, seconds: number): void {
    this.routeSeconds.observe({ catalog, fallback: fallback ?? 'none' }, seconds);
  }

  countFold(catalog: string, kind: string, rewardStatuses: readonly string[]): void {
    this.folded.inc({ catalog, kind });
    for (const status of rewardStatuses) this.rewards.inc({ catalog, status });
  }

  /** Prometheus text. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }
}
