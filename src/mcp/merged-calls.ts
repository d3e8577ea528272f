import { isInputRequiredResult } from '@modelcontextprotocol/server';
import type { CallOptions, SchemaProblem } from '../gateway/call.ts';
import { SchemaChecks } from '../gateway/check-schema.ts';
import { callTool, type EndedCall, endedCall } from './call-tool.ts';
import { type Arguments, type CallableTool, mappedArguments, untakenArguments } from './callable-tools.ts';
import type { Caller } from './callers.ts';
import type { ToolServers } from './tool-servers.ts';

/** How a call of a tool went: the call that ended it, and those of other members before, which did nothing. */
export interface CarriedOut extends EndedCall {
  /** The member that answered; of a tool that is not merged itself. */
  readonly tool: string;
  readonly before: readonly (Pick<EndedCall, 'id' | 'end'> & { readonly tool: string })[];
}

/** A success rate of the best less this is as good. */
const AS_GOOD = 0.1;
/** Weight of the newest latency in the running mean. */
const NEWEST = 0.3;
const MOST_KNOWN = 10_000;
/** Servers of one conversation that are remembered. */
const MOST_SERVERS = 8;
/** Goes before the `requestState` of a member: the answer to its question is for the same member. */
const STATE = 'bandolier/member ';

/**
 * Carries out calls of merged tools at one of their members. In a conversation that is the one whose server served it last, so that
 * what was made there is found there; else the one with the best outcomes, and of those that are as good the quickest. Servers that are
 * down come last. If nothing was done, because the server is away or the member cannot take these arguments, the next one is called; also
 * after a failure of the server where the tool only reads.
 */
export class MergedCalls {
  readonly #now: () => number;
  readonly #checks = new SchemaChecks();
  /** Running mean of successful calls, ms, by catalog and tool; the oldest first. */
  readonly #latencies = new Map<string, number>();
  /** Names of servers that served a conversation, the last one first; conversations that called least recently first. */
  readonly #served = new Map<string, readonly string[]>();

  /** @param now a steady clock, ms */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Returns how the call went at the member that ended it; no error of a server is thrown.
   * @param tools of `callableTools`, at least one
   * @param args by the names of the merged tool
   */
  async call(
    tools: readonly CallableTool[],
    args: Arguments,
    caller: Caller,
    servers: Pick<ToolServers, 'of'>,
    options: CallOptions,
  ): Promise<CarriedOut> {
    const [only] = tools;
    if (only.mapping === null)
      return { ...(await this.#callAt(only, args, caller, servers, options)), before: [] };
    const { asked, state } = memberOf(options.requestState);
    const going = tools.filter(({ record }) => record.tool.name === asked);
    // Its member may have been taken off the merge since: then its answer is nobody's, and it is called anew.
    const { requestState: _, inputResponses: __, ...fresh } = options;
    const how = going.length === 0 ? fresh : { ...fresh, ...answering(options, state) };
    const before: { id: string; end: EndedCall['end']; tool: string }[] = [];
    const refused: SchemaProblem[] = [];
    let last: CarriedOut | null = null;
    for (const tool of going.length > 0 ? going : this.#inOrder(tools, caller, servers)) {
      const own = this.#argumentsOf(tool, args);
      if ('problems' in own) {
        refused.push(...own.problems);
        continue;
      }
      if (last !== null) before.push({ id: last.id, end: last.end, tool: last.tool });
      const ended = await this.#callAt(tool, own.args, caller, servers, how);
      last = { ...asking(ended), before };
      if (!goesOn(tool, ended)) break;
    }
    if (last !== null) return last;
    return {
      ...endedCall({ kind: 'invalid-arguments', problems: refused.slice(0, MOST_PROBLEMS) }),
      ...{ tool: tools[0].record.tool.name, before },
    };
  }

  async #callAt(
    { record, target }: CallableTool,
    args: Arguments,
    caller: Caller,
    servers: Pick<ToolServers, 'of'>,
    options: CallOptions,
  ): Promise<EndedCall & { readonly tool: string }> {
    const { name } = record.tool;
    const began = this.#now();
    const ended = await callTool(servers.of(caller.catalog), target, args, options);
    const key = conversationOf(caller);
    const others = (this.#served.get(key) ?? []).filter((server) => server !== target.source);
    if (ended.end === 'ok') {
      const took = this.#now() - began;
      const tool = `${caller.catalog} ${name}`;
      const mean = this.#latencies.get(tool) ?? took;
      remember(this.#latencies, tool, mean + NEWEST * (took - mean));
      remember(this.#served, key, [target.source, ...others].slice(0, MOST_SERVERS));
    } else if (HAS_FAILED.has(ended.end)) remember(this.#served, key, others);
    return { ...ended, tool: name };
  }

  #argumentsOf(
    { record, mapping }: CallableTool,
    args: Arguments,
  ): { readonly args: Arguments } | { readonly problems: readonly SchemaProblem[] } {
    const own = mappedArguments(mapping!, args);
    if (own === null) {
      const message = `"${record.tool.name}" does not take it, and no other member takes all of these arguments`;
      return { problems: untakenArguments(mapping!, args).map((name) => ({ path: `/${name}`, message })) };
    }
    const problems = this.#checks.check(record.tool.inputSchema, own);
    return problems.length > 0 ? { problems } : { args: own };
  }

  #inOrder(tools: readonly CallableTool[], caller: Caller, servers: Pick<ToolServers, 'of'>): CallableTool[] {
    const { down } = servers.of(caller.catalog);
    const served = this.#served.get(conversationOf(caller)) ?? [];
    const rates = tools.map(
      ({ record: { statistics } }) => (statistics.successes + 1) / (statistics.called + 2),
    );
    const best = Math.max(...rates);
    const placed = tools.map((tool, at) => {
      const { source } = tool.target;
      const place = served.indexOf(source);
      const isGood = rates[at] >= best - AS_GOOD;
      return {
        tool,
        keys: [
          down.has(source) ? 1 : 0,
          place < 0 ? MOST_SERVERS : place,
          isGood ? 0 : 1 - rates[at],
          // One that was never called is tried: nothing is known against it.
          this.#latencies.get(`${caller.catalog} ${tool.record.tool.name}`) ?? 0,
        ],
      };
    });
    placed.sort((a, b) => {
      const at = a.keys.findIndex((key, index) => key !== b.keys[index]);
      return at < 0 ? 0 : a.keys[at] - b.keys[at];
    });
    return placed.map(({ tool }) => tool);
  }
}

const MOST_PROBLEMS = 10;
/** Ends after which another server is better for the conversation. */
const HAS_FAILED: ReadonlySet<EndedCall['end']> = new Set(['unavailable', 'timeout', 'protocol-error']);

/** Returns whether another member may be called after this one: nothing was done, or what was done changes nothing. */
function goesOn({ record }: CallableTool, { end }: EndedCall): boolean {
  if (end === 'unavailable' || end === 'invalid-arguments') return true;
  const { readOnlyHint } = record.tool.annotations ?? {};
  return readOnlyHint === true && HAS_FAILED.has(end);
}

/** A question of a member: who answers it says for which member that is. */
function asking<Ended extends EndedCall & { readonly tool: string }>(ended: Ended): Ended {
  const { answer, tool } = ended;
  if (!isInputRequiredResult(answer)) return ended;
  return {
    ...ended,
    answer: { ...answer, requestState: `${STATE}${encodeURIComponent(tool)} ${answer.requestState ?? ''}` },
  };
}

function memberOf(requestState: string | undefined): {
  readonly asked: string | null;
  readonly state: string;
} {
  if (requestState?.startsWith(STATE) !== true) return { asked: null, state: '' };
  const [name, ...state] = requestState.slice(STATE.length).split(' ');
  return { asked: decoded(name), state: state.join(' ') };
}

/** It comes from the client, who may send anything. */
function decoded(name: string): string | null {
  try {
    return decodeURIComponent(name);
  } catch {
    return null;
  }
}

function answering({ inputResponses }: CallOptions, state: string): CallOptions {
  return {
    ...(inputResponses !== undefined && { inputResponses }),
    ...(state !== '' && { requestState: state }),
  };
}

function conversationOf({ catalog, sessionId, unitId = '', userId = '' }: Caller): string {
  return JSON.stringify([catalog, sessionId, unitId, userId]);
}

/** Stores a value, and forgets the one that was stored first where there are too many. */
function remember<Value>(known: Map<string, Value>, key: string, value: Value): void {
  known.delete(key);
  known.set(key, value);
  if (known.size > MOST_KNOWN) known.delete(known.keys().next().value!);
}
