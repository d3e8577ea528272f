import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import type { CallOptions, CallOutcome, CallTarget } from '../../src/gateway/call.ts';
import { Gateway } from '../../src/gateway/gateway.ts';
import type { MemberMapping } from '../../src/ledger/merge-definition.ts';
import type { ToolDefinition } from '../../src/ledger/tool-definition.ts';
import { callableTools, mappedArguments } from '../../src/mcp/callable-tools.ts';
import type { Caller } from '../../src/mcp/callers.ts';
import { MergedCalls } from '../../src/mcp/merged-calls.ts';
import type { ToolServers } from '../../src/mcp/tool-servers.ts';
import { openMcpConnection } from '../../src/outgoing/mcp/open-mcp-connection.ts';
import { until } from '../e2e/running-service.ts';
import { putTools, Story, tool } from '../state/entries.ts';
import { approve, proposalOf, propose } from '../state/merge-entries.ts';

const CALLER: Caller = { catalog: 'default', sessionId: 'one' };
const string = { type: 'string' };

interface Member {
  readonly name: string;
  readonly properties?: object;
  readonly required?: readonly string[];
  readonly mapping?: MemberMapping;
  readonly annotations?: Readonly<Record<string, unknown>>;
}

/** A catalog in which these tools, each of a server of its own, are merged under the first name; and a stand-in for the servers. */
function mergedTools(members: readonly Member[]) {
  const story = Story.withTools(0);
  for (const { name, properties = {}, required = [], annotations } of members) {
    const inputSchema = { type: 'object', properties, required, additionalProperties: false };
    const put = tool(name, { inputSchema, ...(annotations && { annotations }) });
    story.tell(putTools([put]));
  }
  const names = members.map(({ name }) => name);
  const proposal = proposalOf(story.state, names);
  const mappings = Object.fromEntries(
    members.map(({ name, mapping = { arguments: {}, absent: [] } }) => [name, mapping]),
  );
  story.tell(propose({ ...proposal, mappings }));
  expect(story.tell(approve(story.state, proposal.id))).toMatchObject({ kind: 'merges' });
  return { story, representative: proposal.representative, proposal };
}

class Servers implements ToolServers {
  readonly log: { readonly source: string; readonly args: unknown; readonly options: CallOptions }[] = [];
  readonly down = new Set<string>();
  outcome: (source: string) => CallOutcome = () => OK;
  now = 0;

  targetOf(_: string, name: string): CallTarget {
    return { source: `server of ${name}`, nameThere: name };
  }

  of(): Gateway {
    const { down } = this;
    return {
      down,
      call: async ({ source }: CallTarget, args: unknown, options: CallOptions) => {
        this.log.push({ source, args, options });
        if (down.has(source)) return { kind: 'unavailable', message: 'it is down', retryAfterMs: null };
        return this.outcome(source);
      },
    } as unknown as Gateway;
  }
}

const OK: CallOutcome = { kind: 'ok', result: { content: [{ type: 'text', text: 'done' }] } };

function calling(members: readonly Member[]) {
  const { story, representative } = mergedTools(members);
  const servers = new Servers();
  const calls = new MergedCalls(() => servers.now);
  const call = (args: Record<string, unknown> = {}, caller = CALLER, options: CallOptions = {}) => {
    const record = story.state.tools.get(representative)!;
    const tools = callableTools({ name: 'default', state: story.state }, record, servers);
    return calls.call(tools, args, caller, servers, options);
  };
  return { story, servers, call };
}

const other = (sessionId: string): Caller => ({ ...CALLER, sessionId });

describe('arguments of a merged tool', () => {
  it('reach a member under its own names, all of them, once', () => {
    const names = fc.uniqueArray(
      fc.string({ minLength: 1 }).map((name) => `u${name}`),
      { maxLength: 6 },
    );
    fc.assert(
      fc.property(names, fc.nat(6), (united, renamed) => {
        const own = Object.fromEntries(united.slice(0, renamed).map((name) => [name, `own ${name}`]));
        const args = Object.fromEntries(united.map((name, at) => [name, at]));
        const mapped = mappedArguments({ arguments: own, absent: [], fixed: { format: 'ics' } }, args);
        const expected = united.map((name, at) => [own[name] ?? name, at]);
        expect(mapped).toEqual({ ...Object.fromEntries(expected), format: 'ics' });
      }),
    );
  });

  it('do not reach a member that has no parameter for one of them', () => {
    const mapping = { arguments: {}, absent: ['colour'] };
    expect(mappedArguments(mapping, { title: 'x', colour: 'red' })).toBeNull();
    expect(mappedArguments(mapping, { title: 'x', colour: undefined })).not.toBeNull();
  });

  it('are only those that were given, whatever the parameters are called', () => {
    const mapping = { arguments: {}, absent: ['constructor', 'toString'] };
    expect(mappedArguments(mapping, { title: 'x' })).toEqual({ title: 'x' });
    expect(mappedArguments(mapping, { constructor: 'x' })).toBeNull();
  });

  it('do not replace each other: two for one parameter are refused by name, in any order', async () => {
    const mapping = { arguments: { query: 'q' }, absent: [], fixed: { format: 'ics' } };
    for (const args of [
      { query: 'real', q: 'stray' },
      { q: 'stray', query: 'real' },
      { query: 'real', format: 'pdf' },
    ]) {
      expect(mappedArguments(mapping, args)).toBeNull();
    }
    expect(mappedArguments(mapping, { q: 'alone' })).toEqual({ q: 'alone', format: 'ics' });
    const swapped = { arguments: { a: 'b', b: 'a' }, absent: [] };
    expect(mappedArguments(swapped, { a: 1, b: 2 })).toEqual({ b: 1, a: 2 });
    const { servers, call } = calling([
      { name: 'a', properties: { q: string }, mapping: { arguments: { query: 'q' }, absent: [] } },
      { name: 'b', properties: { query: string } },
    ]);
    const refused = await call({ query: 'real', q: 'stray' });
    expect(refused.end).toBe('invalid-arguments');
    expect(JSON.stringify(refused.answer)).toContain('/q');
    expect(servers.log).toEqual([]);
  });

  it('that only one member takes choose it, and those that none takes are refused in words', async () => {
    const { servers, call } = calling([
      { name: 'a', properties: { x: string }, mapping: { arguments: {}, absent: ['y'] } },
      { name: 'b', properties: { y: string }, mapping: { arguments: {}, absent: ['x'] } },
    ]);
    expect(await call({ y: '1' })).toMatchObject({ tool: 'b', end: 'ok' });
    const refused = await call({ x: '1', y: '2' });
    expect(refused).toMatchObject({ end: 'invalid-arguments', tool: 'a', before: [] });
    expect(JSON.stringify(refused.answer)).toMatch(/no other member takes all of these arguments/);
    expect(servers.log).toHaveLength(1);
  });

  it('are checked against the schema of the member, so that one that requires more is passed over', async () => {
    const { call } = calling([
      { name: 'a', properties: { x: string, zone: string }, required: ['x', 'zone'] },
      { name: 'b', properties: { x: string }, required: ['x'] },
    ]);
    expect(await call({ x: '1' })).toMatchObject({ tool: 'b', end: 'ok' });
    expect(await call({ x: '1', zone: 'UTC' }, other('two'))).toMatchObject({ tool: 'a' });
  });
});

describe('a merged tool is called', () => {
  const ALIKE = [{ name: 'a' }, { name: 'b' }, { name: 'c' }];

  it('at a member whose server is up, and the answer is what that one said', async () => {
    const { servers, call } = calling(ALIKE);
    servers.down.add('server of a');
    const { answer, tool: called, before } = await call();
    expect([called, before]).toEqual(['b', []]);
    expect(answer).toBe((OK as { result: unknown }).result);
  });

  it('at the next member where a server turns out to be away, and each attempt is told', async () => {
    const { servers, call } = calling(ALIKE);
    const away: CallOutcome = { kind: 'unavailable', message: 'it crashed', retryAfterMs: null };
    servers.outcome = (source) => (source === 'server of c' ? OK : away);
    const ended = await call();
    expect(ended).toMatchObject({ tool: 'c', end: 'ok' });
    expect(ended.before.map(({ tool: name, end }) => [name, end])).toEqual([
      ['a', 'unavailable'],
      ['b', 'unavailable'],
    ]);
    servers.outcome = () => away;
    expect(await call({}, other('two'))).toMatchObject({ end: 'unavailable' });
  });

  it.each(['timeout', 'protocol-error'] as const)(
    'once after %s, since it may have acted; unless it only reads',
    async (kind) => {
      const fails = { kind, message: 'broken', code: null } as CallOutcome;
      const writes = calling(ALIKE);
      writes.servers.outcome = () => fails;
      expect(await writes.call()).toMatchObject({ end: kind, before: [] });
      const reads = calling(ALIKE.map((one) => ({ ...one, annotations: { readOnlyHint: true } })));
      reads.servers.outcome = (source) => (source === 'server of a' ? fails : OK);
      expect(await reads.call()).toMatchObject({ tool: 'b', end: 'ok' });
    },
  );

  it('at the next member where a server says that it cannot take the arguments', async () => {
    const { servers, call } = calling(ALIKE);
    const problems = [{ path: '/x', message: 'is unknown' }];
    servers.outcome = (source) => (source === 'server of a' ? { kind: 'invalid-arguments', problems } : OK);
    const ended = await call();
    expect(ended).toMatchObject({ tool: 'b', end: 'ok', before: [{ tool: 'a', end: 'invalid-arguments' }] });
  });

  it('as if for the first time in the conversation that called least recently of more than ten thousand', async () => {
    const { servers, call } = calling([{ name: 'a' }, { name: 'b' }]);
    servers.down.add('server of a');
    for (const session of ['first', 'second'])
      expect(await call({}, other(session))).toMatchObject({ tool: 'b' });
    servers.down.clear();
    for (let i = 0; i < 9_999; i++) await call({}, other(`${i}`));
    expect(await call({}, other('second'))).toMatchObject({ tool: 'b' });
    expect(await call({}, other('first'))).toMatchObject({ tool: 'a' });
  });

  it('at the server that served the conversation last, until that fails', async () => {
    const { servers, call } = calling(ALIKE);
    servers.down.add('server of a');
    expect(await call()).toMatchObject({ tool: 'b' });
    servers.down.clear();
    expect(await call()).toMatchObject({ tool: 'b' });
    expect(await call({}, other('two'))).not.toMatchObject({ tool: 'b' });
    servers.outcome = () => ({ kind: 'timeout', message: 'slow' });
    expect(await call()).toMatchObject({ tool: 'b', end: 'timeout' });
    servers.outcome = () => OK;
    expect(await call()).not.toMatchObject({ tool: 'b' });
  });

  it('at the member with the best outcomes, and of those that are as good at the quickest', async () => {
    const { story, servers, call } = calling(ALIKE);
    const latency: Record<string, number> = { 'server of a': 30, 'server of b': 10, 'server of c': 20 };
    servers.outcome = (source) => {
      servers.now += latency[source];
      return OK;
    };
    // Each is tried, since nothing is known against it.
    const tried = [];
    for (const name of ['one', 'two', 'three']) tried.push((await call({}, other(name))).tool);
    expect(tried.sort()).toEqual(['a', 'b', 'c']);
    expect(await call({}, other('four'))).toMatchObject({ tool: 'b' });
    const count = (name: string, successes: number): void => {
      Object.assign(story.state.tools.get(name)!.statistics, { called: 50, successes });
    };
    count('a', 20);
    count('b', 20);
    count('c', 48);
    expect(await call({}, other('five'))).toMatchObject({ tool: 'c' });
    count('a', 47);
    count('b', 46);
    expect(await call({}, other('six'))).toMatchObject({ tool: 'b' });
  });

  it('at the same member with the answer to its question, under a state that only names members', async () => {
    const { servers, call } = calling(ALIKE);
    servers.outcome = () => ({
      ...{ kind: 'input-required', requestState: 'step 1' },
      inputRequests: { sure: { method: 'elicitation/create', params: {} } },
    });
    servers.down.add('server of a');
    const asked = await call();
    expect(asked).toMatchObject({ tool: 'b', end: 'input-required' });
    const { requestState } = asked.answer as { requestState: string };
    servers.down.clear();
    servers.outcome = () => OK;
    const inputResponses = { sure: { action: 'accept' } };
    expect(await call({}, CALLER, { requestState, inputResponses })).toMatchObject({ tool: 'b', end: 'ok' });
    expect(servers.log.at(-1)!.options).toEqual({ requestState: 'step 1', inputResponses });
    // Of no member: it is a new call, without an answer to a question that nobody asked.
    for (const strange of [
      'step 1',
      'bandolier/member %E0 x',
      'bandolier/member zzz x',
      'bandolier/member ',
    ]) {
      const ended = await call({}, other(strange), { requestState: strange, inputResponses });
      expect(ended.end).toBe('ok');
      expect(servers.log.at(-1)!.options).toEqual({});
    }
  });

  it('as it was put once the merge is undone, and a member by its own name always', async () => {
    const { story, proposal } = mergedTools(ALIKE);
    const servers = new Servers();
    const catalog = { name: 'default', state: story.state };
    const namesOf = (name: string) =>
      callableTools(catalog, story.state.tools.get(name)!, servers).map(({ record }) => record.tool.name);
    expect([namesOf('a'), namesOf('b')]).toEqual([['a', 'b', 'c'], ['b']]);
    story.tell({ kind: 'merges', key: 'u', at: 0, change: { action: 'undo', id: proposal.id } });
    expect([namesOf('a'), namesOf('b')]).toEqual([['a'], ['b']]);
  });
});

describe('three calendars that offer the same', () => {
  const open: Gateway[] = [];
  afterEach(async () => {
    await Promise.all(open.splice(0).map((gateway) => gateway.close()));
  });

  const WORDS = { create_event: 'make_event', list_events: 'show_events', title: 'name', start: 'begins' };

  /** Processes, one of which has words of its own; their tools as they are listed, merged two by two. */
  async function calendars() {
    const file = new URL('../set-up/mcp-servers/calendar-server.mjs', import.meta.url).pathname;
    const gateway = new Gateway({
      open: (_, address, more) => openMcpConnection(address, { allowPrivate: true, version: '1', ...more }),
      log: () => {},
      describeRest: () => '',
    });
    open.push(gateway);
    const story = Story.withTools(0);
    for (const [name, words] of [['north'], ['south'], ['west', WORDS]] as const) {
      const args = [file, JSON.stringify({ name, words })];
      gateway.put(name, { address: () => ({ command: process.execPath, args }) });
      await gateway.call({ source: name, nameThere: words?.list_events ?? 'list_events' }, {});
      const { items } = await gateway.running(name)!.listTools({ signal: AbortSignal.timeout(10_000) });
      const named = items.map((one) => ({
        ...(one as object as ToolDefinition),
        name: `${name}.${one.name}`,
      }));
      story.tell(putTools(named));
    }
    const merge = (names: readonly string[], mapping: MemberMapping): void => {
      const proposal = proposalOf(story.state, names);
      const mappings = { ...proposal.mappings, [names[2]]: mapping };
      story.tell(propose({ ...proposal, mappings }));
      expect(story.tell(approve(story.state, proposal.id))).toMatchObject({ kind: 'merges' });
    };
    const same = { arguments: { title: 'name', start: 'begins' }, absent: [] };
    merge(['north.create_event', 'south.create_event', 'west.make_event'], same);
    merge(['north.list_events', 'south.list_events', 'west.show_events'], { arguments: {}, absent: [] });
    const servers = {
      of: () => gateway,
      targetOf: (_: string, name: string) => {
        const [source, nameThere] = name.split('.');
        return { source, nameThere };
      },
    };
    const calls = new MergedCalls();
    const call = async (name: string, args: Record<string, unknown>, caller: Caller) => {
      const record = story.state.tools.get(name)!;
      const tools = callableTools({ name: 'default', state: story.state }, record, servers);
      const ended = await calls.call(tools, args, caller, servers, {});
      const { content, _meta } = ended.answer as { content: { text: string }[]; _meta?: object };
      return { by: ended.tool, said: content[0].text, _meta };
    };
    return { gateway, call };
  }

  it('are one calendar to each conversation: what was made at one is listed there', async () => {
    const { call } = await calendars();
    const said: string[] = [];
    for (const name of ['one', 'two', 'three']) {
      const made = await call('north.create_event', { title: name, start: '09:00' }, other(name));
      const [calendar] = made.by.split('.');
      // Word for word what the server said, whatever its parameters are called there.
      expect(made).toMatchObject({ said: `${calendar}: ${name} at 09:00`, _meta: { calendar } });
      const listed = await call('north.list_events', {}, other(name));
      expect(listed.said).toBe(`${calendar}: ${name} at 09:00`);
      said.push(calendar);
    }
    expect(said.sort()).toEqual(['north', 'south', 'west']);
  });

  it('are asked in turn when they die, and those that come back are asked again', async () => {
    const { gateway, call } = await calendars();
    const first = await call('north.list_events', {}, other('one'));
    const [dead] = first.by.split('.');
    await gateway.call({ source: dead, nameThere: 'crash' }, {});
    expect(gateway.down).toEqual(new Set([dead]));
    const next = await call('north.list_events', {}, other('one'));
    expect(next.by).not.toBe(first.by);
    await until(() => gateway.down.size === 0);
    const all = new Set<string>();
    for (const name of ['a', 'b', 'c'])
      all.add((await call('north.create_event', { title: 't', start: 's' }, other(name))).by);
    expect(all.size).toBe(3);
  });
});
