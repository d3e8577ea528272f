import type { CaseOutcome, QueryFeatures } from '../../../bandit/policy.ts';
import { sparseDot } from '../../../bandit/sparse-vector.ts';

interface NaiveCase {
  readonly query: QueryFeatures;
  lastSeen: number;
  readonly units: number[];
  entries: { slot: number; p: number; n: number }[];
}

export interface NaiveRecall {
  readonly tools: Map<number, { p: number; n: number; mx: number; vote: number }>;
  readonly cases: { place: number; s: number }[];
}

/** Outcome memory written down as plainly as learning.md says it: objects, sorts and no index. */
export class NaiveMemory {
  readonly cases: (NaiveCase | null)[] = [];
  private readonly limit: number;

  constructor(limit: number) {
    this.limit = limit;
  }

  recall(query: QueryFeatures): NaiveRecall {
    const cases = this.nearest(query).slice(0, 30);
    const tools = new Map<number, { p: number; n: number; mx: number; vote: number }>();
    const ref = Math.max(cases[0]?.s ?? 0, 0.7);
    for (const { place, s } of cases) {
      const w = Math.exp((s - ref) / 0.1);
      for (const { slot, p, n } of this.cases[place]!.entries) {
        const sums = tools.get(slot) ?? { p: 0, n: 0, mx: 0, vote: 0 };
        sums.p += w * p;
        sums.n += w * (p + n);
        if (p > n / 4) sums.mx = Math.max(sums.mx, s);
        tools.set(slot, sums);
      }
    }
    for (const sums of tools.values()) sums.vote = sums.p / (sums.n + 1);
    return { tools, cases };
  }

  remember(query: QueryFeatures, outcomes: readonly CaseOutcome[], at: number, unit: number): number {
    if (outcomes.length === 0 || (query.terms.terms.length === 0 && isZero(query.embedding))) return -1;
    const place = this.placeFor(query);
    const found = this.cases[place]!;
    found.lastSeen = Math.max(found.lastSeen, at);
    if (found.units.length === 0 || (unit !== 0 && !found.units.includes(unit))) {
      if (found.units.length === 32) found.units.splice(1, 1);
      found.units.push(unit);
    }
    for (const { slot, reward } of outcomes) {
      const entry = this.entry(found, slot);
      if (Math.fround(entry.p) + Math.fround(entry.n) + 1 > 5) {
        const factor = 4 / (entry.p + entry.n);
        entry.p *= factor;
        entry.n *= factor;
      }
      entry.p = Math.fround(entry.p + reward);
      entry.n = Math.fround(entry.n + 1 - reward);
    }
    return place;
  }

  amend(place: number, slot: number, positives: number, negatives: number): void {
    const found = this.cases[place];
    if (!found) return;
    if (!found.entries.some((entry) => entry.slot === slot) && positives <= 0 && negatives <= 0) return;
    const entry = this.entry(found, slot);
    const p = Math.max(0, entry.p + positives);
    const n = Math.max(0, entry.n + negatives);
    const factor = p + n > 5 ? 5 / (p + n) : 1;
    entry.p = Math.fround(p * factor);
    entry.n = Math.fround(n * factor);
  }

  forgetTool(slot: number): void {
    for (const found of this.cases) if (found) found.entries = found.entries.filter((e) => e.slot !== slot);
  }

  forgetUnit(unit: number): number {
    let count = 0;
    for (const [place, found] of this.cases.entries()) {
      if (unit === 0 || !found?.units.includes(unit)) continue;
      this.cases[place] = null;
      count++;
    }
    return count;
  }

  private nearest(query: QueryFeatures): { place: number; s: number }[] {
    return this.cases
      .map((found, place) => ({ place, s: found ? similarity(query, found.query) : 0 }))
      .filter(({ s }) => s > 0)
      .sort((a, b) => b.s - a.s || a.place - b.place);
  }

  private placeFor(query: QueryFeatures): number {
    const [best] = this.nearest(query);
    const live = this.cases.filter((found) => found !== null);
    const full = live.length >= this.limit;
    if (best && (full || best.s >= 0.8)) return best.place;
    if (full) {
      const quietest = live.reduce((a, b) => (b.lastSeen < a.lastSeen ? b : a));
      this.cases[this.cases.indexOf(quietest)] = null;
    }
    const gap = this.cases.indexOf(null);
    const place = gap < 0 ? this.cases.length : gap;
    this.cases[place] = { query, lastSeen: 0, units: [], entries: [] };
    return place;
  }

  private entry(found: NaiveCase, slot: number): { slot: number; p: number; n: number } {
    const known = found.entries.find((entry) => entry.slot === slot);
    if (known) return known;
    const fresh = { slot, p: 0, n: 0 };
    if (found.entries.length < 64) {
      found.entries.push(fresh);
    } else {
      const least = found.entries.reduce((a, b) => (b.p < a.p || (b.p === a.p && b.n < a.n) ? b : a));
      found.entries[found.entries.indexOf(least)] = fresh;
    }
    return fresh;
  }
}

function similarity(a: QueryFeatures, b: QueryFeatures): number {
  const lexical = sparseDot(a.terms, b.terms);
  if (isZero(a.embedding) || isZero(b.embedding)) return lexical;
  let dense = 0;
  for (let i = 0; i < a.embedding!.length; i++) {
    dense = Math.fround(dense + Math.fround(a.embedding![i] * b.embedding![i]));
  }
  return 0.5 * dense + 0.5 * lexical;
}

function isZero(vector: Float32Array | null): boolean {
  return vector === null || vector.every((value) => value === 0);
}
