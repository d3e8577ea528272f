import { setPriority } from 'node:os';
import { parentPort, workerData } from 'node:worker_threads';
import { ContextRanker } from '../bandit/ranking/context-ranker.ts';
import type { TrainingAnswer, TrainingTask } from '../src/context/training/run-training.ts';
import { trainRanker } from '../src/context/training/train-ranker.ts';

/** Entry of the thread that trains one model of context, and ends. */
const port = parentPort;
if (port === null) throw new Error('train-context-thread runs as a worker thread only.');
const tell = (answer: TrainingAnswer): void => port.postMessage(answer);
const { base, inUse, examples } = workerData as TrainingTask;
// Requests come first. On Linux this concerns the calling thread alone, elsewhere the whole process.
if (process.platform === 'linux') setPriority(10);

const rounds = trainRanker({
  base: ContextRanker.decode(base),
  inUse: ContextRanker.decode(inUse),
  examples,
});
for (;;) {
  const { done, value } = rounds.next();
  if (done === true) {
    const { ranker, ...result } = value;
    tell({ kind: 'trained', result, model: ranker.encode() });
    break;
  }
  tell({ kind: 'progress', share: value });
}
