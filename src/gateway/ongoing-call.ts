import type { Progress } from '@modelcontextprotocol/client';
import { type InputRequest, McpError } from '../outgoing/mcp/mcp-connection.ts';
import type { Asked } from './server.ts';

/** What the caller of one leg of a call is there for. */
export interface CallLeg {
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: Progress) => void;
}

/** The end of a leg: the answer, or questions that have to be answered in the next leg. */
export type LegEnd<Answer> =
  | { readonly kind: 'answered'; readonly answer: Answer }
  | { readonly kind: 'asked'; readonly questions: Readonly<Record<string, InputRequest>> };

/**
 * A call that a server of 2025-11-25 may interrupt by questions. Each leg lasts until the answer or the next question; the
 * call itself goes on between legs. Its timeout runs only while the server is working, and begins again with
 * each sign of progress.
 */
export class OngoingCall<Answer> implements Asked {
  readonly caller: string;
  readonly #timeoutMs: number;
  readonly #ended = new AbortController();
  readonly #questions = new Map<
    string,
    { request: InputRequest; answer(given: Record<string, unknown>): void }
  >();
  readonly #answer: Promise<Answer>;
  #leg: CallLeg = {};
  #timer: NodeJS.Timeout | undefined;
  #isTimedOut = false;
  #onQuestion: (() => void) | null = null;
  #asked = 0;

  /** @param work begins at once; it says `sent` when the server has the call. */
  constructor(
    caller: string,
    timeoutMs: number,
    leg: CallLeg,
    work: (call: OngoingCall<Answer>, signal: AbortSignal) => Promise<Answer>,
  ) {
    this.caller = caller;
    this.#timeoutMs = timeoutMs;
    this.#leg = leg;
    this.#answer = work(this, this.#ended.signal).finally(() => clearTimeout(this.#timer));
    this.#answer.catch(() => {});
  }

  readonly sent = (): void => this.#startTimer();

  readonly onProgress = (progress: Progress): void => {
    this.#startTimer();
    this.#leg.onProgress?.(progress);
  };

  /** @throws McpError of the call; `aborted` and `timeout` end it. */
  async next(leg: CallLeg): Promise<LegEnd<Answer>> {
    this.#leg = leg;
    const abort = () => this.end();
    if (leg.signal?.aborted === true) abort();
    leg.signal?.addEventListener('abort', abort, { once: true });
    const question = new Promise<'asked'>((resolve) => {
      this.#onQuestion = () => resolve('asked');
      if (this.#questions.size > 0) resolve('asked');
    });
    try {
      const end = await Promise.race([this.#answer.then((answer) => ({ answer })), question]);
      if (end !== 'asked') return { kind: 'answered', answer: end.answer };
      const questions = [...this.#questions].map(([id, { request }]) => [id, request]);
      return { kind: 'asked', questions: Object.fromEntries(questions) };
    } catch (error) {
      if (this.#isTimedOut)
        throw new McpError('timeout', `no answer within ${this.#timeoutMs} ms`, { cause: error });
      throw error;
    } finally {
      leg.signal?.removeEventListener('abort', abort);
      this.#onQuestion = null;
    }
  }

  ask(request: InputRequest, signal: AbortSignal): Promise<Record<string, unknown>> {
    clearTimeout(this.#timer);
    return new Promise((resolve) => {
      const id = `question-${++this.#asked}`;
      const answer = (given: Record<string, unknown>) => {
        this.#questions.delete(id);
        resolve(given);
      };
      this.#questions.set(id, { request, answer });
      // The server may take its question back.
      signal.addEventListener('abort', () => answer({ action: 'cancel' }), { once: true });
      this.#onQuestion?.();
    });
  }

  /** Questions without an answer stay open. */
  answer(responses: Readonly<Record<string, unknown>>): void {
    for (const [id, given] of Object.entries(responses)) {
      const isAnswer = typeof given === 'object' && given !== null;
      if (isAnswer) this.#questions.get(id)?.answer(given as Record<string, unknown>);
    }
    if (this.#questions.size === 0) this.#startTimer();
  }

  /** Cancels the call at its server. */
  end(): void {
    for (const { answer } of [...this.#questions.values()]) answer({ action: 'cancel' });
    this.#ended.abort();
  }

  #startTimer(): void {
    clearTimeout(this.#timer);
    if (this.#questions.size > 0 || this.#ended.signal.aborted) return;
    this.#timer = setTimeout(() => {
      this.#isTimedOut = true;
      this.end();
    }, this.#timeoutMs);
  }
}
