import { tokenise, wordsOf } from '../retrieval/tokenise.ts';
import { hasRequest } from './requests.ts';

/** What a conversation asks for now. */
export interface ConversationQuery {
  /** The last user turn, after what it needs from before and in front of the thought, if there is one. */
  readonly text: string;
  /** The last user turn alone: what may be split. */
  readonly turn: string;
  /** What an agent that is at work on the turn said last: its next step. */
  readonly thought: string | null;
  /** The text as it is searched for and remembered: the turn counts double beside what it brings from before. */
  readonly searched: string;
}

/** A query that is no conversation. */
export function plainQuery(query: string): ConversationQuery {
  return { text: query, turn: query, thought: null, searched: query };
}

/** Earlier user turns that are gone back to, as long as each of them refers further back. */
const MAX_TURNS_BACK = 3;
/** Of what is taken from before, so many characters count: it must not drown the turn itself. */
const MAX_CONTEXT = 300;
const MAX_RESULT_WORDS = 24;

/**
 * The query of a conversation in the OpenAI or Anthropic shape; null if no user said anything. Deterministic.
 *
 * A turn that stands alone is the query. One that does not (“and the other one?”, “yes”, “send it to her”, a bare
 * value that was asked for) brings what it refers to: the turn before it, the question that it answers, or the
 * result it speaks of. While an agent is at work on the turn, its latest thought says what comes next.
 */
export function conversationQuery(messages: readonly unknown[]): ConversationQuery | null {
  const turns = turnsOf(messages);
  const last = turns.findLastIndex(({ role }) => role === 'user');
  if (last < 0) return null;
  const turn = turns[last].text;
  const context = contextOf(turns, last, MAX_TURNS_BACK);
  const said = turns.slice(last + 1).findLast(({ role }) => role === 'assistant');
  const thought = said === undefined ? null : ending(said.text);
  const next = thought === null ? [] : [thought];
  // Twice: bench/conversation.ts.
  const emphasis = context.length > 0 ? [turn] : [];
  return {
    text: [...context, turn, ...next].join('\n'),
    turn,
    thought,
    searched: [...context, turn, ...emphasis, ...next].join('\n'),
  };
}

/** What a user turn needs from before it, oldest first; nothing if it stands alone. */
function contextOf(turns: readonly Turn[], at: number, back: number): string[] {
  const { text } = turns[at];
  if (back === 0 || standsAlone(text)) return [];
  const earlier = turns.slice(0, at).findLastIndex(({ role }) => role === 'user');
  const between = turns.slice(earlier + 1, at);
  const asked = between.findLast(({ role }) => role === 'assistant');
  const result = between.findLast(({ role }) => role === 'tool');
  const before = earlier < 0 ? [] : [...contextOf(turns, earlier, back - 1), clip(turns[earlier].text)];
  if (asked !== undefined) return [...before, ending(asked.text)];
  return result === undefined ? before : [...before, gist(result.text)];
}

/** Fewer words than these are no request of their own. */
const TERSE = 3;
/** From this many terms on, a turn says enough even if it begins with “and” or speaks of “it”. */
const EXPLICIT = 8;
/** A turn that asks for nothing answers a question, unless it has as many terms as this: then it says something new. */
const TELLING = 12;
/** A pronoun after this many terms refers to one of them. */
const REFERENT = 3;
const CONTINUES =
  /^\s*(?:and|also|but|or|then|so|yes|yep|yeah|yup|no|nope|ok|okay|sure|right|exactly|correct|please do|go ahead|do (?:it|that|so)|(?:what|how) about|same|again|instead|more|another)(?![a-z0-9])/i;
const REFERS =
  /(?<![a-z0-9'’])(?:it|its|they|them|their|he|him|his|she|her|hers|this|that|these|those|there|one|ones|same|again|instead|else|former|latter|previous|previously|earlier|above|first|second|last)(?![a-z0-9'’])/i;

function standsAlone(text: string): boolean {
  if (wordsOf(text.slice(0, MAX_CONTEXT)).length < TERSE) return false;
  const terms = tokenise(text).length;
  if (terms < TELLING && !hasRequest(text.toLowerCase())) return false;
  if (terms >= EXPLICIT) return true;
  const reference = REFERS.exec(text);
  const refersBack = reference !== null && tokenise(text.slice(0, reference.index)).length < REFERENT;
  return !refersBack && !CONTINUES.test(text);
}

/** The last sentences: there an assistant asks, or says what comes next. */
function ending(text: string): string {
  const tail = text.slice(-MAX_CONTEXT);
  const sentence = /(?<=[.!?。！？\n]\s*)\S[^.!?。！？\n]*[.!?。！？]*\s*$/.exec(tail);
  return (sentence?.[0] ?? tail).trim();
}

function clip(text: string): string {
  return text.slice(0, MAX_CONTEXT);
}

/** The first words of a result, whatever its format. */
function gist(result: string): string {
  return wordsOf(result.slice(0, 1_000))
    .filter((word) => !/\d/.test(word))
    .slice(0, MAX_RESULT_WORDS)
    .join(' ');
}

/** A message of a user or an assistant, or the result of a tool. */
export interface Turn {
  readonly role: 'user' | 'assistant' | 'tool';
  /** Never empty. */
  readonly text: string;
}

/**
 * The turns of a conversation in the OpenAI or Anthropic shape, oldest first. Instructions (system, developer),
 * calls of tools, thinking, images and everything unknown are left out.
 */
export function turnsOf(messages: readonly unknown[]): Turn[] {
  return messages.filter(isRecord).flatMap(turnsOfMessage);
}

function turnsOfMessage({ role, content }: Record<string, unknown>): Turn[] {
  switch (role) {
    case 'user':
      return [...resultsIn(content), ...turn('user', textOf(content))];
    case 'assistant':
      return turn('assistant', textOf(content));
    case 'tool':
    case 'function':
      return turn('tool', textOf(content));
    default:
      return [];
  }
}

/** Whether the last message is a user's without any text: an image alone, or a blank. */
export function endsWithoutWords(messages: readonly unknown[]): boolean {
  const last = messages.at(-1);
  return isRecord(last) && last.role === 'user' && turnsOfMessage(last).length === 0;
}

/** Anthropic has the results of tools in user messages. */
function resultsIn(content: unknown): Turn[] {
  return partsOf(content)
    .filter(({ type }) => type === 'tool_result')
    .flatMap((part) => turn('tool', textOf(part.content)));
}

function turn(role: Turn['role'], text: string): Turn[] {
  return text === '' ? [] : [{ role, text }];
}

/** Content is a string, or parts of which those with text count ({type: 'text' | 'input_text', …, text}). */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content.trim();
  return partsOf(content)
    .map(({ text }) => (typeof text === 'string' ? text.trim() : ''))
    .filter((text) => text !== '')
    .join('\n');
}

function partsOf(content: unknown): Record<string, unknown>[] {
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
