import { Problem } from '../problem.ts';
import type { RouteRequest } from './route-request.ts';

/** The text to route: the query, or what the last user turn of the conversation says. */
export function readQuery(request: RouteRequest): string {
  if (request.query !== undefined) return request.query;
  const text = lastUserText(request.messages ?? []);
  if (text !== '') return text;
  throw new Problem(
    'validation-failed',
    'The conversation has no user message with text.',
    'Send messages in the OpenAI or Anthropic shape with at least one {role: "user"} turn, or send a query.',
    { violations: [{ path: 'messages', message: 'has no user text' }] },
  );
}

function lastUserText(messages: readonly unknown[]): string {
  for (const message of messages.toReversed()) {
    if (!isRecord(message) || message.role !== 'user') continue;
    const text = textOf(message.content).trim();
    if (text !== '') return text;
  }
  return '';
}

/** Content is a string, or parts of which the text ones count ({type: 'text' | 'input_text', text}). */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content;
  if (!Array.isArray(content)) return '';
  return content
    .map((part) => (isRecord(part) && typeof part.text === 'string' ? part.text : ''))
    .filter((text) => text !== '')
    .join('\n');
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
