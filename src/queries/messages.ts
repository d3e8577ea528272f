/** One message of a conversation, as far as it says anything about what is wanted. */
export interface Turn {
  readonly role: 'user' | 'assistant' | 'tool';
  readonly text: string;
  /** Names of the tools that the assistant called. */
  readonly calls: readonly string[];
}

/**
 * The turns of a conversation in the OpenAI or Anthropic shape, oldest first. Instructions (system, developer),
 * thinking, images and everything unknown are left out; so is a turn of which nothing remains.
 */
export function turnsOf(messages: readonly unknown[]): Turn[] {
  return messages.flatMap((message) => (isRecord(message) ? turnsOfMessage(message) : []));
}

function turnsOfMessage(message: Record<string, unknown>): Turn[] {
  const { role, content } = message;
  // Anthropic has results of tools in user messages.
  const results = partsOf(content)
    .filter(({ type }) => type === 'tool_result')
    .map((part): Turn => ({ role: 'tool', text: textOf(part.content), calls: [] }));
  const text = textOf(content);
  switch (role) {
    case 'user':
      return [...results, ...(text === '' ? [] : [{ role, text, calls: [] }])];
    case 'assistant': {
      const calls = callsOf(message);
      return text === '' && calls.length === 0 ? [] : [{ role, text, calls }];
    }
    case 'tool':
    case 'function':
      return [{ role: 'tool', text, calls: [] }];
    default:
      return [];
  }
}

/** Content is a string, or parts of which those with text count ({type: 'text' | 'input_text', …, text}). */
function textOf(content: unknown): string {
  if (typeof content === 'string') return content.trim();
  return partsOf(content)
    .map(({ text }) => (typeof text === 'string' ? text.trim() : ''))
    .filter((text) => text !== '')
    .join('\n');
}

function callsOf({ tool_calls, content }: Record<string, unknown>): string[] {
  const openai = partsOf(tool_calls).map((call) =>
    isRecord(call.function) ? call.function.name : undefined,
  );
  const anthropic = partsOf(content)
    .filter(({ type }) => type === 'tool_use')
    .map(({ name }) => name);
  return [...openai, ...anthropic].filter((name) => typeof name === 'string');
}

function partsOf(content: unknown): Record<string, unknown>[] {
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null;
}
