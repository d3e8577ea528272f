/** What a user or an assistant said, the result of a tool, or what a model showed of its reasoning. */
export interface Turn {
  readonly role: 'user' | 'assistant' | 'tool' | 'reasoning';
  /** Never empty. */
  readonly text: string;
}

/**
 * Returns the turns of a conversation, oldest first: messages of OpenAI's Chat Completions, items of OpenAI's Responses
 * (`message`, `function_call_output`, `reasoning`) or messages of Anthropic, also mixed. Instructions (system, developer),
 * calls of tools, images and everything unknown are left out.
 */
export function turnsOf(messages: readonly unknown[]): Turn[] {
  return messages.filter(isRecord).flatMap(turnsOfMessage);
}

/** Returns whether the last message is a user's and has no text: only an image, or only blanks. */
export function endsWithoutWords(messages: readonly unknown[]): boolean {
  const last = messages.at(-1);
  return isRecord(last) && last.role === 'user' && turnsOfMessage(last).length === 0;
}

function turnsOfMessage(message: Record<string, unknown>): Turn[] {
  const { role, type, content } = message;
  switch (role) {
    case 'user':
      return [...resultsIn(content), ...turn('user', textOf(content))];
    case 'assistant':
      return [...turn('reasoning', thinkingIn(content)), ...turn('assistant', textOf(content))];
    case 'tool':
    case 'function':
      return turn('tool', textOf(content));
    case undefined:
      if (type === 'reasoning') return turn('reasoning', textOf(message.summary));
      // Also of custom and hosted tools: `custom_tool_call_output`, `mcp_call`, …
      return turn('tool', textOf(message.output));
    default:
      return [];
  }
}

/** Returns the results of tools in a message. Anthropic puts them into user messages. */
function resultsIn(content: unknown): Turn[] {
  return partsOf(content)
    .filter(({ type }) => type === 'tool_result')
    .flatMap((part) => turn('tool', textOf(part.content)));
}

/** Returns what Anthropic's models thought aloud: `{type: 'thinking', thinking}`. */
function thinkingIn(content: unknown): string {
  return partsOf(content)
    .map(({ type, thinking }) => (type === 'thinking' && typeof thinking === 'string' ? thinking.trim() : ''))
    .filter((text) => text !== '')
    .join('\n');
}

function turn(role: Turn['role'], text: string): Turn[] {
  return text === '' ? [] : [{ role, text }];
}

/**
 * Returns the text of a message. Content is a string, or a list of parts of which those with text count
 * ({type: 'text' | 'input_text' | 'output_text' | 'summary_text', …, text}).
 */
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
