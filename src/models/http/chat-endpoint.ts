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
  /** Name and JSON schema of the answer; absent: text. */
  readonly name?: string;
  readonly schema?: Readonly<Record<string, unknown>>;
}

export interface ChatAnswer {
  readonly text: string;
  /** Tokens of question and answer, as the endpoint counts them; where it does not, a quarter of their characters. */
  readonly tokens: number;
}

/** Thrown when the endpoint gave no usable answer; the message says why, without the prompt or the key. */
export class ChatFailedError extends Error {
  override readonly name = 'ChatFailedError';
  /** True where trying again may help. */
  readonly passing: boolean;
  /** The status of the answer; null: there was none, or it is what the answer says. */
  readonly status: number | null;

  constructor(message: string, options: ErrorOptions & { passing?: boolean; status?: number } = {}) {
    super(message, options);
    this.passing = options.passing ?? false;
    this.status = options.status ?? null;
  }
}

/** A longer answer is not read to its end. */
const MAX_BYTES = 65_536;

/**
 * Sends one question to a language model, with temperature 0.
 * @throws ChatFailedError, or the reason of `signal` when that aborts
 */
export async function askChat(
  settings: ChatSettings,
  prompt: ChatPrompt,
  signal?: AbortSignal,
): Promise<ChatAnswer> {
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
      const status = response.statusCode ?? 0;
      const passing = status === 408 || status === 429 || status >= 500;
      throw new ChatFailedError(`it answered ${status}`, { passing, status });
    }
    return answerIn(await readText(response, MAX_BYTES), prompt);
  } catch (error) {
    signal?.throwIfAborted();
    if (deadline.aborted)
      throw new ChatFailedError(`no answer within ${timeoutMs} ms`, { cause: error, passing: true });
    if (error instanceof OutgoingError)
      throw new ChatFailedError(error.message, { cause: error, passing: error.passing });
    throw error;
  }
}

function requestBody(model: string, { system, user, maxTokens, name, schema }: ChatPrompt): string {
  return JSON.stringify({
    model,
    temperature: 0,
    max_tokens: maxTokens,
    messages: [
      { role: 'system', content: system },
      { role: 'user', content: user },
    ],
    ...(schema !== undefined && {
      response_format: { type: 'json_schema', json_schema: { name, strict: true, schema } },
    }),
  });
}

function answerIn(body: string, { system, user }: ChatPrompt): ChatAnswer {
  let json: { choices?: { message?: { content?: unknown } }[]; usage?: { total_tokens?: unknown } } | null;
  try {
    json = JSON.parse(body);
  } catch {
    throw new ChatFailedError('its answer is not JSON');
  }
  const text = json?.choices?.[0]?.message?.content;
  if (typeof text !== 'string') throw new ChatFailedError('its answer has no choices[0].message.content');
  const counted = json?.usage?.total_tokens;
  const isCount = typeof counted === 'number' && Number.isFinite(counted) && counted >= 0;
  return { text, tokens: isCount ? counted : Math.ceil((system.length + user.length + text.length) / 4) };
}
