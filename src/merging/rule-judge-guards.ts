import type { ToolProfile } from './rule-judge-profile.ts';
import { ACCESS_TERMS, CONTRAST_LINES, EVERYWHERE_WORDS } from './rule-judge-words.ts';

/** A canonical word as the tool spells it, or else the other one. */
export function spelledBy(tool: ToolProfile, word: string, other: ToolProfile = tool): string {
  return tool.spelled.get(word) ?? other.spelled.get(word) ?? word;
}

export interface Apart {
  readonly reason: string;
  /** Some requests can be answered by both all the same. */
  readonly overlapping: boolean;
}

/** What keeps tools apart however alike their words are; null: nothing. */
export function guard(a: ToolProfile, b: ToolProfile): Apart | null {
  if (a.effect !== null && b.effect !== null && a.effect !== b.effect)
    return {
      reason: `one is to ${a.effect}, the other to ${b.effect}`,
      overlapping: false,
    };
  const [first, second] = contrastOf(a, b);
  if (first !== null)
    return {
      reason: `“${spelledBy(a, first, b)}” is not “${spelledBy(a, second, b)}”`,
      overlapping: EVERYWHERE_WORDS.has(first),
    };
  for (const of of ['environments', 'sites'] as const) {
    // A copy for tests beside one that is live, or one in the EU beside one in the US.
    if (equal(a[of], b[of]) || (of === 'sites' && (a.sites.size === 0 || b.sites.size === 0))) continue;
    const [one, other] = [a, b].map((tool) => [...tool[of]].map((word) => spelledBy(tool, word)).join(' '));
    const named = [one, other].filter((word) => word !== '').sort();
    return {
      reason:
        named.length === 1
          ? `one alone is for “${named[0]}”`
          : `one is for “${named[0]}”, the other for “${named[1]}”`,
      overlapping: true,
    };
  }
  for (const direction of a.directions) {
    const [, from, word, to] = /^(\S+) (\S+) (\S+)$/.exec(direction) ?? [];
    if (from !== to && b.directions.has(`${to} ${word} ${from}`) && !b.directions.has(direction))
      return {
        reason: `the direction is the opposite: “${[from, to]
          .map((one) => spelledBy(a, one, b))
          .sort()
          .join('” and “')}”`,
        overlapping: false,
      };
  }
  for (const [noun, number] of a.numbers) {
    const other = b.numbers.get(noun);
    if (other !== undefined && (number & other) === 0)
      return { reason: `one is for one “${noun}”, the other for several`, overlapping: true };
  }
  const one = a.lists === b.lists ? null : a.lists ? b : a;
  if (one !== null && [...one.numbers.values()].every((number) => number === 1))
    return { reason: 'one lists, the other is for one thing', overlapping: true };
  if (a.scope !== b.scope)
    return { reason: 'one is for what belongs to the caller, the other is not', overlapping: true };
  const annotations = differingHints(a, b);
  if (annotations !== null) return annotations;
  return productsApart(a, b);
}

/** The first two words of one line of contrasts that the tools have alone; [null, null]: there are none. */
function contrastOf(a: ToolProfile, b: ToolProfile): [string, string] | [null, null] {
  for (const word of a.contrasted) {
    if (b.contrasted.has(word)) continue;
    for (const line of CONTRAST_LINES.get(word) as readonly number[]) {
      for (const other of b.contrasted) {
        if (!a.contrasted.has(other) && CONTRAST_LINES.get(other)?.includes(line))
          return [word, other].sort() as [string, string];
      }
    }
  }
  return [null, null];
}

const HINTS = ['readOnlyHint', 'destructiveHint'] as const;

function differingHints({ tool: a }: ToolProfile, { tool: b }: ToolProfile): Apart | null {
  for (const hint of HINTS) {
    const [one, other] = [a.annotations?.[hint], b.annotations?.[hint]];
    if (
      one !== other &&
      (one === true || other === true) &&
      (hint === 'destructiveHint' || (one !== undefined && other !== undefined))
    )
      return { reason: `their ${hint} differs`, overlapping: false };
  }
  for (const term of ACCESS_TERMS) {
    const [one, other] = [a, b].map(({ metadata, _meta }) =>
      JSON.stringify([metadata?.[term], _meta?.[term]]),
    );
    if (one !== other) return { reason: `their “${term}” differs`, overlapping: true };
  }
  return null;
}

function productsApart(a: ToolProfile, b: ToolProfile): Apart | null {
  if (a.products.size === 0 || b.products.size === 0) return null;
  for (const product of a.products) if (b.products.has(product)) return null;
  const [one] = [...a.products].sort();
  const [other] = [...b.products].sort();
  return { reason: `${[one, other].sort().join(' and ')} keep accounts of their own`, overlapping: true };
}

export function equal(a: ReadonlySet<string>, b: ReadonlySet<string>): boolean {
  return a.size === b.size && [...b].every((word) => a.has(word));
}
