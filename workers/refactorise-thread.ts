import { parentPort, workerData } from 'node:worker_threads';
import { Cholesky } from '../bandit/ridge/cholesky.ts';
import type { RefactoriseTask } from '../src/state/refactorisation.ts';

/** Entry of the thread that inverts one matrix, and ends. Both are packed, see `bandit/ridge/cholesky.ts`. */
const { matrix, size } = workerData as RefactoriseTask;
const inverse = Cholesky.of(matrix, size).inverse();
parentPort?.postMessage(inverse, [inverse.buffer as ArrayBuffer]);
