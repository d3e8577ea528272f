import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { Steps } from '../scheduling/slices.ts';
import { hidesCharacters } from './invisible-characters.ts';

/** A tool that a person should look at, and why. */
export interface SuspiciousTool {
  readonly name: string;
  readonly why: string;
}

/** What a description does not say and an instruction to a model does; none of them can repeat without end. */
const ORDERS: readonly (readonly [pattern: RegExp, why: string])[] = [
  [
    /\b(?:ignore|disregard|forget|override)\b.{0,40}\b(?:previous|prior|above|earlier|other|all|any|system)\b.{0,30}\b(?:instructions?|prompts?|rules?|tools?|messages?)\b/is,
    'tells the model to ignore something',
  ],
  [
    /\b(?:do not|don['’]t|never|without)\b.{0,30}\b(?:tell(?:ing)?|inform(?:ing)?|mention(?:ing)?|reveal(?:ing)?|show(?:ing)?|notify(?:ing)?|ask(?:ing)?)\b.{0,20}\bthe user\b/is,
    'tells the model to keep something from the user',
  ],
  [
    /\b(?:before|prior to|instead of|whenever)\b.{0,30}\b(?:using|calling|call|use)\b.{0,20}\b(?:any|all|every|another|other)\b.{0,20}\btools?\b/is,
    'says when tools other than itself are called',
  ],
  [
    /\b(?:you must|you should|always)\b.{0,30}\b(?:read|send|include|pass|attach|upload|copy)\b.{0,60}(?:~\/|\.ssh|\.env\b|id_rsa|\bpasswords?\b|\bcredentials?\b|\bapi keys?\b|\bconversation\b|\bsystem prompt\b)/is,
    'asks for secrets or for the conversation',
  ],
  [/<\/?(?:system|important|instructions?|assistant|secret)\b[^>]{0,40}>/i, 'has tags of a prompt in it'],
];
const HIDDEN = 'has characters in it that nobody sees';

/** Returns the tools whose text looks like instructions to a model. Their text is data: nothing else follows from it. */
export function* toolsThatGiveOrders(tools: Iterable<ToolDefinition>): Steps<SuspiciousTool[]> {
  const found: SuspiciousTool[] = [];
  for (const { name, title, description, text: ofSkill, inputSchema } of tools) {
    yield;
    const texts = [title ?? '', description, ofSkill ?? '', JSON.stringify(inputSchema)];
    const order = ORDERS.find(([pattern]) => texts.some((text) => pattern.test(text)));
    const why = order?.[1] ?? (texts.some(hidesCharacters) ? HIDDEN : null);
    if (why !== null) found.push({ name, why });
  }
  return found;
}

/** Returns tools that a model may take for each other: their names are the same but for case, signs and the server before them. */
export function toolsThatShadow(
  tools: Iterable<{ readonly tool: ToolDefinition; readonly nameThere?: string }>,
): string[][] {
  const alike = new Map<string, string[]>();
  for (const { tool, nameThere } of tools) {
    const { name, server } = tool;
    const own =
      nameThere ??
      (server !== undefined && name.startsWith(`${server}.`) ? name.slice(server.length + 1) : name);
    const bare = own.toLowerCase().replace(/[^\p{L}\p{N}]+/gu, '');
    alike.set(bare, [...(alike.get(bare) ?? []), name]);
  }
  return [...alike.values()].filter(({ length }) => length > 1);
}
