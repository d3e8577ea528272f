import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { TreeScorer } from '../../bandit/ranking/tree-scorer.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { ExpiredItems } from '../context/expired-items.ts';
import { RouteContexts } from '../context/route-contexts.ts';
import { shippedContextRanker } from '../context/shipped-ranker.ts';
import { ContextModels } from '../context/training/context-models.ts';
import { ContextTrainings } from '../context/training/context-trainings.ts';
import { startTrainingWorker } from '../context/training/run-training.ts';
import { UserContexts } from '../context/user-contexts.ts';
import { Problem } from '../errors/problem.ts';
import { every } from '../scheduling/every.ts';
import { type Core, REMOVALS_EVERY_MS } from './core.ts';

/** What users have, how routes choose from it, and the models by which they do. */
export interface Users {
  readonly contexts: UserContexts;
  readonly routeContexts: RouteContexts;
  readonly trainings: ContextTrainings;
}

/** Opens what users have, and starts what sweeps it, finishes erasures and trains models beside the requests. */
export async function openUsers(core: Core, catalogs: Catalogs, kernels: Kernels): Promise<Users> {
  const { settings, log, stores, onError, onClose } = core;
  const { leases, queue, contexts: store, contextModels } = stores;
  // What ends by a time of its own ends by the right clock, also where times in the store are ahead of it.
  const now = (): number => Math.floor(stores.clock.referenceNow());
  const contexts = new UserContexts({ catalogs, store, secret: settings.tokenKey, kernels, now, onError });
  onClose(() => contexts.close());
  // Said at the start, and not by the first request of a user. A store that is away is told of by /readyz.
  await contexts.openKey().catch((error) => {
    if (error instanceof Problem)
      log.warn(`What users have cannot be read. ${error.message} ${error.suggestedFix}`);
  });
  const erasures = every(REMOVALS_EVERY_MS, () => contexts.finishErasures(), {
    firstMs: 0,
    onError: (error) => onError('an erased user could not be erased whole', error),
  });
  onClose(() => erasures.close());
  const expired = new ExpiredItems({ catalogs, store, leases, contexts, now, onError });
  onClose(() => expired.close());

  const shipped = await shippedContextRanker();
  const models = new ContextModels({ store: contextModels, shipped, catalogs, onError });
  onClose(() => models.close());
  await models.look();
  const training = { catalogs, store: contextModels, models, queue, now: stores.clock.now };
  startTrainingWorker({ ...training, contexts, onError });
  return {
    contexts,
    routeContexts: new RouteContexts(
      contexts,
      (catalog) => models.rankerOf(catalog),
      onError,
      new TreeScorer(kernels),
    ),
    trainings: new ContextTrainings(training),
  };
}
