import type { Outcome } from '../ledger/entry.ts';
import type { TranscriptEvent } from './turns.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Reads a line of a session file; null: it is none of this program. */
export type ReadLine = (line: Fields) => readonly TranscriptEvent[] | null;

/** What clients put into a user's turn themselves. */
const INJECTED =
  /^\s*(?:<(?:command-|local-command|bash-|task-notification|environment_context|user_instructions|turn_aborted|system-reminder|user-prompt-submit-hook)|# AGENTS\.md instructions|Caveat: |\[Request interrupted|This session is being continued)/;
const REMINDERS = /<system-reminder>[\s\S]*?<\/system-reminder>/g;

/**
 * A session file of Claude Code (`~/.claude/projects/…/<session>.jsonl`): messages of Anthropic's Messages API, one a line, with `uuid`,
 * `sessionId` and `isSidechain`. Results of tools stand in user messages.
 */
export const readClaudeLine: ReadLine = (line) => {
  const { type, message } = line;
  if ((type !== 'user' && type !== 'assistant') || !isFields(message)) {
    return typeof line.sessionId === 'string' && typeof type === 'string' ? [] : null;
  }
  if (line.isMeta === true || line.isCompactSummary === true) return [];
  const thread = line.isSidechain === true ? `side/${String(line.agentId ?? '')}` : 'main';
  const parts = partsOf(message.content);
  const text = textOf(parts);
  if (type === 'assistant') {
    const said: TranscriptEvent[] = text === '' ? [] : [{ kind: 'assistant', thread, text }];
    const calls = parts.filter(({ type: kind }) => kind === 'tool_use');
    return [...said, ...calls.flatMap(({ id, name, input }) => callOf(thread, id, name, input))];
  }
  const results = parts.filter(({ type: kind }) => kind === 'tool_result');
  if (results.length > 0) {
    return results.map(({ tool_use_id: id, is_error: isError, content }) => {
      const outcome = isError === true ? failureOf(textOf(partsOf(content))) : 'success';
      return { kind: 'result', id: String(id), outcome, sure: true };
    });
  }
  const asked = text.replace(REMINDERS, '').trim();
  if (asked === '' || INJECTED.test(asked)) return [];
  return [{ kind: 'user', thread, text: asked, ...(typeof line.uuid === 'string' && { id: line.uuid }) }];
};

const CODEX_LINES = new Set(['session_meta', 'response_item', 'event_msg', 'turn_context', 'compacted']);
const CODEX_ITEMS = new Set(['message', 'function_call', 'function_call_output', 'reasoning']);

/**
 * A session file of Codex (`~/.codex/sessions/…/rollout-….jsonl`): items of OpenAI's Responses and events in envelopes; in old files
 * the items alone. What an MCP server answered is in the event `mcp_tool_call_end`.
 */
export const readCodexLine: ReadLine = (line) => {
  const isEnveloped = CODEX_LINES.has(String(line.type)) && isFields(line.payload);
  if (!isEnveloped && !CODEX_ITEMS.has(String(line.type))) return null;
  const item = isEnveloped ? (line.payload as Fields) : line;
  if (line.type === 'session_meta') return [{ kind: 'session', id: String(item.id) }];
  const thread = 'main';
  switch (item.type) {
    case 'message': {
      const text = textOf(partsOf(item.content)).trim();
      if (text === '' || INJECTED.test(text)) return [];
      if (item.role === 'assistant') return [{ kind: 'assistant', thread, text }];
      return item.role === 'user' ? [{ kind: 'user', thread, text }] : [];
    }
    case 'function_call':
    case 'custom_tool_call': {
      const { namespace, name, call_id: id } = item;
      const called = typeof namespace === 'string' ? `${namespace}__${String(name)}` : name;
      return callOf(thread, id, called, parsed(item.arguments));
    }
    case 'function_call_output':
    case 'custom_tool_call_output':
      return [{ kind: 'result', id: String(item.call_id), outcome: codexOutcome(item), sure: false }];
    case 'mcp_tool_call_end': {
      const result = isFields(item.result) ? item.result : {};
      const { Ok: answer, Err: error } = result;
      const isError = isFields(answer) && (answer.isError === true || answer.is_error === true);
      const said = isError ? textOf(partsOf((answer as Fields).content)) : String(error ?? '');
      const outcome = isError || error !== undefined ? failureOf(said) : 'success';
      return [{ kind: 'result', id: String(item.call_id), outcome, sure: true }];
    }
    default:
      return [];
  }
};

function codexOutcome({ output, success, status }: Fields): Outcome {
  const wrapped = parsed(output);
  const { content, metadata, success: inner } = isFields(wrapped) ? wrapped : {};
  const text = typeof output === 'string' ? output : String(content ?? '');
  const code =
    isFields(metadata) && typeof metadata.exit_code === 'number'
      ? metadata.exit_code
      : Number(/^(?:.*\n){0,4}Process exited with code (\d{1,3})/.exec(text.slice(0, 2000))?.[1] ?? 0);
  const failed = success === false || inner === false || status === 'failed' || code !== 0;
  return failed ? failureOf(text) : 'success';
}

/** Returns the call; of the router's `call_tool` the one that it passes on, of Claude Code's `Skill` the skill. */
function callOf(thread: string, id: unknown, name: unknown, input: unknown): TranscriptEvent[] {
  if (typeof id !== 'string' || typeof name !== 'string' || name === '') return [];
  const { name: called, command, skill = command } = isFields(input) ? input : {};
  const passedOn = /(?:^|__)call_tool$/.test(name)
    ? called
    : name === 'Skill' && typeof skill === 'string'
      ? skill.replace(/^\//, '')
      : undefined;
  return [{ kind: 'call', thread, id, tool: typeof passedOn === 'string' ? passedOn : name }];
}

/** Returns what an error says about the tool: that somebody refused it, or that it took too long, says nothing. */
function failureOf(text: string): Outcome {
  const beginning = text.slice(0, 1000);
  if (
    /doesn't want to proceed|user (?:rejected|denied|declined|refused|cancell?ed)|rejected by user|permission to use|haven't granted/i.test(
      beginning,
    )
  )
    return 'refused';
  return /\btimed? ?out\b/i.test(beginning) ? 'timeout' : 'failure';
}

function partsOf(content: unknown): readonly Fields[] {
  if (typeof content === 'string') return [{ type: 'text', text: content }];
  return Array.isArray(content) ? content.filter(isFields) : [];
}

function textOf(parts: readonly Fields[]): string {
  return parts
    .map(({ text }) => (typeof text === 'string' ? text : ''))
    .filter((text) => text !== '')
    .join('\n');
}

function parsed(text: unknown): unknown {
  if (typeof text !== 'string' || !/^\s*\{/.test(text)) return text;
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

export function isFields(value: unknown): value is Fields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
