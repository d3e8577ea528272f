import { Worker } from 'node:worker_threads';
import { threadFile } from '../../../config/package-root.ts';
import { type EmbedderListeners, EmbedderUnavailableError, UnusableModelError } from '../embedder.ts';
import type { Embedded } from './sentence-model.ts';

/** The data with which the embedding thread (`workers/embed-thread.ts`) is started. */
export interface EmbedThreadData {
  /** The model's folder. */
  readonly folder: string;
}

/** What the owner of the thread needs to know about its model. */
export interface ReadyModel {
  readonly dimensions: number;
  readonly fingerprint: string;
  /** Text that the model expects in front of a query, and of a document. */
  readonly prefixes: { readonly query: string; readonly document: string };
}

export type EmbedRequest =
  | { readonly kind: 'embed'; readonly id: number; readonly texts: readonly string[] }
  /** Finish the current batch, then end. */
  | { readonly kind: 'close' };

export type EmbedAnswer =
  | ({ readonly kind: 'ready' } & ReadyModel)
  /** The model cannot be used; the thread ends. */
  | { readonly kind: 'unusable'; readonly message: string }
  | ({ readonly kind: 'vectors'; readonly id: number } & Embedded)
  | { readonly kind: 'failed'; readonly id: number; readonly message: string };

export interface EmbedThreadOptions extends EmbedderListeners {
  /** Folder with model.onnx and tokenizer.json. */
  readonly folder: string;
  /** Pause before the thread is started again, ms; `attempt` counts from 0 since its last answer. */
  readonly restartDelay?: (attempt: number) => number;
  readonly startThread?: (data: EmbedThreadData) => Worker;
}

/** Queries are embedded first, so that they do not wait for a large import. */
export type EmbedPriority = 'query' | 'document';

interface Waiting {
  readonly text: string;
  readonly stop: AbortSignal | undefined;
  resolve(vector: Float32Array): void;
  reject(error: Error): void;
}

const CLOSED = 'The embedder has been closed.';
const DOWN = 'The embedding thread has ended and is being started again.';
/** Texts per message. Batches of documents are small, because a query has to wait for the current batch. */
const BATCH = { query: 32, document: 16 };
/** Two batches of queries are sent ahead, so that the thread has work while an answer is on its way. */
const QUERY_BATCHES_UNDERWAY = 2;
const MAX_RESTART_DELAY_MS = 30_000;

/**
 * Owns the embedding thread and its queue. It is in one of these states:
 *
 * - **Starting.** The model is being loaded. `open` resolves when it is, or rejects when it cannot be used.
 * - **Ready.** Texts are sent in batches, queries before documents.
 * - **Down.** The thread ended unexpectedly. Its texts, and all others until it is ready again, are rejected with
 *   `EmbedderUnavailableError`. It is started again after a delay that doubles with every failure.
 * - **Closed**, for good: everything is rejected, and the thread ends after its current batch.
 */
export class EmbedThread {
  readonly #options: EmbedThreadOptions;
  readonly #startThread: (data: EmbedThreadData) => Worker;
  readonly #waiting: Record<EmbedPriority, Waiting[]> = { query: [], document: [] };
  readonly #underway = new Map<number, Waiting[]>();
  #thread: Worker | null = null;
  #ready = false;
  #closed = false;
  #model: ReadyModel | null = null;
  #restart: NodeJS.Timeout | null = null;
  #failures = 0;
  #batches = 0;
  #pumping = false;

  private constructor(options: EmbedThreadOptions) {
    this.#options = options;
    this.#startThread = options.startThread ?? embedThreadStarter();
  }

  /** Resolves once the model is loaded. @throws UnusableModelError */
  static async open(options: EmbedThreadOptions): Promise<EmbedThread> {
    const thread = new EmbedThread(options);
    await thread.#start();
    return thread;
  }

  get dimensions(): number {
    return this.#model?.dimensions ?? 0;
  }

  get fingerprint(): string {
    return this.#model?.fingerprint ?? '';
  }

  /** False while the thread is down. */
  get available(): boolean {
    return this.#ready;
  }

  /**
   * Returns the vector of a text.
   * @param stop a text whose signal has aborted is not given to the model; then it rejects with the reason.
   * @throws EmbedderUnavailableError
   */
  embed(text: string, priority: EmbedPriority, stop?: AbortSignal): Promise<Float32Array> {
    if (!this.#ready) return Promise.reject(new EmbedderUnavailableError(this.#closed ? CLOSED : DOWN));
    return new Promise((resolve, reject) => {
      const prefix = this.#model?.prefixes[priority] ?? '';
      this.#waiting[priority].push({ text: prefix + text, stop, resolve, reject });
      if (this.#pumping) return;
      // Texts of the same turn of the event loop are sent together.
      this.#pumping = true;
      setImmediate(() => {
        this.#pumping = false;
        this.#pump();
      });
    });
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    if (this.#restart !== null) clearTimeout(this.#restart);
    this.#rejectAll(CLOSED);
    if (this.#thread !== null) await end(this.#thread);
  }

  /** Settles when the thread is ready for work or has turned out to be unusable. */
  #start(): Promise<void> {
    const thread = this.#startThread({ folder: this.#options.folder });
    this.#thread = thread;
    return new Promise((resolve, reject) => {
      let cause = 'The embedding thread ended.';
      thread.on('error', (error) => {
        cause = `The embedding thread failed: ${error.message}`;
      });
      thread.on('message', (answer: EmbedAnswer) => {
        if (answer.kind === 'unusable') cause = answer.message;
        else if (answer.kind !== 'ready') this.#settle(answer);
        else if (this.#isSameModel(answer)) {
          this.#ready = !this.#closed;
          resolve();
        } else {
          cause =
            'The files of the embedding model changed while it was in use. Restart to use the new model.';
          void end(thread);
        }
      });
      thread.once('exit', () => {
        reject(new UnusableModelError(cause));
        // If the model cannot be loaded the first time, `open` rejects.
        if (this.#model !== null) this.#recover(cause);
      });
    });
  }

  #isSameModel({ dimensions, fingerprint, prefixes }: ReadyModel): boolean {
    this.#model ??= { dimensions, fingerprint, prefixes };
    return this.#model.fingerprint === fingerprint;
  }

  #recover(cause: string): void {
    if (this.#closed) return;
    this.#rejectAll(cause);
    this.#options.onChange?.(false, cause);
    const delay = this.#options.restartDelay ?? defaultRestartDelay;
    this.#restart = setTimeout(
      () => {
        this.#start().then(
          () => this.#options.onChange?.(true, 'The embedding thread works again.'),
          () => undefined, // its exit is handled above
        );
      },
      delay(this.#failures++),
    ).unref();
  }

  #rejectAll(cause: string): void {
    this.#ready = false;
    const all = [...this.#waiting.query, ...this.#waiting.document, ...[...this.#underway.values()].flat()];
    this.#waiting.query = [];
    this.#waiting.document = [];
    this.#underway.clear();
    for (const waiting of all) waiting.reject(new EmbedderUnavailableError(cause));
  }

  #pump(): void {
    const { query, document } = this.#waiting;
    while (this.#ready && query.length > 0 && this.#underway.size < QUERY_BATCHES_UNDERWAY)
      this.#send('query');
    if (this.#ready && document.length > 0 && this.#underway.size === 0) this.#send('document');
  }

  #send(priority: EmbedPriority): void {
    const next = this.#waiting[priority].splice(0, BATCH[priority]);
    const batch = next.filter(({ stop }) => stop?.aborted !== true);
    for (const { stop, reject } of next) if (stop?.aborted === true) reject(stop.reason);
    if (batch.length === 0) return;
    this.#options.onTexts?.(priority, batch.length);
    const id = ++this.#batches;
    this.#underway.set(id, batch);
    const request: EmbedRequest = { kind: 'embed', id, texts: batch.map(({ text }) => text) };
    this.#thread?.postMessage(request);
  }

  #settle(answer: Extract<EmbedAnswer, { id: number }>): void {
    const batch = this.#underway.get(answer.id) ?? [];
    this.#underway.delete(answer.id);
    this.#pump();
    this.#failures = 0;
    const failures = new Map(answer.kind === 'failed' ? [] : answer.failures);
    for (const [at, { resolve, reject }] of batch.entries()) {
      const failure = answer.kind === 'failed' ? answer.message : failures.get(at);
      if (failure !== undefined) reject(new EmbedderUnavailableError(`The model failed: ${failure}`));
      else if (answer.kind === 'vectors')
        resolve(answer.vectors.slice(at * this.dimensions, (at + 1) * this.dimensions));
    }
  }
}

function embedThreadStarter(): (data: EmbedThreadData) => Worker {
  const file = threadFile('embed-thread');
  return (workerData) => new Worker(file, { workerData, execArgv: [] });
}

/** Ends the thread with a message: `terminate` during inference aborts the whole process (onnxruntime-node 1.30). */
function end(thread: Worker): Promise<void> {
  return new Promise((resolve) => {
    if (thread.threadId === -1) return resolve();
    thread.once('exit', () => resolve());
    const request: EmbedRequest = { kind: 'close' };
    thread.postMessage(request);
  });
}

function defaultRestartDelay(attempt: number): number {
  return Math.min(100 * 2 ** attempt, MAX_RESTART_DELAY_MS);
}
