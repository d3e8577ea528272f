import { Problem } from '../problem.ts';
import { type ConversationQuery, conversationQuery, plainQuery } from '../queries/conversation.ts';
import type { RouteRequest } from './route-request.ts';

/** What is asked: the query itself, or what the conversation asks for now. */
export function readQuery({ query, messages }: RouteRequest): ConversationQuery {
  if (query !== undefined) return plainQuery(query);
  const asked = conversationQuery(messages ?? []);
  if (asked !== null) return asked;
  throw new Problem(
    'validation-failed',
    'The conversation has no user message with text.',
    'Send messages in the OpenAI or Anthropic shape with at least one {role: "user"} turn, or send a query.',
    { violations: [{ path: 'messages', message: 'has no user text' }] },
  );
}
