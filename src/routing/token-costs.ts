import { SLATE_FORMATS, type SlateFormat } from '../decisions/decision.ts';
import { hasDelimiter } from '../instructions/assemble-prompt.ts';
import { servedText } from '../instructions/served-text.ts';
import { type DocumentLine, documentLines } from '../instructions/tool-document.ts';
import { DETAIL_LEVELS, type DetailLevel } from '../ledger/catalog-settings.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { inSlices, mapInSteps } from '../scheduling/slices.ts';
import type { InstructionTable } from '../state/instruction-table.ts';
import type { ToolTable } from '../state/tool-table.ts';
import type { TokenCounter } from '../tokens/token-counter.ts';
import { textForModel } from './slate-definition.ts';

/** Fewer are counted within a few milliseconds. */
const MANY_TOOLS = 200;

interface MonolithicState {
  readonly revision: string;
  readonly tools: ToolTable;
  readonly instructions: InstructionTable;
}

/**
 * What tools and instructions cost in the prompt of a language model, in tokens. Each definition is counted once per format and
 * level of detail, and as long as somebody holds it.
 */
export class TokenCosts {
  readonly counter: TokenCounter;
  readonly #tools = new WeakMap<ToolDefinition, (number | undefined)[]>();
  readonly #monoliths = new WeakMap<ToolTable, { revision: string; tokens: Map<SlateFormat, number> }>();
  /** The revision that was counted last, and the formats in which it was. */
  readonly #counted = new WeakMap<ToolTable, { revision: string; formats: Set<SlateFormat> }>();
  readonly #texts = new WeakMap<object, number>();
  readonly #delimiters = new WeakMap<object, boolean>();
  readonly #documents = new WeakMap<ToolDefinition, readonly DocumentLine[]>();

  constructor(counter: TokenCounter) {
    this.counter = counter;
  }

  /** Of a tool's definition as it is sent; of a tool without one, its name. */
  tool(tool: ToolDefinition, format: SlateFormat, detail: DetailLevel): number {
    let known = this.#tools.get(tool);
    if (known === undefined) {
      known = [];
      this.#tools.set(tool, known);
    }
    const at = SLATE_FORMATS.indexOf(format) * DETAIL_LEVELS.length + DETAIL_LEVELS.indexOf(detail);
    known[at] ??= this.counter.count(textForModel(format, detail, tool));
    return known[at];
  }

  /**
   * Of everything that the catalog has: all tools in full, and all approved instructions. It is added up once per revision, and
   * counted only for what is new in it. Where a slate has only names, its model has the definitions from elsewhere: those count, in the
   * shape of `mcp`.
   */
  monolithic(state: MonolithicState, format: SlateFormat): number {
    const revision = `${state.revision}/${state.instructions.revision}`;
    let known = this.#monoliths.get(state.tools);
    if (known?.revision !== revision) {
      known = { revision, tokens: new Map() };
      this.#monoliths.set(state.tools, known);
    }
    let tokens = known.tokens.get(format);
    if (tokens === undefined) {
      tokens = 0;
      for (const { tool } of state.tools.live()) tokens += this.tool(tool, definedFormat(format), 'full');
      for (const { instruction } of state.instructions.live()) {
        if (instruction.status === 'approved') tokens += this.instruction(instruction);
      }
      known.tokens.set(format, tokens);
    }
    return tokens;
  }

  /** Counts the tools of a large catalog a few milliseconds at a time, so that `monolithic` has only to add up. */
  async countAll({ revision, tools }: MonolithicState, format: SlateFormat): Promise<void> {
    const counted = this.#counted.get(tools);
    const isCounted = counted?.revision === revision && counted.formats.has(format);
    if (tools.size < MANY_TOOLS || isCounted) return;
    await inSlices(
      mapInSteps([...tools.live()], ({ tool }) => this.tool(tool, definedFormat(format), 'full')),
    );
    const known = this.#counted.get(tools);
    if (known?.revision === revision) known.formats.add(format);
    else this.#counted.set(tools, { revision, formats: new Set([format]) });
  }

  /** The lines of a tool's document, each with what it takes. */
  document(tool: ToolDefinition): readonly DocumentLine[] {
    let lines = this.#documents.get(tool);
    if (lines === undefined) {
      lines = documentLines(tool, this.counter);
      this.#documents.set(tool, lines);
    }
    return lines;
  }

  /** Of its text as it is served. */
  instruction(instruction: { readonly text: string }): number {
    let tokens = this.#texts.get(instruction);
    if (tokens === undefined) {
      tokens = this.counter.count(servedText(instruction.text));
      this.#texts.set(instruction, tokens);
    }
    return tokens;
  }

  /** Whether a tool, or an instruction, has in it what could be taken for a delimiter of a prompt. */
  hasDelimiter(one: object): boolean {
    let has = this.#delimiters.get(one);
    if (has === undefined) {
      has = hasDelimiter(JSON.stringify(one));
      this.#delimiters.set(one, has);
    }
    return has;
  }
}

/** The format in which a model gets whole definitions. */
function definedFormat(format: SlateFormat): SlateFormat {
  return format === 'names' ? 'mcp' : format;
}
