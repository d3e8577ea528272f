import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import type { RouteAnswer } from '../../src/routing/route-answer.ts';
import { TokenCosts } from '../../src/routing/token-costs.ts';
import { ESTIMATE } from '../../src/tokens/estimate.ts';
import type { View } from './agent.ts';
import type { StepTokens } from './cost.ts';
import type { BenchInstruction } from './instructions.ts';
import type { Product, RouteQuestion } from './product.ts';

/** What the agent is given for one step. */
export interface Served {
  readonly view: View;
  readonly tokens: StepTokens;
  /** Of the product; absent: it was not asked. */
  readonly answer?: RouteAnswer;
  readonly milliseconds?: number;
}

/** A way to decide what the agent is given. */
export interface Strategy {
  readonly name: string;
  /** @param key of the step, in the session of its episode */
  serve(query: string, session: string, key: string): Promise<Served>;
  /** More tools for the same step; absent: there is no such thing. */
  more?(served: Served): Promise<Served>;
}

/** All that a prompt could hold. */
export interface Whole {
  readonly tools: readonly ToolDefinition[];
  readonly instructions: readonly BenchInstruction[];
}

/** As the service counts them, so that all ways are counted alike. */
const costs = new TokenCosts(ESTIMATE);
const toolTokens = (tool: ToolDefinition): number => costs.tool(tool, 'mcp', 'full');

const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0);

export function sizeOf(whole: Whole): { readonly prompt: number; readonly tools: number } {
  return {
    prompt: sum(whole.instructions.map((instruction) => costs.instruction(instruction))),
    tools: sum(whole.tools.map(toolTokens)),
  };
}

/** Everything, in every step. */
export function monolith(whole: Whole): Strategy {
  const { prompt, tools } = sizeOf(whole);
  const view: View = {
    tools: whole.tools.map(({ name }) => name),
    instructions: new Set(whole.instructions.map(({ id }) => id)),
    promptShare: 1,
  };
  const tokens = { prefix: prompt + tools, changing: 0, appended: 0 };
  return { name: 'B0 monolith', serve: async () => ({ view, tokens }) };
}

/** The tools from the product, and the whole prompt, which stands first. */
export function routerOnly(product: Product, whole: Whole, asked: Omit<RouteQuestion, 'query'>): Strategy {
  const { prompt } = sizeOf(whole);
  const instructions = new Set(whole.instructions.map(({ id }) => id));
  const tokensOf = new Map(whole.tools.map((tool) => [tool.name, toolTokens(tool)]));
  return {
    name: 'B1 router only',
    serve: async (query, _session, key) => {
      const { answer, milliseconds } = await product.route({ ...asked, query }, key);
      const tools = answer.tools.map(({ name }) => name);
      const changing = sum(tools.map((name) => tokensOf.get(name)!));
      return {
        view: { tools, instructions, promptShare: 1 },
        tokens: { prefix: prompt, changing, appended: 0 },
        ...{ answer, milliseconds },
      };
    },
  };
}

/** The instructions from the product, and all tools, which stand first. */
export function promptRag(product: Product, whole: Whole, asked: Omit<RouteQuestion, 'query'>): Strategy {
  const size = sizeOf(whole);
  const tools = whole.tools.map(({ name }) => name);
  return {
    name: 'B2 prompt-RAG',
    serve: async (query, _session, key) => {
      const question = { ...asked, query, instructions: true, assembly: 'prompt' } as const;
      const { answer, milliseconds } = await product.route(question, key);
      const { instructions = [] } = answer;
      const changing = sum(instructions.map(({ tokens }) => tokens));
      return {
        view: {
          tools,
          instructions: new Set(instructions.map(({ id }) => id)),
          promptShare: changing / size.prompt,
        },
        tokens: { prefix: size.tools, changing, appended: 0 },
        ...{ answer, milliseconds },
      };
    },
  };
}

/** Tools and instructions from the product, by one of its two ways. */
export function itr(
  product: Product,
  whole: Whole,
  asked: Omit<RouteQuestion, 'query'> & { readonly assembly: 'prompt' | 'append' },
): Strategy {
  const size = sizeOf(whole);
  const tokensOf = new Map(whole.tools.map((tool) => [tool.name, toolTokens(tool)]));
  /** What stands in the prompt of a session. */
  const inPrompt = new Map<string, Set<string>>();
  const sessionOf = new WeakMap<RouteAnswer, string>();
  const tokensFor = (
    session: string,
    parts: readonly (readonly [name: string, tokens: number])[],
    restarted = false,
  ): StepTokens => {
    if (asked.assembly === 'prompt')
      return { prefix: 0, changing: sum(parts.map(([, tokens]) => tokens)), appended: 0 };
    const before = (restarted ? undefined : inPrompt.get(session)) ?? new Set();
    inPrompt.set(session, new Set([...before, ...parts.map(([name]) => name)]));
    const added = parts.filter(([name]) => !before.has(name));
    return { prefix: 0, changing: 0, appended: sum(added.map(([, tokens]) => tokens)), restarted };
  };
  return {
    name: `ITR by ${asked.assembly}`,
    serve: async (query, session, key) => {
      const question = { ...asked, query, instructions: true, sessionId: session };
      const { answer, milliseconds } = await product.route(question, key);
      sessionOf.set(answer, session);
      const { instructions = [] } = answer;
      const tools = answer.tools.map(({ name }) => name);
      const { total, slate, instructions: texts } = answer.tokens!;
      const parts = [
        ...instructions.map(({ id, tokens }) => [`instruction ${id}`, tokens] as const),
        ...tools.map((name) => [name, tokensOf.get(name)!] as const),
        ['what joins them', total - slate - texts] as const,
      ];
      const tokens = tokensFor(session, parts, answer.restarted);
      const promptShare = sum(instructions.map(({ tokens }) => tokens)) / size.prompt;
      const read = new Set(instructions.map(({ id }) => id));
      return { view: { tools, instructions: read, promptShare }, ...{ tokens, answer, milliseconds } };
    },
    more: async (served) => {
      const { view, tokens, answer } = served;
      const found = await product.discover(answer!, { k: DISCOVERED });
      const added = found.filter((name) => !view.tools.includes(name));
      const parts = added.map((name) => [name, tokensOf.get(name)!] as const);
      const more = tokensFor(sessionOf.get(answer!)!, parts);
      return {
        ...served,
        view: { ...view, tools: [...view.tools, ...added] },
        tokens: { ...more, changing: more.changing + tokens.changing },
      };
    },
  };
}

/** Tools that a search for more brings. */
const DISCOVERED = 5;
