import { SLATE_FORMATS, type SlateFormat } from '../decisions/decision.ts';
import { DETAIL_LEVELS, type DetailLevel } from '../ledger/catalog-settings.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { TokenCounter } from '../tokens/token-counter.ts';
import { textForModel } from './slate-definition.ts';

/**
 * What tools and instructions cost in the prompt of a language model, in tokens. Each definition is counted once per format and
 * level of detail, and as long as somebody holds it.
 */
export class TokenCosts {
  readonly counter: TokenCounter;
  readonly #tools = new WeakMap<ToolDefinition, (number | undefined)[]>();
  readonly #texts = new WeakMap<object, number>();

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

  instruction(instruction: { readonly text: string }): number {
    let tokens = this.#texts.get(instruction);
    if (tokens === undefined) {
      tokens = this.counter.count(instruction.text);
      this.#texts.set(instruction, tokens);
    }
    return tokens;
  }
}
