import type { Logger } from 'pino';
import type { Ridge } from '../../bandit/ridge.ts';
import type { Settings } from '../../config/settings.ts';
import { rewardPlaces, startRewardWorker } from '../../workers/reward-worker.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { CatalogPositions } from '../catalog/catalog-positions.ts';
import { Catalogs } from '../catalog/catalogs.ts';
import { DEFAULT_EMBEDDER, Embedders } from '../catalog/embedders.ts';
import { CatalogFollower } from '../catalog/follow-catalogs.ts';
import { openCatalog } from '../catalog/open-catalog.ts';
import { Pins } from '../catalog/pins.ts';
import { Rerankers } from '../catalog/rerankers.ts';
import { Tools } from '../catalog/tools.ts';
import { Evaluations } from '../evaluation/evaluations.ts';
import { startEvaluationWorker } from '../evaluation/run-evaluation.ts';
import { ExperimentDriver } from '../experiments/experiment-driver.ts';
import { Experiments } from '../experiments/experiments.ts';
import { ExposureRecorder } from '../experiments/exposure-recorder.ts';
import { PolicyVersions } from '../experiments/policy-versions.ts';
import type { Nouns } from '../http/app.ts';
import { EmbedderUnavailableError } from '../models/embedder.ts';
import { createSplitters } from '../queries/splitters.ts';
import { vectorIndexes } from '../retrieval/vectors/vector-indexes.ts';
import { AcceptedRewards } from '../rewards/accepted-rewards.ts';
import { RefusedReports } from '../rewards/refused-reports.ts';
import { RewardIntake } from '../rewards/reward-intake.ts';
import { Rewards } from '../rewards/rewards.ts';
import { Routing } from '../routing/routing.ts';
import { ShadowRanking } from '../routing/shadow-ranking.ts';
import { SnapshotSchedule } from '../snapshots/snapshot-schedule.ts';
import { loadKernels } from '../state/load-kernels.ts';
import { RefactorisationWatch } from '../state/refactorisation.ts';
import { openStores } from '../stores/open-stores.ts';
import { Metrics } from '../telemetry/metrics.ts';
import { chatSettings } from './chat-settings.ts';
import { embedderSources, openReranker } from './embedder-sources.ts';
import { ServiceHealth } from './health.ts';

const DAY_MS = 24 * 60 * 60 * 1000;

export interface Service extends Nouns {
  /** Folds and writes what is under way, then lets everything go. Nothing may be asked afterwards. */
  close(): Promise<void>;
  /** Aborted, with the reason, when another process has taken what this one writes to: end it at once. */
  readonly taken: AbortSignal;
}

/**
 * The composition root: the only place that knows every part. Opens the stores, then what reads them, then what
 * works beside the request path; `close` goes the other way round.
 */
export async function startService(settings: Settings, log: Logger): Promise<Service> {
  const onError = (message: string, error: unknown): void => log.error({ err: error }, message);
  const closers: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    const faults: unknown[] = [];
    while (closers.length > 0) {
      const closer = closers.pop();
      await closer?.().catch((error) => faults.push(error));
    }
    if (faults.length > 0) throw faults[0];
  };
  try {
    const kernels = await loadKernels();
    const stores = await openStores(settings, { onError });
    closers.push(() => stores.close());
    const { clock } = stores;
    const { now } = clock;
    const metrics = new Metrics();
    const sources = embedderSources(settings, {
      onChange: (embedder, available, reason) => log.warn({ embedder, available }, `embedder: ${reason}`),
      onTexts: (kind, count) => metrics.textsEmbedded.inc({ kind }, count),
      onError,
    });
    const embedders = new Embedders(sources);
    closers.push(() => embedders.close());
    // One that cannot be asked now is waited for; one that is of no use is a reason not to start.
    await embedders.get(DEFAULT_EMBEDDER).catch((error) => {
      if (!(error instanceof EmbedderUnavailableError)) throw error;
    });
    const rerankers = new Rerankers((model) =>
      openReranker(settings, model, { now: () => Date.now(), onError }),
    );
    closers.push(() => rerankers.close());
    const createVectorIndex = await vectorIndexes(settings.dataDir, (message) => log.warn(message));

    const accepted = new AcceptedRewards(stores.queue);
    closers.push(async () => accepted.close());
    let snapshots: SnapshotSchedule | null = null;
    const catalogs = await Catalogs.start(
      (name, create) =>
        openCatalog(name, create, {
          ledgers: stores.ledgers,
          snapshots: stores.snapshots,
          kernels,
          embedders,
          createVectorIndex,
          clock,
          steadyNow: () => performance.now(),
          onFold: (catalog, folded, outcome) => {
            accepted.folded(folded.entry.key);
            const rewards = outcome.kind === 'observation' ? outcome.rewards : [];
            metrics.countFold(
              catalog,
              folded.entry.kind,
              rewards.map(({ status }) => status),
            );
          },
          onReload: (catalog) => void accepted.sendAgain(catalog),
          onNotice: (message) => log.warn(message),
          onError,
        }),
      {
        erase: async (name) => {
          await snapshots?.idle();
          await stores.ledgers.remove(name, async () => {
            await stores.snapshots.remove(name);
            await stores.decisionLogs.remove(name);
            await stores.evaluations.remove(name);
          });
        },
        release: (name) => stores.decisionLogs.release(name),
      },
      // A damaged file is a reason not to start; one catalog of many in Redis is none, and the follower says what it is.
      stores.mode === 'embedded' ? await stores.ledgers.list() : [],
      settings.catalogs === undefined ? null : settings.catalogs.split(','),
      async ({ embedder, reranker }) => {
        if (embedder !== undefined) await embedders.get(embedder);
        if (reranker) await rerankers.get(reranker.model);
      },
    );
    closers.push(() => catalogs.close());
    const follower = stores.mode === 'redis' ? new CatalogFollower(catalogs, stores.ledgers, onError) : null;
    closers.push(async () => follower?.close());
    await follower?.look();
    const positions = new CatalogPositions(catalogs, async () => follower?.look());
    // Now, not with the first request: a damaged log is a reason not to start, and a long one takes its time.
    for (const name of catalogs.names()) await stores.decisionLogs.open(name);
    const ledgers = {
      names: async () => catalogs.names(),
      get: async (name: string) => catalogs.find(name)?.ledger ?? null,
    };
    if (stores.mode === 'embedded') {
      snapshots = new SnapshotSchedule({
        ...{ stores, ledgers, onError },
        location: () => ({ dataDir: settings.dataDir }),
        keepSince: () => now() - settings.keepDecisionsDays * DAY_MS,
      });
      closers.push(async () => snapshots?.close());
    }
    clock.report();
    const watch = new RefactorisationWatch(() => catalogs.all().flatMap(ridgesOf), { onError });
    closers.push(() => watch.close());

    const splitters = createSplitters(chatSettings(settings), {
      steadyNow: () => performance.now(),
      onChange: (available, reason) => log.warn({ available }, `chat endpoint: ${reason}`),
    });
    const exposures = new ExposureRecorder(onError);
    closers.push(() => exposures.close());
    const shadows = new ShadowRanking(exposures);
    closers.push(async () => shadows.close());
    const { decisionLogs } = stores;
    const routing = new Routing(
      catalogs,
      { splitters, rerankers, decisionLogs, exposures, shadows, now },
      stores.queue,
      ({ catalog, fallback }, seconds) => metrics.countRoute(catalog, fallback, seconds),
    );
    const experiments = new Experiments(catalogs, exposures);
    const driver = new ExperimentDriver(catalogs, { experiments, leases: stores.leases, onError });
    closers.push(() => driver.close());
    const store = stores.evaluations;
    const evaluations = new Evaluations({ catalogs, store, queue: stores.queue, now });
    // Over Redis, too: it needs the tools of a replica, which `bandolier work` does not have.
    startEvaluationWorker({
      ...{ queue: stores.queue, catalogs, decisionLogs, store, kernels, now, onError },
      steadyNow: () => performance.now(),
    });
    const versions = new PolicyVersions(catalogs, stores.snapshots, kernels);
    const refused = new RefusedReports(catalogs);
    closers.push(() => refused.close());
    const intake = new RewardIntake(catalogs, routing, stores, { accepted, refused });
    // With Redis that is what `bandolier work` is for.
    if (stores.mode === 'embedded')
      startRewardWorker({ queue: stores.queue, placeOf: rewardPlaces(ledgers, stores), now });
    closers.push(() => stores.queue.close(settings.shutdownSeconds * 1000));
    // Before the queue, which takes what still waits there.
    closers.push(() => routing.close());
    return {
      routing,
      rewards: new Rewards(catalogs, intake, { queue: stores.queue, decisionLogs, refused }),
      catalogs,
      pins: new Pins(catalogs),
      tools: new Tools(catalogs),
      experiments,
      versions,
      evaluations,
      positions,
      health: new ServiceHealth({ catalogs, stores, metrics }),
      close,
      taken: stores.taken,
    };
  } catch (error) {
    await close().catch((fault) => onError('not everything could be closed', fault));
    throw error;
  }
}

function ridgesOf({ state }: Catalog): Ridge[] {
  return state.learners.current().flatMap(({ policy }) => policy.ridges());
}
