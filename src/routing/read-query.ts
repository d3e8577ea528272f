import { Problem } from '../problem.ts';
import { type ConversationQuery, conversationQuery, plainQuery } from '../queries/conversation.ts';
import { endsWithoutWords } from '../queries/messages.ts';
import type { RouteRequest } from './route-request.ts';

/** What is asked: the query itself, or what the conversation asks for now. */
export function readQuery({ query, messages }: RouteRequest): ConversationQuery {
  if (query !== undefined) return plainQuery(query);
  // A picture alone, say: there is nothing to search for, and the turn before it is no answer to it either.
  if (endsWithoutWords(messages ?? [])) return plainQuery('');
  const asked = conversationQuery(messages ?? []);
  if (asked !== null) return asked;
  throw new Problem(
    'validation-failed',
    'The conversation has no user message with text.',
    'Send messages in the OpenAI or Anthropic shape with at least one {role: "user"} turn, or send a query.',
    { violations: [{ path: 'messages', message: 'has no user text' }] },
  );
}
