import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { packageRoot } from '../../config/package-root.ts';

/** Who speaks: `call` is the call of a tool (its name and arguments), `result` what it returned. */
export type WrittenTurn = readonly [role: 'user' | 'assistant' | 'call' | 'result', text: string];

/** A conversation with the sample catalog, and the tools that its next step needs. */
export interface WrittenConversation {
  readonly turns: readonly WrittenTurn[];
  readonly relevant: readonly string[];
}

/** 200 conversations that the rules in conversation.ts were written with, and 100 that nobody looked at meanwhile. */
export function writtenConversations(part: 'tuned-on' | 'kept-aside'): WrittenConversation[] {
  const file = join(packageRoot(), 'bench', 'queries', `conversations.${part}.jsonl`);
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as WrittenConversation);
}

export const SHAPES = ['openai', 'anthropic', 'responses'] as const;
export type Shape = (typeof SHAPES)[number];

/** Returns a conversation as the client of one provider sends it. */
export function messagesOf(turns: readonly WrittenTurn[], shape: Shape): object[] {
  return turns.map(([role, text]) => MESSAGES[shape][role](text));
}

const MESSAGES: Readonly<Record<Shape, Record<WrittenTurn[0], (text: string) => object>>> = {
  openai: {
    user: (content) => ({ role: 'user', content }),
    assistant: (content) => ({ role: 'assistant', content }),
    call: (text) => ({
      role: 'assistant',
      content: null,
      tool_calls: [{ id: 'call_1', type: 'function', function: called(text) }],
    }),
    result: (content) => ({ role: 'tool', tool_call_id: 'call_1', content }),
  },
  anthropic: {
    user: (text) => ({ role: 'user', content: [{ type: 'text', text }] }),
    assistant: (text) => ({ role: 'assistant', content: [{ type: 'text', text }] }),
    call: (text) => ({
      role: 'assistant',
      content: [
        {
          type: 'tool_use',
          id: 'call_1',
          name: called(text).name,
          input: JSON.parse(called(text).arguments),
        },
      ],
    }),
    result: (content) => ({
      role: 'user',
      content: [{ type: 'tool_result', tool_use_id: 'call_1', content }],
    }),
  },
  responses: {
    user: (text) => ({ type: 'message', role: 'user', content: [{ type: 'input_text', text }] }),
    assistant: (text) => ({ type: 'message', role: 'assistant', content: [{ type: 'output_text', text }] }),
    call: (text) => ({ type: 'function_call', call_id: 'call_1', ...called(text) }),
    result: (output) => ({ type: 'function_call_output', call_id: 'call_1', output }),
  },
};

/** `search_emails {"query":"…"}` → its name and arguments. */
function called(text: string): { name: string; arguments: string } {
  const at = text.indexOf(' ');
  return { name: text.slice(0, at), arguments: text.slice(at + 1) };
}
