import { ask, OutgoingError, readText } from '../../outgoing/request.ts';

/** An OpenAI-compatible chat endpoint, as configured. */
export interface ChatSettings {
  /** Base address, e.g. `https://api.openai.com/v1`; `/chat/completions` is appended. */
  readonly url: string;
  readonly model: string;
  /** Sent as `Authorization: Bearer`; undefined: nothing is sent. */
  readonly key: string | undefined;
  readonly timeoutMs: number;
  /** The endpoint may be on this machine or in its own network. */
  readonly allowPrivate: boolean;
}

export interface ChatPrompt {
  readonly system: string;
  readonly user: string;
  /** Longest answer, in the model's tokens. */
  readonly maxTokens: number;
}

/** Thrown when the endpoint gave no usable answer; the message says why, without the prompt or the key. */
export class ChatFailedError extends Error {
  override readonly name = 'ChatFailedError';
}

/** A longer answer is not read to its end. */
const MAX_BYTES = 65_536;

/**
 * Sends one question to a language model, with temperature 0.
 * @returns the model's answer. @throws ChatFailedError, or the reason of `signal` when that aborts
 */
export async function askChat(
  settings: ChatSettings,
  prompt: ChatPrompt,
  signal?: AbortSignal,
): Promise<string> {
  const { url, key, timeoutMs, allowPrivate } = settings;
  const deadline = AbortSignal.timeout(timeoutMs);
  try {
    const response = await ask(`${url.replace(/\/+$/, '')}/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body: requestBody(settings.model, prompt),
      timeoutMs,
      allowPrivate,
      signal: signal === undefined ? deadline : AbortSignal.any([deadline, signal]),
    });
    if (response.statusCode !== 200) {
      response.destroy();
      throw new ChatFailedError(`it answered ${response.statusCode}`);
    }
    return answerIn(await readText(response, MAX_BYTES));
  } catch (error) {
    signal?.throwIfAborted();
    if (deadline.aborted) throw new ChatFailedError(`no answer within ${timeoutMs} ms`, { cause: error });
    if (error instanceof OutgoingError) throw new ChatFailedError(error.message, { cause: error });
    throw error;
  }
}

function requestBody(model: string, { system, user, maxTokens }: ChatPrompt): string {
  return JSON.stringify({
    model,
    temperature: 0,
    max_tokens: maxTokens,
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: user },
    ],
  });
}

function answerIn(body: string): string {
  let json: unknown;
  try {
    json = JSON.parse(body);
  } catch {
    throw new ChatFailedError('its answer is not JSON');
  }
  const content = (json as { choices?: { message?: { content?: unknown } }[] } | null)?.choices?.[0]?.message
    ?.content;
  if (typeof content !== 'string') throw new ChatFailedError('its answer has no choices[0].message.content');
  return content;
}
