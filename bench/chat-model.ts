/** One question to a chat model. */
export interface ChatQuestion {
  /** Absent: the prompt is the user's message alone. */
  readonly system?: string;
  readonly user: string;
  readonly temperature: number;
  /** Longest answer, in the model's tokens. */
  readonly maxTokens: number;
}

export interface ChatEndpoint {
  /** Base address, e.g. `https://api.openai.com/v1`; `/chat/completions` is appended. */
  readonly url: string;
  readonly model: string;
  readonly key?: string;
}

const TIMEOUT_MS = 120_000;
/** Before the second, third and fourth attempt, ms. */
const WAITS_MS = [1_000, 5_000, 30_000];

/**
 * An OpenAI-compatible chat model for benches. It differs from the service's client in that the temperature can be set,
 * and that a busy endpoint is asked again: a run of an hour does not fail by one refused request.
 */
export class ChatModel {
  readonly #endpoint: ChatEndpoint;
  readonly #waits: readonly number[];

  constructor(endpoint: ChatEndpoint, waits: readonly number[] = WAITS_MS) {
    this.#endpoint = endpoint;
    this.#waits = waits;
  }

  /**
   * Returns the model that the service's settings name: BANDOLIER_CHAT_URL, BANDOLIER_CHAT_MODEL and, where one is
   * needed, BANDOLIER_CHAT_KEY. Null if no address is set. @throws Error if no model is named.
   */
  static configured(environment: NodeJS.ProcessEnv): ChatModel | null {
    const { BANDOLIER_CHAT_URL: url, BANDOLIER_CHAT_MODEL: model, BANDOLIER_CHAT_KEY: key } = environment;
    if (!url) return null;
    if (!model) throw new Error('BANDOLIER_CHAT_URL is set, but no model. Set BANDOLIER_CHAT_MODEL.');
    return new ChatModel({ url, model, ...(key && { key }) });
  }

  get name(): string {
    return this.#endpoint.model;
  }

  /** Returns what the model said. @throws Error when it gave no answer, also when asked again. */
  async answer(question: ChatQuestion): Promise<string> {
    for (const wait of this.#waits) {
      const response = await this.#ask(question).catch(() => null);
      if (response !== null && response.status !== 429 && response.status < 500) return contentOf(response);
      await response?.body?.cancel();
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
    return contentOf(await this.#ask(question));
  }

  #ask({ system, user, temperature, maxTokens }: ChatQuestion): Promise<Response> {
    const { url, model, key } = this.#endpoint;
    const messages = [
      ...(system === undefined ? [] : [{ role: 'system', content: system }]),
      { role: 'user', content: user },
    ];
    return fetch(`${url.replace(/\/+$/, '')}/chat/completions`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
      },
      body: JSON.stringify({ model, temperature, max_tokens: maxTokens, messages }),
      signal: AbortSignal.timeout(TIMEOUT_MS),
    });
  }
}

async function contentOf(response: Response): Promise<string> {
  const body = await response.text();
  if (!response.ok) throw new Error(`The chat endpoint answered ${response.status}: ${body.slice(0, 300)}`);
  const { choices } = JSON.parse(body) as { choices?: { message?: { content?: unknown } }[] };
  const content = choices?.[0]?.message?.content;
  if (typeof content !== 'string') throw new Error('The answer has no choices[0].message.content.');
  return content;
}
