/** What somebody said in a conversation, or a tool answered. */
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
