import { randomFor } from '../../bandit/random.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import { lexicalText } from '../../src/retrieval/document-text.ts';
import { tokenise } from '../../src/retrieval/tokenise.ts';
import type { ChatModel } from '../chat-model.ts';

/** A query, and the few tools that retrieval found for it, best first, as they are seen under a condition. */
export interface Shortlisted {
  readonly query: string;
  readonly tools: readonly ToolDefinition[];
  /** Position of the first right tool among them, −1 if there is none. Only the oracle looks. */
  readonly right: number;
}

/** Probability with which the oracle picks a right tool that it is shown. */
export const ORACLE_RIGHT = 0.95;

/** Longest answer of a chat model, in tokens. */
const MAX_TOKENS = 1000;

/**
 * Returns the position of the tool that shares most words with the query; of equals the one that retrieval puts first.
 * A reasoning step without any model: what it adds to retrieval is next to nothing.
 */
export function pickByWords({ query, tools }: Pick<Shortlisted, 'query' | 'tools'>): number {
  const wanted = new Set(tokenise(query));
  const shared = tools.map((tool) => {
    const words = new Set(tokenise(lexicalText(tool)));
    return [...wanted].filter((word) => words.has(word)).length;
  });
  return shared.indexOf(Math.max(...shared));
}

/**
 * Returns what a scripted model picks that **knows the right answer**: a right tool with probability .95 if one is among
 * those shown, and by words otherwise. It says what a very good model could make of this shortlist, not what any model
 * does. Its mistakes are drawn by query: the same queries in every condition and at every size.
 */
export function pickByOracle(shortlisted: Shortlisted): number {
  const { query, right } = shortlisted;
  const draw = randomFor(`conditions/oracle/${query}`).uniform(0);
  return right >= 0 && draw < ORACLE_RIGHT ? right : pickByWords(shortlisted);
}

/** The prompt of appendix C.4, word for word. How the actions were formatted is not stated. */
const PROMPT = `[BEGIN OF TASK INSTRUCTION]
You are an expert in composing functions. You are given a question and a set of
possible functions.
Based on the question, you will need to make one or more function/tool calls to
achieve the purpose.
If none of the function can be used, point it out and refuse to answer.
If the given question lacks the parameters required by the function, also point it
out.
[END OF TASK INSTRUCTION]
[BEGIN OF AVAILABLE TOOLS]
{actions}
[END OF AVAILABLE TOOLS]
[BEGIN OF FORMAT INSTRUCTION]
The output MUST strictly adhere to the following JSON format,
and NO other text MUST be included.
The example format is as follows. Please make sure the
parameter type is correct. If no function call is needed,
please make tool_calls an empty list []

{
"tool_calls": [
{"name": "func_name1", "arguments": {"argument1": "value1", "argument2": "value2"}},
... (more tool calls as required)
]
}

[END OF FORMAT INSTRUCTION]
[BEGIN OF QUERY]
User Query: {query}
[END OF QUERY]
`;

/** Returns the position of the first tool that the chat model calls; −1 if it calls none of those it was shown. */
export async function pickByChat(
  model: ChatModel,
  { query, tools }: Pick<Shortlisted, 'query' | 'tools'>,
): Promise<number> {
  const actions = tools.map(actionLine).join('\n');
  const values: Readonly<Record<string, string>> = { actions, query };
  const user = PROMPT.replace(/\{(actions|query)\}/g, (_, name: string) => values[name]);
  const answer = await model.answer({ user, temperature: 0, maxTokens: MAX_TOKENS });
  const name = firstCall(answer);
  return tools.findIndex((tool) => tool.name === name);
}

function actionLine({ name, description, inputSchema }: ToolDefinition): string {
  const described = description === '' ? name : `${name}: ${description}`;
  return Object.keys(inputSchema).length === 0 ? described : `${described} ${JSON.stringify(inputSchema)}`;
}

/** Models like to put JSON between fences or sentences in spite of what they were told. */
function firstCall(answer: string): string | undefined {
  try {
    const json = JSON.parse(answer.slice(answer.indexOf('{'), answer.lastIndexOf('}') + 1));
    return json.tool_calls[0]?.name;
  } catch {
    return undefined;
  }
}
