import { postJson } from './post-json.mjs';

/** The three requests that an agent makes of the router. What belongs to one user turn has one task. */
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
  async route(task, messages, k) {
    const answer = await postJson(`${this.#url}/v1/route`, {
      messages: messages.filter(({ role }) => role !== 'system'),
      catalog: this.#catalog,
      sessionId: this.#sessionId,
      task,
      format: 'openai',
      k,
    });
    return {
      decisionId: answer.decisionId,
      names: answer.tools.map(({ name }) => name),
      definitions: answer.tools.map(({ definition }) => definition),
    };
  }

  /** Outcomes of a step. Sending one twice would do no harm: each has a key. */
  async report(task, slate, actions) {
    const rewards = actions
      // The model made up the others.
      .filter(({ name }) => slate.names.includes(name))
      .map(({ id, name, outcome, latencyMs }) => ({
        task,
        tool: name,
        outcome,
        latencyMs,
        idempotencyKey: id,
      }));
    if (rewards.length === 0) return [];
    const { results } = await postJson(`${this.#url}/v1/rewards`, { rewards });
    return rewards.map(({ tool, outcome }, at) => ({
      tool,
      outcome,
      status: results[at].code ?? results[at].status,
      decisions: results[at].decisions,
    }));
  }

  /** The turn is over: shown tools that were not called in it were not needed. */
  end(task) {
    return postJson(`${this.#url}/v1/tasks/${task}/end`, {});
  }
}
