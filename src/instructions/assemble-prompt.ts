import type { TokenCounter } from '../tokens/token-counter.ts';
import { type DocumentLine, fitDocuments, LINE_BREAK_TOKENS } from './tool-document.ts';

export interface PromptParts {
  /** All approved safety instructions, in the order of a prompt. */
  readonly overlay: readonly PromptPart[];
  /** The chosen instructions, in the order of a prompt. */
  readonly instructions: readonly PromptPart[];
  /** Definitions as a model reads them, best first. */
  readonly tools: readonly PromptTool[];
}

export interface PromptPart {
  readonly text: string;
  /** Of the text alone. It is not counted again: parts are long, and the same in many prompts. */
  readonly tokens: number;
}

export interface PromptTool extends PromptPart {
  /** What else is known about it; those lines that fit stand below the definition. */
  readonly document: readonly DocumentLine[];
}

export interface AssembledPrompt {
  readonly text: string;
  /** Of its parts, one by one, the headings, and what is between them: the whole takes no more. */
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
  const sections: Section[] = [
    { heading: HEADINGS.overlay, parts: parts.overlay },
    { heading: HEADINGS.instructions, parts: parts.instructions },
    { heading: HEADINGS.tools, parts: parts.tools },
  ];
  const note = { heading: HEADINGS.note, parts: [{ text: NOTE, tokens: counter.count(NOTE) }] };
  const withNote = tokensOf([...sections, note], counter);
  const hasNote = withNote <= limit;
  const bare = hasNote ? withNote : tokensOf(sections, counter);
  const documents = fitDocuments(
    parts.tools.map(({ document }) => document),
    limit - bare,
  );
  const breaks = documents.filter(({ lines }) => lines.length > 0).length * LINE_BREAK_TOKENS;
  const served = documents.reduce((sum, { tokens }) => sum + tokens, 0);
  const tools = parts.tools.map(({ text }, at) => ({ text: [text, ...documents[at].lines].join('\n') }));
  const shown = [
    ...sections.slice(0, -1),
    { heading: HEADINGS.tools, parts: tools },
    ...(hasNote ? [note] : []),
  ];
  return { text: textOf(shown), tokens: bare + breaks + served, documents: served };
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

interface Section<Part = PromptPart> {
  readonly heading: string;
  readonly parts: readonly Part[];
}

function tokensOf(sections: readonly Section[], counter: TokenCounter): number {
  let tokens = 0;
  for (const { heading, parts } of sections) {
    if (parts.length === 0) continue;
    tokens += counter.count(heading) + SEPARATOR_TOKENS;
    for (const part of parts) tokens += part.tokens + SEPARATOR_TOKENS;
  }
  return Math.max(0, tokens - SEPARATOR_TOKENS);
}

function textOf(sections: readonly Section<{ readonly text: string }>[]): string {
  return sections
    .filter(({ parts }) => parts.length > 0)
    .flatMap(({ heading, parts }) => [heading, ...parts.map(({ text }) => text)])
    .join('\n\n');
}
