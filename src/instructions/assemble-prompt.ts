import type { TokenCounter } from '../tokens/token-counter.ts';
import { type DocumentLine, fitDocuments } from './tool-document.ts';

export interface PromptParts {
  /** Texts of all approved safety instructions, in the order of a prompt. */
  readonly overlay: readonly string[];
  /** Texts of the chosen instructions, in the order of a prompt. */
  readonly instructions: readonly string[];
  /** Best first. */
  readonly tools: readonly PromptTool[];
}

export interface PromptTool {
  /** Its definition as a model reads it. */
  readonly text: string;
  /** What else is known about it; those lines that fit stand below the definition. */
  readonly document: readonly DocumentLine[];
}

export interface AssembledPrompt {
  readonly text: string;
  /** Of all of it. */
  readonly tokens: number;
  /** Tokens of the documents in it. */
  readonly documents: number;
}

const NOTE =
  'These tools and instructions were chosen for this request. If none of the tools fits, say what is missing instead of guessing, and ask for more.';
const HEADINGS = { overlay: '# Always', instructions: '# Instructions', tools: '# Tools', note: '# Note' };
/** Between two texts: no tokenizer makes more of two line breaks. */
export const SEPARATOR_TOKENS = 2;

/**
 * Puts a system prompt together: the safety overlay first and whole, instructions, tools with their schemas, a note, and of the
 * documents of the tools the lines that fit. The same parts and budget always give the same text.
 *
 * @param budget tokens of the whole; null: no limit. If it is less than the parts and `promptFrame` need, note and documents are left
 *   out, and nothing else.
 */
export function assemblePrompt(
  parts: PromptParts,
  budget: number | null,
  counter: TokenCounter,
): AssembledPrompt {
  const limit = budget ?? Number.POSITIVE_INFINITY;
  const none = parts.tools.map(() => []);
  const withNote = textOf(parts, none, true);
  const note = counter.count(withNote) <= limit;
  const bare = note ? withNote : textOf(parts, none, false);
  const room = limit - counter.count(bare);
  const all = parts.tools.map(({ document }) => document);
  const documents = fitDocuments(all, room, counter).map(({ lines }) => [...lines]);
  for (;;) {
    const text = textOf(parts, documents, note);
    const tokens = counter.count(text);
    const last = documents.findLast((lines) => lines.length > 0);
    if (tokens <= limit || last === undefined) {
      const taken = documents.reduce((sum, lines) => sum + counter.count(lines.join('\n')), 0);
      return { text, tokens, documents: taken };
    }
    // A text may take more than its parts, though hardly ever.
    last.pop();
  }
}

/**
 * Returns how many tokens a prompt takes beside the texts of its parts, at most: headings and what is between the parts. A budget for
 * the parts is that much smaller than the budget of the prompt.
 *
 * @param parts how many texts of each there are at most
 */
export function promptFrame(
  parts: Readonly<Record<'overlay' | 'instructions' | 'tools', number>>,
  counter: TokenCounter,
): number {
  return (['overlay', 'instructions', 'tools'] as const)
    .filter((section) => parts[section] > 0)
    .reduce((sum, section) => {
      return sum + counter.count(HEADINGS[section]) + (1 + parts[section]) * SEPARATOR_TOKENS;
    }, 0);
}

function textOf(
  { overlay, instructions, tools }: PromptParts,
  documents: readonly (readonly string[])[],
  note: boolean,
): string {
  const shown = tools.map(({ text }, at) => [text, ...documents[at]].join('\n'));
  return [
    ...section(HEADINGS.overlay, overlay),
    ...section(HEADINGS.instructions, instructions),
    ...section(HEADINGS.tools, shown),
    ...(note ? section(HEADINGS.note, [NOTE]) : []),
  ].join('\n\n');
}

function section(heading: string, texts: readonly string[]): string[] {
  return texts.length === 0 ? [] : [heading, ...texts];
}
