import { tokenise, wordsOf } from '../retrieval/tokenise.ts';
import { hasRequest } from './requests.ts';

/** The query of a conversation. */
export interface ConversationQuery {
  /** The context that the last user turn needs, that turn, and the agent's thought, if there is one. */
  readonly text: string;
  /** The last user turn alone, which may be split. */
  readonly turn: string;
  /** The last thing that an agent said while it works on the turn: its next step. */
  readonly thought: string | null;
  /** The text that is searched for and remembered: the turn counts double against its context. */
  readonly searched: string;
}

/** Returns a query that is no conversation in the same shape. */
export function plainQuery(query: string): ConversationQuery {
  return { text: query, turn: query, thought: null, searched: query };
}

/** Number of earlier user turns that are read, as long as each of them refers to the one before. */
const MAX_TURNS_BACK = 3;
/** At most so many characters of context are used, so that the turn itself decides. */
const MAX_CONTEXT = 300;
const MAX_RESULT_WORDS = 24;

/**
 * Returns the query of a conversation in the OpenAI or Anthropic shape; null if it has no user turn. Deterministic.
 *
 * A turn that is understood alone is the query. One that is not (“and the other one?”, “yes”, “send it to her”, a bare value
 * that was asked for) is preceded by what it refers to: the turn before it, the question that it answers, or the result that
 * it mentions. While an agent works on the turn, its latest thought is added, because it names the next step.
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
  // Twice, so that it counts double: measured in bench/conversation.ts.
  const emphasis = context.length > 0 ? [turn] : [];
  return {
    text: [...context, turn, ...next].join('\n'),
    turn,
    thought,
    searched: [...context, turn, ...emphasis, ...next].join('\n'),
  };
}

/** Returns what a user turn needs from the turns before it, oldest first; nothing if it is understood alone. */
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

/** A turn with fewer words is no request by itself. */
const TERSE = 3;
/** A turn with so many terms needs no context even if it begins with “and” or contains “it”. */
const EXPLICIT = 8;
/** A turn that asks for nothing is taken for an answer to a question, unless it has so many terms. */
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

/** Returns the last sentences, in which an assistant asks a question or names the next step. */
function ending(text: string): string {
  const tail = text.slice(-MAX_CONTEXT);
  const sentence = /(?<=[.!?。！？\n]\s*)\S[^.!?。！？\n]*[.!?。！？]*\s*$/.exec(tail);
  return (sentence?.[0] ?? tail).trim();
}

function clip(text: string): string {
  return text.slice(0, MAX_CONTEXT);
}

/** Returns the first words of a result of any format. */
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
 * Returns the turns of a conversation in the OpenAI or Anthropic shape, oldest first. Instructions (system, developer), tool
 * calls, thinking, images and everything unknown are left out.
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

/** Returns whether the last message is a user's and has no text: only an image, or only blanks. */
export function endsWithoutWords(messages: readonly unknown[]): boolean {
  const last = messages.at(-1);
  return isRecord(last) && last.role === 'user' && turnsOfMessage(last).length === 0;
}

/** Returns the results of tools in a message. Anthropic puts them into user messages. */
function resultsIn(content: unknown): Turn[] {
  return partsOf(content)
    .filter(({ type }) => type === 'tool_result')
    .flatMap((part) => turn('tool', textOf(part.content)));
}

function turn(role: Turn['role'], text: string): Turn[] {
  return text === '' ? [] : [{ role, text }];
}

/** Returns the text of a message. Content is a string, or a list of parts of which those with text count ({type: 'text' | 'input_text', …, text}). */
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
