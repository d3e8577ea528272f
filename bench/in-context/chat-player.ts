import type { ChatModel } from '../chat-model.ts';
import type { Player, ShownTool } from './play.ts';

/** Turns of history in the prompt; temperature of the model (appendix C.1.1). */
const HISTORY = 20;
const TEMPERATURE = 0.5;

/** The system prompt of appendix C.1.1, word for word. How its list of actions was formatted is not stated. */
const SYSTEM = `You are an intelligent assistant playing a multi-armed bandit game.
Your goal is to maximize your total reward over many turns.
The available actions (tools) or types of queries may change over time.
In each turn, you are presented with a user query and a list of currently
available actions. Each action, when chosen for a query it is suited for,
has a specific hidden probability of yielding a reward of 1, and 0 otherwise.
If an action is not suited for the query, or no suitable action is available,
it will likely yield a reward of 0.
You must choose one action if suitable options exist.
If no actions are available or suitable, state that.

Available actions: [
{actions}
]`;

/** The user's message of each turn, word for word. */
const USER = `Interaction History (most recent ${HISTORY} turns shown for LLM context):
{history}

Current User Query (Global Turn {turn}): "{query}"

Think step-by-step about which action is best for the current query.
Consider the query, CURRENTLY available action descriptions, and past experiences.
After your reasoning, state your final choice clearly.
For example: "Reasoning: [...reasons...]. Chosen Action: ActionName Or Index".
If no action is suitable or available, you can state 'Chosen Action: None'.
Which action do you choose?`;

interface Turn {
  readonly query: string;
  readonly choice: string | null;
  readonly reward: number;
}

/** A chat model that learns from the history in its prompt, and from nothing else (section 5 of the paper). */
export class ChatPlayer implements Player {
  readonly #model: ChatModel;
  readonly #maxTokens: number;
  readonly #history: Turn[] = [];
  #offered: readonly ShownTool[] = [];
  #last: Omit<Turn, 'reward'> = { query: '', choice: null };

  constructor(model: ChatModel, maxTokens: number) {
    this.#model = model;
    this.#maxTokens = maxTokens;
  }

  async offer(tools: readonly ShownTool[]): Promise<void> {
    this.#offered = tools;
  }

  async choose(turn: number, query: string): Promise<string | null> {
    const answer = await this.#model.answer({
      system: filled(SYSTEM, { actions: this.#offered.map(actionLine).join('\n') }),
      user: filled(USER, { history: historyOf(this.#history), turn: `${turn + 1}`, query }),
      temperature: TEMPERATURE,
      maxTokens: this.#maxTokens,
    });
    const choice = chosenAction(
      answer,
      this.#offered.map(({ label }) => label),
    );
    this.#last = { query, choice };
    return choice;
  }

  learn(reward: 0 | 1): void {
    this.#history.push({ ...this.#last, reward });
  }

  free(): void {}
}

function actionLine({ label, description }: ShownTool): string {
  return `  ${label}${description === '' ? '' : `: ${description}`}`;
}

function historyOf(turns: readonly Turn[]): string {
  const lines = turns.map(
    ({ query, choice, reward }, at) =>
      `Turn ${at + 1}: Query: "${query}", Your Choice: ${choice ?? 'None'}, Outcome: Reward ${reward}`,
  );
  return lines.length === 0 ? '(no history yet)' : lines.slice(-HISTORY).join('\n');
}

function filled(template: string, values: Readonly<Record<string, string>>): string {
  return template.replace(/\{(\w+)\}/g, (_, name: string) => values[name]);
}

/**
 * Returns the label that the answer's last “Chosen Action:” names, in whatever quotes, or by its number alone; of two
 * that fit the longer one; null if it names none of them.
 */
export function chosenAction(answer: string, labels: readonly string[]): string | null {
  const stated = [...answer.matchAll(/chosen action\W*?:\s*(.*)/gi)].at(-1)?.[1];
  if (stated === undefined) return null;
  const plain = stated.toLowerCase().replace(/^[^\p{L}\p{N}]+/u, '');
  const isNamed = (name: string): boolean =>
    plain.startsWith(name.toLowerCase()) && !/^[\p{L}\p{N}]/u.test(plain.slice(name.length));
  const named = labels.filter((label) => isNamed(label) || isNamed(label.replace(/^Action /, '')));
  return named.sort((one, other) => other.length - one.length)[0] ?? null;
}
