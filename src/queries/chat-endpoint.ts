/** An OpenAI-compatible chat endpoint, as configured. */
export interface ChatSettings {
  /** Base address, e.g. `https://api.openai.com/v1`; `/chat/completions` is appended. */
  readonly url: string;
  readonly model: string;
  /** Sent as `Authorization: Bearer`; undefined: nothing is sent. */
  readonly key: string | undefined;
  readonly timeoutMs: number;
}

export interface ChatPrompt {
  readonly system: string;
  readonly user: string;
  /** Longest answer, in the model's tokens. */
  readonly maxTokens: number;
}

/** The endpoint gave no answer that can be used; the message says why, without the prompt or the key. */
export class ChatFailedError extends Error {
  override readonly name = 'ChatFailedError';
}

/** A longer answer is not read to its end. */
const MAX_BYTES = 65_536;

/**
 * One question to a language model, temperature 0. Redirects are refused: the key is for this address only.
 * @returns what the model said. @throws ChatFailedError
 */
export async function askChat(settings: ChatSettings, prompt: ChatPrompt): Promise<string> {
  const { url, model, key, timeoutMs } = settings;
  try {
    const response = await fetch(`${url.replace(/\/+$/, '')}/chat/completions`, {
      method: 'POST',
      redirect: 'error',
      signal: AbortSignal.timeout(timeoutMs),
      headers: {
        'content-type': 'application/json',
        ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({
        model,
        temperature: 0,
        max_tokens: prompt.maxTokens,
        messages: [
          { role: 'system', content: prompt.system },
          { role: 'user', content: prompt.user },
        ],
      }),
    });
    if (!response.ok) {
      await response.body?.cancel();
      throw new ChatFailedError(`it answered ${response.status}`);
    }
    return answerIn(await limitedText(response));
  } catch (error) {
    if (error instanceof ChatFailedError) throw error;
    const isLate = error instanceof Error && error.name === 'TimeoutError';
    throw new ChatFailedError(isLate ? `no answer within ${timeoutMs} ms` : 'it cannot be reached', {
      cause: error,
    });
  }
}

async function limitedText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_BYTES) throw new ChatFailedError(`its answer is longer than ${MAX_BYTES} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
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
