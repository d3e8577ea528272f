import type { Logger } from 'pino';
import type { Ridge } from '../../bandit/ridge/ridge.ts';
import { packageVersion } from '../../config/package-root.ts';
import { SettingsError } from '../../config/read-settings.ts';
import type { Settings } from '../../config/settings.ts';
import { Cases } from '../catalog/cases.ts';
import type { Catalog } from '../catalog/catalog.ts';
import { CatalogAdministration } from '../catalog/catalog-administration.ts';
import { CatalogPositions } from '../catalog/catalog-positions.ts';
import { Catalogs } from '../catalog/catalogs.ts';
import { CatalogFollower } from '../catalog/follow-catalogs.ts';
import { openCatalog } from '../catalog/open-catalog.ts';
import { Pins } from '../catalog/pins.ts';
import { Tools } from '../catalog/tools.ts';
import type { UserContexts } from '../context/user-contexts.ts';
import { QueuedSettlements, type Settlements } from '../decisions/settlements.ts';
import { Problem } from '../errors/problem.ts';
import { isStoreAway } from '../errors/store-errors.ts';
import { Evaluations } from '../evaluation/evaluations.ts';
import { startEvaluationWorker } from '../evaluation/run-evaluation.ts';
import { ExperimentDriver } from '../experiments/experiment-driver.ts';
import { Experiments } from '../experiments/experiments.ts';
import { ExposureRecorder } from '../experiments/exposure-recorder.ts';
import { PolicyVersions } from '../experiments/policy-versions.ts';
import type { Nouns } from '../http/app.ts';
import { Instructions } from '../instructions/instructions.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { McpOnDemand } from '../mcp/mcp-on-demand.ts';
import { ChatJudge } from '../merging/chat-judge.ts';
import { Merges } from '../merging/merges.ts';
import { RuleJudge } from '../merging/rule-judge.ts';
import type { MergeRunParts } from '../merging/run-merge.ts';
import { startMergeRuns } from '../merging/schedule-runs.ts';
import { VerdictCache } from '../merging/verdict-cache.ts';
import type { ChatSettings } from '../models/http/chat-endpoint.ts';
import { isPrivateHost } from '../outgoing/private-address.ts';
import { vectorIndexes } from '../retrieval/vectors/vector-indexes.ts';
import { AcceptedRewards } from '../rewards/accepted-rewards.ts';
import { DueSettlements } from '../rewards/due-settlements.ts';
import { JoinedRewards, wholeDecision } from '../rewards/joined-rewards.ts';
import { RefusedReports } from '../rewards/refused-reports.ts';
import { RewardIntake } from '../rewards/reward-intake.ts';
import { Rewards } from '../rewards/rewards.ts';
import { Tasks } from '../rewards/tasks.ts';
import { Routing } from '../routing/routing.ts';
import { ShadowRanking } from '../routing/shadow-ranking.ts';
import { TokenCosts } from '../routing/token-costs.ts';
import { UnderstoodQueries } from '../routing/understood-queries.ts';
import { every } from '../scheduling/every.ts';
import { snapshotsOfReplicas } from '../snapshots/snapshot-makers.ts';
import type { SnapshotSchedule } from '../snapshots/snapshot-schedule.ts';
import { RefactorisationWatch } from '../state/refactorisation.ts';
import { loadKernels } from '../stores/load-kernels.ts';
import { openTokenCounter } from '../tokens/open-token-counter.ts';
import type { CatalogGateways } from './catalog-gateways.ts';
import { type Core, closeQueue, openCore, REMOVALS_EVERY_MS, startBackgroundWork } from './core.ts';
import { ServiceHealth } from './health.ts';
import { Metrics } from './metrics.ts';
import { openModels } from './models.ts';
import { type ConfiguredServers, openToolServers } from './tool-servers.ts';
import { openUsers } from './users.ts';

export interface Service extends Nouns {
  /** Finishes what is in progress, writes what is not written yet, and closes every part. */
  close(): Promise<void>;
  readonly mcp: McpOnDemand;
  /** Aborted, with the reason, when another process has taken what this one writes to: end it at once. */
  readonly taken: AbortSignal;
}

/**
 * The composition root of `bandolier serve`: opens what is shared by all (`core.ts`), then models and catalogs, then what
 * reads and changes them, then what works beside the requests.
 */
export function startService(
  settings: Settings,
  log: Logger,
  configured: ConfiguredServers = NONE,
): Promise<Service> {
  return openCore(settings, log, (core) => openService(core, configured));
}

const NONE: ConfiguredServers = { get: () => undefined };

async function openService(core: Core, configured: ConfiguredServers): Promise<Omit<Service, 'close'>> {
  const { settings, log, stores, onError, onClose } = core;
  const { decisionLogs } = stores;
  const { now } = stores.clock;
  const steadyNow = () => performance.now();
  const kernels = await loadKernels();
  const metrics = new Metrics();
  const { embedders, rerankers, splitters, expansions, chat } = await openModels(core, metrics);
  const createVectorIndex = await vectorIndexes(settings.dataDir, (message) => log.warn(message));
  // Over Redis rewards go through the queue; in one process they are appended to the ledger at once.
  const accepted = stores.mode === 'redis' ? new AcceptedRewards(stores.queue) : null;
  onClose(() => accepted?.close());

  const eraseRest = async (name: string): Promise<void> => {
    await stores.snapshots.remove(name);
    await stores.decisionLogs.remove(name);
    await stores.evaluations.remove(name);
    await stores.contexts.remove(name);
    await stores.contextModels.remove(name);
  };
  let snapshots: SnapshotSchedule | null = null;
  let due: DueSettlements | null = null;
  let users: UserContexts | null = null;
  let gateways: CatalogGateways | null = null;
  let mcp: McpOnDemand | null = null;
  const catalogs = await Catalogs.start(
    async (name, create) => {
      const catalog = await openCatalog(name, create, {
        ledgers: stores.ledgers,
        snapshots: stores.snapshots,
        clock: stores.clock,
        ...{ kernels, embedders, createVectorIndex, steadyNow, onError },
        onFold: (catalog, folded, outcome) => {
          const { entry } = folded;
          accepted?.folded(entry.key);
          if (entry.kind === 'observation') due?.folded(catalog, entry.decision.id);
          const rewards = outcome.kind === 'observation' ? outcome.rewards : [];
          const statuses = rewards.map(({ status }) => status);
          metrics.countFold(catalog, entry.kind, statuses);
          if (entry.kind === 'source') gateways?.changed(catalog);
          mcp?.mayHaveChanged(catalog);
        },
        onReload: (catalog) => void accepted?.sendAgain(catalog),
        onNotice: (message) => log.warn(message),
      });
      try {
        // Now and not with the first request: it may be damaged, and a long one takes its time.
        await decisionLogs.open(name);
        await due?.restore(catalog);
      } catch (error) {
        await catalog.close();
        throw error;
      }
      return catalog;
    },
    {
      erase: async (name) => {
        users?.dropCatalog(name);
        await snapshots?.idle();
        await stores.ledgers.remove(name, () => eraseRest(name));
      },
      release: (name) => {
        users?.dropCatalog(name);
        return stores.decisionLogs.release(name);
      },
    },
    // Over Redis the follower opens the others, and reports those that it cannot open.
    stores.mode === 'embedded' ? await stores.ledgers.list() : [],
    settings.catalogs === undefined ? null : settings.catalogs.split(','),
  );
  onClose(() => catalogs.close());
  for (const [name, error] of catalogs.failed()) {
    onError(`catalog "${name}" cannot be opened, and answers 503; the others are served`, error);
  }
  const removals = every(REMOVALS_EVERY_MS, () => stores.ledgers.finishRemovals(eraseRest), {
    firstMs: 0,
    // While the store is away nothing is removed, and /readyz says that it is.
    onError: (error) => isStoreAway(error) || onError('a deleted catalog could not be erased', error),
  });
  onClose(() => removals.close());
  const follower = stores.mode === 'redis' ? new CatalogFollower(catalogs, stores.ledgers, onError) : null;
  onClose(() => follower?.close());
  await follower?.look();
  const unjudged = catalogs.all().filter(({ state }) => state.settings.merging.judge === 'chat');
  if (chat === null && unjudged.length > 0) {
    const names = unjudged.map(({ name }) => name).join(', ');
    throw new SettingsError([
      `A chat model judges merges in ${names} (merging.judge is "chat"), and none is configured here: set BANDOLIER_CHAT_URL and BANDOLIER_CHAT_MODEL. To let rules judge, start it once with them and PUT /v1/catalogs/{catalog} {"merging": {"judge": "rules"}}.`,
    ]);
  }
  const positions = new CatalogPositions(catalogs, async () => follower?.look());
  stores.clock.report();
  const watch = new RefactorisationWatch(() => catalogs.all().flatMap(ridgesOf), { onError });
  onClose(() => watch.close());

  const exposures = new ExposureRecorder(onError);
  onClose(() => exposures.close());
  const shadows = new ShadowRanking(exposures, onError);
  onClose(() => shadows.close());
  const { takeAwaitingDefault } = stores;
  if (takeAwaitingDefault !== undefined) {
    due = new DueSettlements({ catalogs, decisionLogs, takeAwaitingDefault, now, onError });
    for (const catalog of catalogs.all()) await due.restore(catalog);
  }
  const settlements: Settlements = due ?? new QueuedSettlements(stores.queue);
  const queries = new UnderstoodQueries({ splitters, rerankers });
  const costs = new TokenCosts(await openTokenCounter(settings.tokenizer));
  const { contexts, routeContexts, trainings } = await openUsers(core, catalogs, kernels);
  users = contexts;
  const routing = new Routing(
    catalogs,
    {
      ...{ queries, decisionLogs, exposures, shadows, now, costs },
      ...{ expansions, contexts: routeContexts },
      unavailable: (catalog) => gateways?.unavailable(catalog) ?? [],
    },
    settlements,
    ({ catalog, fallback }, seconds) => metrics.countRoute(catalog, fallback, seconds),
  );
  const experiments = new Experiments(catalogs, exposures);
  const driver = new ExperimentDriver(catalogs, { experiments, leases: stores.leases, onError });
  onClose(() => driver.close());
  const store = stores.evaluations;
  const evaluations = new Evaluations({ catalogs, store, queue: stores.queue, now });
  const refused = new RefusedReports(catalogs);
  onClose(() => refused.close());
  const joined = new JoinedRewards(decisionLogs, settlements, settings.maxPendingRewards);
  const tasks = new Tasks({ catalogs, decisionLogs, sink: accepted ?? joined, now });
  const intake =
    accepted === null
      ? new RewardIntake(catalogs, stores, {
          find: async (id) => wholeDecision(await routing.find(id)),
          sink: joined,
          refused,
          noteUses: ({ record }, uses) => routeContexts.note(record, uses),
        })
      : new RewardIntake(catalogs, stores, {
          find: (id) => routing.findHead(id),
          sink: accepted,
          refused,
          noteUses: ({ id }, uses) =>
            routing.find(id).then(
              (decision) => routeContexts.note(decision, uses),
              (error) => {
                onError('how items of a user were used was not noted', error);
                return new Map();
              },
            ),
        });

  if (stores.mode === 'embedded') {
    const ledgers = {
      names: async () => catalogs.names(),
      get: async (name: string) => catalogs.find(name)?.ledger ?? null,
    };
    const make = snapshotsOfReplicas(stores.snapshots, (name) => catalogs.find(name)?.replica ?? null);
    snapshots = startBackgroundWork(core, ledgers, make);
  }
  // Over Redis, too: it needs the tools of a replica, which `bandolier work` does not have.
  const evaluationParts = { catalogs, decisionLogs, store, kernels, now, steadyNow, onError };
  startEvaluationWorker({ queue: stores.queue, ...evaluationParts });
  const tokensOf = (tool: ToolDefinition) => costs.tool(tool, 'mcp', 'full');
  const mergeRuns = startMergeRuns({
    ...{ queue: stores.queue, catalogs, kernels, onError },
    judgeOf: judgesWith(chat),
    tokensOf,
  });
  onClose(() => closeQueue(core));
  onClose(() => mergeRuns.close());
  // Before the queue, which takes the settlements that still wait here, and before the ledgers.
  onClose(() => settlements.close());
  const rewards = new Rewards(catalogs, intake, tasks, { queue: stores.queue, decisionLogs, refused, now });
  const toolServers = openToolServers(core, catalogs, configured, (catalog, list) =>
    mcp?.announceList(catalog, list),
  );
  const { sources } = toolServers;
  gateways = toolServers.gateways;
  const front = {
    ...{ catalogs, routing, rewards, tasks, sources, now, onError },
    servers: toolServers.gateways,
  };
  mcp = new McpOnDemand(async () => {
    const { McpFront } = await import('../mcp/front.ts');
    const { McpEndpoint } = await import('../mcp/mcp-endpoint.ts');
    return new McpEndpoint(new McpFront({ ...front, version: packageVersion() }), (error) =>
      log.debug({ err: error }, 'A client of MCP was refused.'),
    );
  });
  onClose(() => mcp?.close());
  return {
    ...{ routing, rewards, tasks, experiments, evaluations, positions, sources, mcp },
    catalogs: new CatalogAdministration(
      catalogs,
      async ({ embedder, reranker, contextExpansion, merging }) => {
        if (contextExpansion === 'chat') await checkChat(chat, 'contextExpansion', 'off');
        if (merging?.judge === 'chat') await checkChat(chat, 'merging.judge', 'rules');
        if (embedder !== undefined) await embedders.get(embedder);
        if (reranker) await rerankers.get(reranker.model);
      },
    ),
    contexts,
    trainings,
    pins: new Pins(catalogs),
    tools: new Tools(catalogs),
    instructions: new Instructions(catalogs),
    merges: new Merges(catalogs, { queue: stores.queue, hasChat: chat !== null, tokensOf }),
    cases: new Cases(catalogs),
    versions: new PolicyVersions(catalogs, stores.snapshots, kernels),
    health: new ServiceHealth({ catalogs, stores, metrics, queries }),
    taken: stores.taken,
  };
}

/**
 * Refuses a setting of a catalog that needs a chat model.
 * @param without its value that needs none
 * @throws Problem validation-failed where the chat model would never be asked
 */
async function checkChat(chat: ChatSettings | null, setting: string, without: string): Promise<void> {
  const refuse = (message: string, mend: string): never => {
    throw new Problem(
      'validation-failed',
      `\`${setting}\` is "chat", and ${message}.`,
      `${mend}, or \`${setting}\` to "${without}". Nothing was changed.`,
      { violations: [{ path: setting, message }] },
    );
  };
  if (chat === null) {
    refuse('no chat model is configured', 'Set BANDOLIER_CHAT_URL and BANDOLIER_CHAT_MODEL');
  } else if (!chat.allowPrivate && (await isPrivateHost(chat.url))) {
    refuse(
      'BANDOLIER_CHAT_URL is an address of this machine or its own network, which is not allowed',
      'Set BANDOLIER_ALLOW_PRIVATE_HOSTS=true and start again',
    );
  }
}

/** A judge for one run; what a chat model said is kept for the next ones. */
function judgesWith(chat: ChatSettings | null): MergeRunParts['judgeOf'] {
  const cache = new VerdictCache();
  return (name) => {
    if (name === 'rules') return new RuleJudge();
    return chat === null ? null : new ChatJudge({ chat, cache });
  };
}

function ridgesOf({ state }: Catalog): Ridge[] {
  return state.learners.current().flatMap(({ policy }) => policy.ridges());
}
