import { Worker } from 'node:worker_threads';
import { threadFile } from '../../../config/package-root.ts';
import { UnusableModelError } from '../embedder.ts';
import type { RerankAnswer, Reranker } from '../reranker.ts';

/** What the thread (`workers/rerank-thread.ts`) and its owner tell each other. */
export interface RerankTask {
  readonly kind: 'rerank';
  readonly id: number;
  readonly query: string;
  readonly documents: readonly string[];
  /** ms since the epoch; the caller does not wait any longer than this. */
  readonly deadline: number;
}

export type RerankThreadRequest =
  | RerankTask
  /** The caller of that task has given up. */
  | { readonly kind: 'cancel'; readonly id: number }
  /** Finish what has been begun, then end. */
  | { readonly kind: 'close' };

export type RerankThreadAnswer =
  | { readonly kind: 'ready' }
  | { readonly kind: 'unusable'; readonly message: string }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: RerankAnswer };

export interface OnnxRerankerOptions {
  /** Folder with model.onnx and tokenizer.json. */
  readonly folder: string;
  /** ms since the epoch. */
  now(): number;
  /** Called when the thread ended unexpectedly. */
  readonly onError?: (message: string, error: unknown) => void;
}

/** More callers than these go without: they would only wait for one another. */
const MOST_WAITING = 8;
const RESTART_AFTER_MS = 5_000;

/** Reranks with a cross-encoder in a thread of its own. */
export class OnnxReranker implements Reranker {
  readonly #options: OnnxRerankerOptions;
  readonly #waiting = new Map<number, (answer: RerankAnswer) => void>();
  #thread: Worker | null = null;
  #mayStartAt = 0;
  #tasks = 0;
  #closed = false;

  private constructor(options: OnnxRerankerOptions) {
    this.#options = options;
  }

  /** Resolves once the model is loaded. @throws UnusableModelError */
  static async open(options: OnnxRerankerOptions): Promise<OnnxReranker> {
    const reranker = new OnnxReranker(options);
    await reranker.#start();
    return reranker;
  }

  rerank(
    query: string,
    documents: readonly string[],
    budgetMs: number,
    signal?: AbortSignal,
  ): Promise<RerankAnswer> {
    const now = this.#options.now();
    if (this.#thread === null) {
      if (!this.#closed && now >= this.#mayStartAt) this.#start().catch(() => undefined);
      return Promise.resolve({ missing: 'the reranker is not running' });
    }
    if (this.#waiting.size >= MOST_WAITING)
      return Promise.resolve({ missing: 'the reranker has too much to do' });
    const id = ++this.#tasks;
    const task: RerankTask = { kind: 'rerank', id, query, documents, deadline: now + budgetMs };
    const thread = this.#thread;
    thread.postMessage(task);
    return new Promise((resolve) => {
      const late = setTimeout(
        () => settle({ missing: `the reranker took more than ${budgetMs} ms` }),
        budgetMs,
      );
      const cancel = (): void => {
        thread.postMessage({ kind: 'cancel', id } satisfies RerankThreadRequest);
        settle({ missing: 'it was cancelled' });
      };
      const settle = (answer: RerankAnswer): void => {
        clearTimeout(late);
        signal?.removeEventListener('abort', cancel);
        this.#waiting.delete(id);
        resolve(answer);
      };
      this.#waiting.set(id, settle);
      signal?.addEventListener('abort', cancel);
    });
  }

  async close(): Promise<void> {
    this.#closed = true;
    const thread = this.#thread;
    this.#forget('the reranker has been closed');
    if (thread === null) return;
    // Not `terminate`: during inference that aborts the process.
    const ended = new Promise((resolve) => thread.once('exit', resolve));
    thread.postMessage({ kind: 'close' } satisfies RerankThreadRequest);
    await ended;
  }

  #start(): Promise<void> {
    this.#mayStartAt = this.#options.now() + RESTART_AFTER_MS;
    const thread = new Worker(threadFile('rerank-thread'), {
      workerData: { folder: this.#options.folder },
      execArgv: [],
    });
    return new Promise((resolve, reject) => {
      let cause: Error = new UnusableModelError('The reranking thread ended.');
      thread.on('error', (error) => {
        cause = error;
      });
      thread.on('message', (answer: RerankThreadAnswer) => {
        if (answer.kind === 'answer') this.#waiting.get(answer.id)?.(answer.answer);
        else if (answer.kind === 'unusable') cause = new UnusableModelError(answer.message);
        else if (this.#closed) thread.postMessage({ kind: 'close' } satisfies RerankThreadRequest);
        else {
          this.#thread = thread;
          resolve();
        }
      });
      thread.once('exit', () => {
        if (this.#thread === thread) {
          this.#options.onError?.('the reranker stopped; the fused order stands until it is back', cause);
          this.#forget('the reranker stopped');
        }
        reject(cause);
      });
    });
  }

  #forget(why: string): void {
    this.#thread = null;
    for (const settle of [...this.#waiting.values()]) settle({ missing: why });
  }
}
