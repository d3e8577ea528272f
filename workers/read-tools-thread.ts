import { parentPort, workerData } from 'node:worker_threads';
import { readTools } from '../src/sources/formats/read-tools.ts';
import { UnreadableError } from '../src/sources/formats/unreadable-error.ts';
import type { DocumentAnswer } from '../src/sources/read-document.ts';

/** Entry of the thread that reads one document, and ends. Whether a catalog takes its tools is judged outside. */
function answer(): DocumentAnswer {
  try {
    return readTools(workerData as string, () => null);
  } catch (error) {
    if (error instanceof UnreadableError) return { unreadable: error.message };
    throw error;
  }
}

parentPort?.postMessage(answer());
