import type { Embedder } from '../src/models/embedder.ts';
import type { LabelledQuery } from '../src/simulation/evaluate.ts';
import type { PreparedTool } from '../src/simulation/simulated-catalog.ts';
import { LabelledSet } from './labelled-set.ts';

/** `validation` streams are parts of the training data: whoever wants to improve something chooses by them, never by test. */
export type StreamName =
  | 'toollens'
  | 'unseen'
  | 'seal-tools'
  | 'seal-tools validation'
  | 'toollens without embedder'
  | 'unseen validation'
  | 'seen validation';

/** What an agent asks, and what is asked without learning. */
export interface Stream {
  readonly tools: readonly PreparedTool[];
  readonly queries: readonly LabelledQuery[];
  readonly heldOut: readonly LabelledQuery[];
}

export async function streamOf(name: StreamName, data: string, embedder: Embedder | null): Promise<Stream> {
  if (name === 'seal-tools' || name === 'seal-tools validation') {
    const set = new LabelledSet(data, 'seal-tools', embedder);
    const heldOut = await set.queries(name === 'seal-tools' ? 'test' : 'test_in_domain');
    return { tools: await set.tools(), queries: await set.queries('dev'), heldOut };
  }
  const set = new LabelledSet(data, 'toollens', name === 'toollens without embedder' ? null : embedder);
  const tools = await set.tools();
  const train = await set.queries('train');
  // Train is ordered by scene, so its last rows are scenes that the first ones never had.
  const split = train.length - 2000;
  switch (name) {
    case 'unseen':
      return { tools, queries: train.slice(0, split), heldOut: train.slice(split) };
    case 'unseen validation':
      return { tools, queries: train.slice(0, split - 2000), heldOut: train.slice(split - 2000, split) };
    case 'seen validation':
      return {
        tools,
        queries: train.slice(0, split).filter((_, at) => at % 8 !== 7),
        heldOut: train.slice(0, split).filter((_, at) => at % 8 === 7),
      };
    default:
      return { tools, queries: train, heldOut: await set.queries('test') };
  }
}
