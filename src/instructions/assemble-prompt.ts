import type { ToolExemplar } from '../ledger/tool-definition.ts';
import type { TokenCounter } from '../tokens/token-counter.ts';

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
  /** Calls that were right, and queries that it is right for; those that matter most first. */
  readonly examples: readonly (string | ToolExemplar)[];
}

export interface AssembledPrompt {
  readonly text: string;
  readonly tokens: number;
}

/** Examples of a tool at most. */
const MOST_EXAMPLES = 2;
const NOTE =
  'These tools and instructions were chosen for this request. If none of the tools fits, say what is missing instead of guessing, and ask for more.';
const HEADINGS = { overlay: '# Always', instructions: '# Instructions', tools: '# Tools', note: '# Note' };
/** Between two texts: no tokenizer makes more of two line breaks. */
const SEPARATOR_TOKENS = 2;

/**
 * Puts a system prompt together: the safety overlay first and whole, instructions, tools with their schemas, a note, and one or two
 * examples of each tool as long as they fit. The same parts and budget always give the same text.
 *
 * @param budget tokens of the whole; null: no limit. If it is less than the parts and `promptFrame` need, note and examples are left
 *   out, and nothing else.
 */
export function assemblePrompt(
  parts: PromptParts,
  budget: number | null,
  counter: TokenCounter,
): AssembledPrompt {
  const limit = budget ?? Number.POSITIVE_INFINITY;
  const examples = parts.tools.map(() => 0);
  const assembled = (note: boolean): AssembledPrompt => {
    const text = textOf(parts, examples, note);
    return { text, tokens: counter.count(text) };
  };
  const bare = assembled(false);
  let best = bare;
  const withNote = assembled(true);
  const note = withNote.tokens <= limit;
  if (note) best = withNote;
  // Two rounds, so that every tool has its first example before one has its second.
  for (let round = 1; round <= MOST_EXAMPLES; round++) {
    for (const [at, tool] of parts.tools.entries()) {
      if (tool.examples.length < round || examples[at] < round - 1) continue;
      examples[at] = round;
      const longer = assembled(note);
      if (longer.tokens <= limit) best = longer;
      else examples[at] = round - 1;
    }
  }
  return best;
}

/**
 * Returns how many tokens a prompt takes beside the texts of its parts, at most: headings and what is between the parts. A budget for
 * the parts is that much smaller than the budget of the prompt.
 *
 * @param parts how many texts there are at most
 */
export function promptFrame(parts: number, counter: TokenCounter): number {
  const headings = [HEADINGS.overlay, HEADINGS.instructions, HEADINGS.tools];
  const tokens = headings.reduce((sum, heading) => sum + counter.count(heading) + SEPARATOR_TOKENS, 0);
  return tokens + parts * SEPARATOR_TOKENS;
}

function textOf(
  { overlay, instructions, tools }: PromptParts,
  examples: readonly number[],
  note: boolean,
): string {
  const shown = tools.map(({ text, examples: all }, at) => {
    return [text, ...all.slice(0, examples[at]).map((example) => `Example: ${JSON.stringify(example)}`)].join(
      '\n',
    );
  });
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
