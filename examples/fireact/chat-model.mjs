import { postJson } from './post-json.mjs';

/** Any OpenAI-compatible chat endpoint. */
export class ChatModel {
  #url;
  #model;
  #key;

  /** @param {{url: string, model: string, key?: string}} options url up to and including `/v1` */
  constructor({ url, model, key }) {
    this.#url = url.replace(/\/+$/, '');
    this.#model = model;
    this.#key = key;
  }

  /** Reason: what the model says, which tools it wants called, and the message to go on with. */
  async reason(messages, definitions) {
    const { choices } = await postJson(
      `${this.#url}/chat/completions`,
      {
        model: this.#model,
        temperature: 0,
        messages,
        ...(definitions.length > 0 && { tools: definitions }),
      },
      this.#key === undefined ? {} : { authorization: `Bearer ${this.#key}` },
    );
    const { content, tool_calls } = choices[0].message;
    const calls = (tool_calls ?? []).map((call) => ({
      id: call.id,
      name: call.function.name,
      input: parsed(call.function.arguments),
    }));
    const message = { role: 'assistant', content: content ?? null, ...(tool_calls && { tool_calls }) };
    return { text: content ?? '', calls, message };
  }
}

function parsed(json) {
  try {
    return JSON.parse(json === '' ? '{}' : json);
  } catch {
    return null;
  }
}
