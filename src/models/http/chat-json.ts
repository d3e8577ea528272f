import { setTimeout as pause } from 'node:timers/promises';
import {
  askChat,
  type ChatAnswer,
  ChatFailedError,
  type ChatPrompt,
  type ChatSettings,
} from './chat-endpoint.ts';

/** A question whose answer is JSON of a known shape. */
export interface JsonPrompt extends ChatPrompt {
  /** What the shape is called: letters, digits, `_`, `-`. */
  readonly name: string;
  /** JSON schema of the answer, in the strict form of OpenAI: all properties required, no others allowed. */
  readonly schema: Readonly<Record<string, unknown>>;
}

export interface JsonAnswer {
  /** What the model answered; it is JSON, but may be of any shape. */
  readonly value: unknown;
  /** Tokens of all attempts, question and answer. */
  readonly tokens: number;
}

export interface JsonOptions {
  readonly signal?: AbortSignal;
  /** Pause before the first repetition, ms; it doubles every time. */
  readonly retryMs?: number;
  /** How often it is asked at most where failures may pass; absent: 3. */
  readonly tries?: number;
  /** Is called before every attempt, and prevents it by throwing. */
  readonly onAttempt?: () => void;
}

const TRIES = 3;
const RETRY_MS = 500;

/**
 * Asks for JSON. What may pass (no connection, a timeout, 408, 429, 5xx) is tried again, after a pause that doubles. An endpoint that
 * does not know JSON schemas (400, 422) is asked without one; the prompt has to say the shape as well.
 * @throws ChatFailedError, what `onAttempt` throws, or the reason of `signal` when that aborts
 */
export async function askForJson(
  settings: ChatSettings,
  prompt: JsonPrompt,
  { signal, retryMs = RETRY_MS, tries = TRIES, onAttempt }: JsonOptions = {},
): Promise<JsonAnswer> {
  let withSchema = true;
  let tokens = 0;
  for (let attempt = 1; ; attempt++) {
    onAttempt?.();
    try {
      const answer: ChatAnswer = await askChat(settings, withSchema ? prompt : withoutSchema(prompt), signal);
      tokens += answer.tokens;
      return { value: jsonIn(answer.text), tokens };
    } catch (error) {
      if (!(error instanceof ChatFailedError)) throw error;
      if (withSchema && (error.status === 400 || error.status === 422)) {
        withSchema = false;
        attempt--;
        continue;
      }
      if (!error.passing || attempt === tries) throw error;
      await pause(retryMs * 2 ** (attempt - 1), undefined, signal && { signal }).catch(() =>
        signal?.throwIfAborted(),
      );
    }
  }
}

const withoutSchema = ({ system, user, maxTokens }: JsonPrompt): ChatPrompt => ({ system, user, maxTokens });

/** JSON, in a code fence or not, and nothing else. */
function jsonIn(text: string): unknown {
  const bare = /^```(?:json)?\n([\s\S]*)\n```$/.exec(text.trim())?.[1] ?? text;
  try {
    return JSON.parse(bare);
  } catch (error) {
    throw new ChatFailedError('the model did not answer with JSON', { cause: error });
  }
}
