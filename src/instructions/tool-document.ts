import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { TokenCounter } from '../tokens/token-counter.ts';

/** A line of what is known about a tool beside its definition. */
export interface DocumentLine {
  readonly text: string;
  /** With its line break. */
  readonly tokens: number;
}

/** The lines of a tool's document that are served. */
export interface ServedDocument {
  readonly lines: readonly string[];
  /** Of its lines, one by one, and the breaks between them. */
  readonly tokens: number;
}

type Documented = Pick<
  ToolDefinition,
  'preconditions' | 'failureModes' | 'postconditions' | 'exemplars' | 'examples' | 'negativeExamples'
>;

/** Before a line: no tokenizer makes more of a line break. */
export const LINE_BREAK_TOKENS = 1;

/** Calls that were right, and where there are fewer, queries that the tool is right for. */
const MOST_EXAMPLES = 2;

/**
 * Returns the document of a tool as a model reads it, one statement a line: what has to be so before a call, how calls fail, what is
 * so after one, one or two examples, and one query that the tool is not right for.
 */
export function documentLines(tool: Documented, counter: TokenCounter): readonly DocumentLine[] {
  const examples = [...(tool.exemplars ?? []), ...(tool.examples ?? [])].slice(0, MOST_EXAMPLES);
  const texts = [
    ...(tool.preconditions ?? []).map((text) => `Before: ${inOneLine(text)}`),
    ...(tool.failureModes ?? []).map((text) => `Failure: ${inOneLine(text)}`),
    ...(tool.postconditions ?? []).map((text) => `After: ${inOneLine(text)}`),
    ...examples.map((example) => `Example: ${JSON.stringify(example)}`),
    ...(tool.negativeExamples ?? []).slice(0, 1).map((query) => `Not for: ${JSON.stringify(query)}`),
  ];
  return texts.map((text) => ({ text, tokens: counter.count(text) + LINE_BREAK_TOKENS }));
}

/**
 * Fills a room with documents, tool by tool and line by line: a line that does not fit is left out, and the next one is tried.
 *
 * @param documents best tool first
 * @param room in tokens
 */
export function fitDocuments(
  documents: readonly (readonly DocumentLine[])[],
  room: number,
): readonly ServedDocument[] {
  let left = room;
  return documents.map((document) => {
    const lines: string[] = [];
    let taken = 0;
    for (const { text, tokens } of document) {
      if (taken + tokens > left) continue;
      lines.push(text);
      taken += tokens;
    }
    left -= taken;
    return { lines, tokens: Math.max(0, taken - LINE_BREAK_TOKENS) };
  });
}

function inOneLine(text: string): string {
  return text.trim().replace(/\s+/g, ' ');
}
