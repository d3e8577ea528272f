import type { Command } from 'commander';
import type { ContextTraining } from '../context/training/context-training.ts';
import { ApiClient, catalogPath } from './api-client.ts';
import { followJob } from './follow-job.ts';
import { type AskOptions, asking, serviceUrl } from './options.ts';
import { counted, print } from './terminal.ts';

interface TrainingState {
  readonly training: ContextTraining | null;
  readonly model: { readonly trained: boolean; readonly trees: number; readonly embedder: string };
}

/** Adds `train` and `model` to `bandolier context`. */
export function addTraining(context: Command): void {
  asking(context.command('train').description('train the model that ranks what users have, from reports'))
    .option('--cancel', 'stop the training that is under way')
    .action(train);
  asking(context.command('model').description('the model that ranks what users have'))
    .option('--remove', 'go back to the model in the package')
    .action(model);
}

async function train({ cancel, ...options }: AskOptions & { readonly cancel?: true }): Promise<void> {
  const api = new ApiClient(serviceUrl(options.url));
  const path = `${catalogPath(options.catalog)}/context/training`;
  if (cancel) {
    await api.delete(path);
    const { training } = await api.get<TrainingState>(path);
    return print(options.json, training, 'The training is cancelled; the model in use stays.\n');
  }
  const { training: begun } = await api.post<{ training: ContextTraining }>(path, {});
  const training = await followJob(begun, async () => (await api.get<TrainingState>(path)).training!);
  print(options.json, training, trainingText(training));
  if (training.status !== 'done') process.exitCode = 1;
}

/** The model is kept with the catalog, and moves with it; how it was trained is not. */
function untrained(isTrained: boolean): string {
  return isTrained
    ? 'How it was trained is not known here: it came with the catalog.\n'
    : 'Nothing was trained yet.\n';
}

function trainingText({ status, examples, telling, users, result, reason }: ContextTraining): string {
  const head = `The training is ${status}: ${counted(examples, 'example')}, of which ${telling} say which items were used, of ${counted(users, 'user')}.\n`;
  const judged =
    result === null
      ? ''
      : `NDCG@5 of ${counted(result.judgedUsers, 'user')} from whom nothing was learned: ${result.before.toFixed(3)} before, ${result.after.toFixed(3)} with the new model.\n`;
  return `${head}${judged}${reason === null ? '' : `${reason}\n`}`;
}

async function model({ remove, ...options }: AskOptions & { readonly remove?: true }): Promise<void> {
  const api = new ApiClient(serviceUrl(options.url));
  const path = `${catalogPath(options.catalog)}/context`;
  if (remove) {
    await api.delete(`${path}/model`);
    const { model: used } = await api.get<TrainingState>(`${path}/training`);
    return print(
      options.json,
      { model: used },
      `Catalog ${options.catalog} uses the model in the package.\n`,
    );
  }
  const { model: used, training } = await api.get<TrainingState>(`${path}/training`);
  const which = used.trained ? `of its own, with ${used.trees} trees` : 'in the package';
  const last =
    training === null
      ? untrained(used.trained)
      : `\nThe newest training, as it ended then:\n${trainingText(training)}`;
  const isTakenBack = training?.replaced === true && !used.trained;
  const back = isTakenBack ? 'Its model was taken back since.\n' : '';
  print(
    options.json,
    { model: used, training },
    `Catalog ${options.catalog} uses the model ${which}.\n${last}${back}`,
  );
}
