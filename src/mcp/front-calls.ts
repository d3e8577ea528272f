import {
  type CallToolRequest,
  type CallToolResult,
  type InputRequiredResult,
  isInputRequiredResult,
  ProtocolError,
  ProtocolErrorCode,
  type ServerContext,
} from '@modelcontextprotocol/server';
import type { z } from 'zod';
import { faultsOf, plainWords } from '../../config/plain-words.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { getTool } from '../catalog/tools.ts';
import { Problem, type ProblemCode } from '../errors/problem.ts';
import { contextText } from '../instructions/assemble-prompt.ts';
import { SILENT_OUTCOMES } from '../ledger/entry.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { completeOutcome } from '../rewards/reward-report.ts';
import type { Rewards } from '../rewards/rewards.ts';
import { EMPTY_CATALOG } from '../routing/find-candidates.ts';
import type { Routing } from '../routing/routing.ts';
import { definitionIn } from '../routing/slate-definition.ts';
import { callableTools, shownName } from './callable-tools.ts';
import type { Callers, Task, Whereabouts } from './callers.ts';
import type { FirstReads } from './first-reads.ts';
import { type FrontToolName, type FrontTools, INPUTS } from './front-tools.ts';
import type { MergedCalls } from './merged-calls.ts';
import { optionsOf } from './pass-on.ts';
import type { TaskReports } from './task-reports.ts';
import { REST_OF_RESULT, type ToolServers } from './tool-servers.ts';
import { notCallable, ownUse, uncallable } from './uncallable-tools.ts';

/** The services that calls are carried out with. */
export interface CallServices {
  readonly catalogs: Catalogs;
  readonly routing: Pick<Routing, 'route' | 'findHead'>;
  readonly rewards: Pick<Rewards, 'report'>;
  readonly servers: ToolServers;
}

interface FrontCallsParts extends CallServices {
  readonly firstReads: FirstReads;
  readonly callers: Callers;
  readonly reports: TaskReports;
  readonly merged: MergedCalls;
  /** What clients of a catalog list. @throws Problem catalog-not-found */
  readonly toolsOf: (catalog: string) => FrontTools;
}

type Answer = CallToolResult | InputRequiredResult;

/** A call with its circumstances: the catalog that its client sees, and the task that it belongs to. */
export interface Exchange {
  readonly catalog: string;
  readonly task: Task;
  readonly where: Whereabouts;
  readonly context: ServerContext;
  readonly params: CallToolRequest['params'];
}

/** Calls of the tools in front, and of the tools behind: what each does, and what a model reads about it. */
export class FrontCalls {
  readonly #parts: FrontCallsParts;

  constructor(parts: FrontCallsParts) {
    this.#parts = parts;
  }

  /** Carries a call out. What is wrong with it is a result that says so, since a model can mend it and a client cannot. */
  async answer(exchange: Exchange): Promise<Answer> {
    try {
      return await this.#call(exchange);
    } catch (error) {
      if (error instanceof Problem) return failed(error);
      throw error;
    }
  }

  #call(exchange: Exchange): Promise<Answer> {
    const { catalog, params } = exchange;
    const { name, arguments: args = {} } = params;
    switch (name) {
      case 'find_tools':
        return this.#find(exchange, checked(name, args));
      case 'describe_tool':
        return this.#describe(exchange, checked(name, args).name);
      case 'call_tool': {
        const { name: tool, arguments: given, decisionId } = checked(name, args);
        return this.#callTool(exchange, tool, given, decisionId);
      }
      case 'report_outcome':
        return this.#report(exchange, checked(name, args));
      default: {
        // A pinned tool, or one that a model calls by the name that find_tools answered.
        const { state } = this.#parts.catalogs.get(catalog);
        if (state.tools.get(state.tools.nameOf(name)) === undefined) {
          throw new ProtocolError(
            ProtocolErrorCode.InvalidParams,
            `There is no tool ${JSON.stringify(name.slice(0, 200))}. tools/list lists those that can be called as themselves; call_tool calls the others.`,
          );
        }
        return this.#callTool(exchange, name, args, undefined);
      }
    }
  }

  async #find(
    { catalog, task, where, context }: Exchange,
    { query, k }: z.output<(typeof INPUTS)['find_tools']>,
  ): Promise<Answer> {
    const { catalogs, routing, servers, callers, reports, firstReads, toolsOf } = this.#parts;
    await firstReads.wait(catalog);
    const { pinned } = toolsOf(catalog);
    const { sessionId, unitId, userId } = task.caller;
    const answer = await routing.route(
      {
        ...{ catalog, query, sessionId, format: 'mcp', activate: 'now', explore: true, learn: true },
        task: task.id,
        // Pinned tools are in every slate, and in the client's list already.
        k: Math.min(50, k + pinned.size),
        ...(unitId !== undefined && { unitId }),
        ...(userId !== undefined && { userId, ...where }),
      },
      { signal: context.mcpReq.signal },
    );
    const decision = {
      decisionId: answer.decisionId,
      tools: answer.tools.map(({ name }) => name),
      deadline: Date.parse(answer.rewardDeadline),
    };
    callers.saw(task, decision);
    const listed = new Set(pinned.values());
    const shown = decision.tools.filter((name) => !listed.has(name));
    reports.found(task, { ...decision, query, tools: shown });
    const open = catalogs.get(catalog);
    const { tools } = open.state;
    // It may have been removed since it was found.
    const useOf = (name: string): object => {
      const found = tools.get(name);
      if (found === undefined || callableTools(open, found, servers).length > 0) return {};
      return uncallable(found.tool);
    };
    const unread = firstReads.notes(catalog);
    // Who has sources need not import tools.
    const said = answer.notes?.filter((note) => unread.length === 0 || note !== EMPTY_CATALOG) ?? [];
    const notes = [...said, ...unread];
    const { context: items = [] } = answer;
    const found = {
      decisionId: answer.decisionId,
      tools: answer.tools
        .filter(({ name }) => !listed.has(name))
        .map(({ name, definition }) => ({
          ...(definition as object),
          ...useOf(name),
        })),
      ...(answer.fallback !== null && { fallback: answer.fallback }),
      ...(notes.length > 0 && { notes }),
    };
    const answered = structured(found);
    if (items.length === 0) return answered;
    // What users wrote is a text of its own, between delimiters.
    const text = contextText(items);
    return {
      content: [...answered.content, { type: 'text', text }],
      structuredContent: { ...found, context: items },
    };
  }

  async #describe({ catalog }: Exchange, named: string): Promise<Answer> {
    const { catalogs, servers } = this.#parts;
    const open = catalogs.get(catalog);
    const record = getTool(open, named);
    const { tool } = open.state.tools.served(record);
    return structured({
      ...(definitionIn('mcp', 'full', tool) as object),
      ...(tool.server !== undefined && { server: tool.server }),
      ...knownOfCalls(tool),
      ...(callableTools(open, record, servers).length === 0 ? ownUse(tool) : { callable: true }),
    });
  }

  async #callTool(
    { catalog, task, context, params }: Exchange,
    named: string,
    args: Readonly<Record<string, unknown>>,
    given: string | undefined,
  ): Promise<Answer> {
    const { catalogs, servers, reports, callers, merged } = this.#parts;
    if (named === REST_OF_RESULT) return this.#rest(catalog, args.handle);
    const open = catalogs.get(catalog);
    const record = getTool(open, named);
    const tools = callableTools(open, record, servers);
    if (tools.length === 0) throw notCallable(record.tool);
    // A member of a merge is shown under the name of the representative.
    const shownAs = shownName(open.state, record);
    const isKnown = given !== undefined && (await this.#showed(given, catalog, [record.tool.name, shownAs]));
    const decision = callers.newest(task, record.tool.name) ?? callers.newest(task, shownAs);
    const decisionId = isKnown ? given : decision?.decisionId;
    const options = optionsOf(params, context, task.caller.sessionId);
    const {
      id,
      end,
      answer,
      tool: member,
      before,
    } = await merged.call(...([tools, args, task.caller, servers, options] as const));
    if (decisionId !== undefined) {
      for (const ended of [...before, { id, end, tool: member }]) {
        const isMember = ended.tool !== shownAs;
        reports.called(task, {
          ...{ id: ended.id, end: ended.end, tool: shownAs, decisionId },
          ...(isMember && { member: ended.tool }),
        });
      }
    }
    if (isInputRequiredResult(answer)) return answer;
    const inWords = params.name === 'call_tool' && !isKnown;
    const by: Record<string, string> = member === record.tool.name ? {} : { 'bandolier/tool': member };
    return credited(answer, decisionId, by, inWords ? { refused: given } : null);
  }

  /** Returns whether a decision of this catalog showed one of the tools. */
  async #showed(decisionId: string, catalog: string, tools: readonly string[]): Promise<boolean> {
    try {
      const head = await this.#parts.routing.findHead(decisionId);
      return head.catalog === catalog && tools.some((tool) => head.shown.includes(tool));
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      // One that cannot be read now may be right, and a call does not fail for it.
      return error.code !== 'decision-not-found';
    }
  }

  /** The next part of a result that was too long. */
  async #rest(catalog: string, handle: unknown): Promise<Answer> {
    const rest = this.#parts.servers.of(catalog).readRest(String(handle));
    if (rest !== null) return rest;
    throw new Problem(
      'validation-failed',
      'The rest of this result is not kept any more.',
      'Call the tool again.',
    );
  }

  async #report(
    { task, catalog }: Exchange,
    { tool: named, decisionId, context, ...said }: z.output<(typeof INPUTS)['report_outcome']>,
  ): Promise<Answer> {
    const { catalogs, rewards, reports } = this.#parts;
    const { state } = catalogs.get(catalog);
    const tool = state.tools.nameOf(named);
    const record = state.tools.get(tool);
    const shownAs = record === undefined ? tool : shownName(state, record);
    const { unitId, userId } = task.caller;
    const outcome = {
      outcome: said.outcome,
      ...(said.value !== undefined && { value: said.value }),
      ...(context !== undefined && { context }),
    };
    // Learned about the member that was called.
    const called = tool === shownAs ? reports.calledAs(task, tool, decisionId ?? null) : tool;
    const [result] = await rewards.report([
      decisionId === undefined
        ? { ...outcome, tool: called, task: task.id, catalog, unitId, userId }
        : { ...outcome, tool: called, decisionId },
    ]);
    if ('problem' in result) throw result.problem;
    const value = SILENT_OUTCOMES.has(said.outcome) ? null : completeOutcome(outcome).value;
    reports.reported(task, shownAs, decisionId ?? null, value);
    return structured({ ...result, decisionId: result.rewardId.slice(0, result.rewardId.lastIndexOf('.')) });
  }
}

/** @throws Problem validation-failed */
function checked<Name extends FrontToolName>(name: Name, args: unknown): z.output<(typeof INPUTS)[Name]> {
  const { data, error } = INPUTS[name].safeParse(args, { error: plainWords });
  if (error === undefined) return data as z.output<(typeof INPUTS)[Name]>;
  const violations = faultsOf(error.issues)
    .slice(0, 10)
    .map(({ path, message }) => ({ path: path.map(String).join('.') || '(arguments)', message }));
  throw new Problem(
    'validation-failed',
    `${violations.map((violation) => `${violation.path}: ${violation.message}`).join('; ')}.`,
    `Call ${name} again with arguments that its inputSchema allows.`,
    { violations },
  );
}

/** The same as data and as text, which models of clients read that do not know structured content. */
function structured(content: Record<string, unknown>): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(content) }], structuredContent: content };
}

/** What a catalog says about calls of a tool, beside its definition. */
function knownOfCalls(tool: ToolDefinition): Partial<ToolDefinition> {
  const { examples, preconditions, postconditions, failureModes, exemplars, negativeExamples } = tool;
  const known = { examples, preconditions, postconditions, failureModes, exemplars, negativeExamples };
  return Object.fromEntries(Object.entries(known).filter(([, some]) => some !== undefined));
}

/** What is to be done by a model, where it is not what a program does that speaks HTTP. */
const FIXES: Readonly<Partial<Record<ProblemCode, string>>> = {
  'tool-not-found': 'Ask find_tools for the tools that there are.',
  'decision-not-found': 'Send the decisionId of a find_tools answer unchanged, or leave it out.',
};

function failed({ code, message, suggestedFix }: Problem): CallToolResult {
  const text = `${message} ${FIXES[code] ?? suggestedFix}`;
  return { isError: true, content: [{ type: 'text', text }], _meta: { 'bandolier/code': code } };
}

/**
 * Says for which decision a call counts.
 * @param more for programs
 * @param words null: not in words, since the caller named it; `refused` is an id that it sent and that does not count
 */
function credited(
  result: CallToolResult,
  decisionId: string | undefined,
  more: Readonly<Record<string, string>>,
  words: { readonly refused: string | undefined } | null,
): CallToolResult {
  const _meta = { ...result._meta, 'bandolier/decisionId': decisionId ?? null, ...more };
  if (words === null || result.content === undefined) return { ...result, _meta };
  const { refused } = words;
  const why = refused === undefined ? '' : `no decision ${JSON.stringify(refused)} showed this tool; `;
  const what = decisionId === undefined ? 'no answer of find_tools' : `decision ${decisionId}`;
  const text = `(Bandolier: ${why}this call counts for ${what}.)`;
  return { ...result, content: [...result.content, { type: 'text', text }], _meta };
}
