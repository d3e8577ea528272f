import { postJson } from './post-json.mjs';

/** The two requests that an agent makes of the router. */
export class Router {
  #url;
  #catalog;
  #sessionId;

  /** @param {{url: string, catalog: string, sessionId: string}} options */
  constructor({ url, catalog, sessionId }) {
    this.#url = url;
    this.#catalog = catalog;
    this.#sessionId = sessionId;
  }

  /** Filter: the k tools worth carrying, with definitions as the model takes them. */
  async route(messages, k) {
    const answer = await postJson(`${this.#url}/v1/route`, {
      messages: messages.filter(({ role }) => role !== 'system'),
      catalog: this.#catalog,
      sessionId: this.#sessionId,
      format: 'openai',
      k,
    });
    return {
      decisionId: answer.decisionId,
      names: answer.tools.map(({ name }) => name),
      definitions: answer.tools.map(({ definition }) => definition),
    };
  }

  /** Outcomes, all in one request: those of one decision are taken together. */
  async report(rewards) {
    const { results } = await postJson(`${this.#url}/v1/rewards`, { rewards });
    return rewards.map(({ decisionId, tool, outcome }, at) => ({
      decisionId,
      tool,
      outcome,
      status: results[at].code ?? results[at].status,
    }));
  }
}
