import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { ChatSettings } from '../models/http/chat-endpoint.ts';
import { ChatFailedError } from '../models/http/chat-endpoint.ts';
import { askForJson } from '../models/http/chat-json.ts';
import { contentWords, wordsOf } from '../retrieval/tokenise.ts';
import { QUALITY, qualityIn, seen } from './chat-judge-prompts.ts';

type Described = Pick<
  ToolDefinition,
  'name' | 'description' | 'inputSchema' | 'annotations' | 'server' | 'outputSchema'
>;

/** How well a tool is described, by the rubric of ToolScope (appendix H.5): what it does, its parameters, what limits them. */
export interface DescriptionQuality {
  /** 1 (says nothing) … 5 (nothing is left open). 1 and 2 are low, 3 is medium, 4 and 5 are high. */
  readonly score: number;
  /** What is missing, one sentence each; empty where nothing is. */
  readonly reasons: readonly string[];
}

/** A description with so many words that say something tells more than what the tool is called. */
const TELLING = 4;
const THOROUGH = 12;
const RETURNS = /\b(?:returns?|results?|outputs?|responds?|answers?|yields?|lists?|including|produces?)\b/i;
const LIMITS =
  /\be\.g\.|\bfor example\b|\bsuch as\b|\bdefaults?\b|\boptional|\bformat|\bone of\b|\beither\b|\bmust\b|\bat (?:most|least)\b|\bbetween\b|\bmax|\bmin|\bin (?:seconds|minutes|hours|days|meters|kilometers|celsius|fahrenheit|percent|dollars|usd|degrees|years|bytes)\b|\byyyy|\biso\b|\d/i;
const BOUNDS = [
  'enum',
  'format',
  'default',
  'pattern',
  'minimum',
  'maximum',
  'examples',
  'const',
  'minLength',
  'maxLength',
  'maxItems',
];

/** Scores a description by rules: no network, the same every time. */
export function descriptionQuality(tool: Described): DescriptionQuality {
  const reasons: string[] = [];
  const parameters = parametersOf(tool);
  const points = behaviour(tool, reasons) + clarity(parameters, reasons) + limits(parameters, tool, reasons);
  return { score: 1 + Math.round(Math.max(0, Math.min(4, points))), reasons };
}

/** Asks a chat model by the same rubric; null: it gave no score. @throws only the reason of `signal` */
export async function chatDescriptionQuality(
  chat: ChatSettings,
  tool: Described,
  signal?: AbortSignal,
): Promise<DescriptionQuality | null> {
  try {
    const { value } = await askForJson(chat, { ...QUALITY, user: JSON.stringify(seen(tool)) }, { signal });
    return qualityIn(value);
  } catch (error) {
    if (error instanceof ChatFailedError) return null;
    throw error;
  }
}

/** 0…2: whether it is said what the tool does, and what comes of it. */
function behaviour({ name, description, outputSchema }: Described, reasons: string[]): number {
  if (description.trim() === '') {
    reasons.push('It has no description.');
    return -1;
  }
  const words = contentWords(description);
  const inName = new Set(wordsOf(name));
  const news = new Set(wordsOf(description).filter((word) => word.length > 2 && !inName.has(word))).size;
  if (words < TELLING || news < 2) {
    reasons.push('The description says little more than the name.');
    return 0;
  }
  if (words >= THOROUGH || RETURNS.test(description) || outputSchema !== undefined) return 2;
  reasons.push('It does not say what comes of a call.');
  return 1;
}

interface Parameter {
  readonly name: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly description: string;
}

/** 0…1: the share of the parameters that are described by more than their names. */
function clarity(parameters: readonly Parameter[], reasons: string[]): number {
  const bare = parameters.filter(({ name, description }) => {
    const known = new Set(wordsOf(name));
    return !wordsOf(description).some((word) => word.length > 3 && !known.has(word));
  });
  if (bare.length > 0) reasons.push(`What is meant is not said of: ${named(bare)}.`);
  return parameters.length === 0 ? 1 : 1 - bare.length / parameters.length;
}

/** 0…1: the share of the parameters whose values are limited by more than a type, half for a type alone. */
function limits(parameters: readonly Parameter[], { inputSchema }: Described, reasons: string[]): number {
  if (parameters.length === 0) return inputSchema.properties === undefined ? 0.5 : 1;
  const limited = ({ schema, description }: Parameter) =>
    schema.type === 'boolean' || BOUNDS.some((key) => schema[key] !== undefined) || LIMITS.test(description);
  const open = parameters.filter((one) => !limited(one));
  const untyped = open.filter(({ schema }) => schema.type === undefined);
  if (untyped.length > 0) reasons.push(`No type is given for: ${named(untyped)}.`);
  else if (2 * open.length > parameters.length)
    reasons.push(`Which values are allowed is not said of: ${named(open)}.`);
  const points = parameters.map((one) => (limited(one) ? 1 : one.schema.type === undefined ? 0 : 0.5));
  return points.reduce((sum: number, point) => sum + point, 0) / parameters.length;
}

const NAMED = 5;

function named(parameters: readonly Parameter[]): string {
  const names = parameters.slice(0, NAMED).map(({ name }) => `“${name}”`);
  return [...names, ...(parameters.length > NAMED ? [`${parameters.length - NAMED} more`] : [])].join(', ');
}

function parametersOf({ inputSchema: { properties } }: Described): Parameter[] {
  if (typeof properties !== 'object' || properties === null) return [];
  return Object.entries(properties).map(([name, value]) => {
    const schema = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
    return { name, schema, description: typeof schema.description === 'string' ? schema.description : '' };
  });
}
