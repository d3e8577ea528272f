import type { ToolTable } from '../state/tool-table.ts';

/** Slots of the tools whose calls succeed most often, (successes + 1)/(called + 2); of equals the lower slot. */
export function mostReliable(tools: ToolTable, count: number, exclude: ReadonlySet<number>): number[] {
  return [...tools.live()]
    .filter(({ slot }) => !exclude.has(slot))
    .map(({ slot, statistics }) => ({ slot, rate: (statistics.successes + 1) / (statistics.called + 2) }))
    .sort((a, b) => b.rate - a.rate || a.slot - b.slot)
    .slice(0, count)
    .map(({ slot }) => slot);
}
