import type { CaseOutcome, QueryFeatures } from '../../../bandit/policy.ts';
import { sparseDot } from '../../../bandit/sparse-vector.ts';

export interface NaiveCase {
  readonly query: QueryFeatures;
  lastSeen: number;
  readonly units: number[];
  decisions: number;
  /** The case that was most like it when either of them was made. */
  link: NaiveCase | null;
  linkSimilarity: number;
  mergedInto: NaiveCase | null;
  entries: NaiveEntry[];
}

/** P and N of a tool, and the part of both that `unit`, which reported last, has put there in a row. */
interface NaiveEntry {
  slot: number;
  p: number;
  n: number;
  unit: number;
  own: { p: number; n: number };
}

export interface NaiveRecall {
  readonly tools: Map<number, { p: number; n: number; mx: number; vote: number }>;
  readonly cases: { place: number; s: number }[];
}

/** Outcome memory written down as plainly as learning.md says it: objects, sorts and no index. */
export class NaiveMemory {
  readonly cases: (NaiveCase | null)[] = [];
  merges = 0;
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
        if (p > n / 4 && p >= 0.5) sums.mx = Math.max(sums.mx, s);
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
    found.decisions++;
    addUnit(found, unit);
    for (const { slot, reward } of outcomes) {
      const entry = this.entry(found, slot);
      turnTo(entry, unit);
      limitOwn(entry, 2 - 1);
      if (entry.p + entry.n + 1 > 5) scale(entry, 4 / (entry.p + entry.n));
      put(entry, reward, 1 - reward);
    }
    return place;
  }

  amend(written: NaiveCase, slot: number, positives: number, negatives: number, unit: number): void {
    let found = written;
    while (found.mergedInto !== null) found = found.mergedInto;
    if (!this.cases.includes(found)) return;
    if (!found.entries.some((entry) => entry.slot === slot) && positives <= 0 && negatives <= 0) return;
    const entry = this.entry(found, slot);
    turnTo(entry, unit);
    put(entry, positives, negatives);
    limitOwn(entry, 2);
    limitAll(entry);
  }

  forgetTool(slot: number): void {
    for (const found of this.cases) if (found) found.entries = found.entries.filter((e) => e.slot !== slot);
  }

  forgetUnit(unit: number): number {
    let count = 0;
    for (const found of this.cases) {
      if (unit === 0 || !found?.units.includes(unit)) continue;
      this.drop(found);
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
    if (best && best.s >= 0.9) return best.place;
    let nearest = best ? this.cases[best.place] : null;
    const live = this.cases.filter((found) => found !== null);
    if (live.length >= this.limit) {
      const loss = (found: NaiveCase) => found.decisions * (1 - found.linkSimilarity);
      const [cheapest] = live.filter(({ link }) => link).sort((a, b) => loss(a) - loss(b));
      if (cheapest && loss(cheapest) < 1 - (best?.s ?? 0)) {
        if (nearest === cheapest) nearest = cheapest.link;
        this.merge(cheapest, cheapest.link!);
      } else if (best) {
        return best.place;
      } else {
        this.drop(live.reduce((a, b) => (b.lastSeen < a.lastSeen ? b : a)));
      }
    }
    const gap = this.cases.indexOf(null);
    const place = gap < 0 ? this.cases.length : gap;
    const s = best?.s ?? 0;
    const fresh: NaiveCase = {
      query,
      lastSeen: 0,
      units: [],
      entries: [],
      decisions: 0,
      link: nearest,
      linkSimilarity: s,
      mergedInto: null,
    };
    if (nearest && s > nearest.linkSimilarity) Object.assign(nearest, { link: fresh, linkSimilarity: s });
    this.cases[place] = fresh;
    return place;
  }

  private merge(found: NaiveCase, into: NaiveCase): void {
    for (const { slot, p, n } of found.entries) {
      const entry = this.entry(into, slot);
      entry.p += p;
      entry.n += n;
      limitAll(entry);
    }
    for (const unit of found.units) addUnit(into, unit);
    into.lastSeen = Math.max(into.lastSeen, found.lastSeen);
    into.decisions += found.decisions;
    found.mergedInto = into;
    this.merges++;
    for (const other of this.cases) {
      if (other?.link !== found || other === into) continue;
      other.link = into;
      other.linkSimilarity = Math.min(other.linkSimilarity, found.linkSimilarity);
    }
    this.drop(found);
  }

  private drop(found: NaiveCase): void {
    this.cases[this.cases.indexOf(found)] = null;
    for (const other of this.cases) {
      if (other?.link === found) Object.assign(other, { link: null, linkSimilarity: 0 });
    }
  }

  private entry(found: NaiveCase, slot: number): NaiveEntry {
    const known = found.entries.find((entry) => entry.slot === slot);
    if (known) return known;
    const fresh = { slot, p: 0, n: 0, unit: 0, own: { p: 0, n: 0 } };
    if (found.entries.length < 64) {
      found.entries.push(fresh);
    } else {
      const least = found.entries.reduce((a, b) => (b.p < a.p || (b.p === a.p && b.n < a.n) ? b : a));
      found.entries[found.entries.indexOf(least)] = fresh;
    }
    return fresh;
  }
}

function addUnit(found: NaiveCase, unit: number): void {
  if (found.units.length > 0 && (unit === 0 || found.units.includes(unit))) return;
  if (found.units.length === 32) found.units.splice(1, 1);
  found.units.push(unit);
}

function turnTo(entry: NaiveEntry, unit: number): void {
  if (unit !== 0 && unit === entry.unit) return;
  entry.unit = unit;
  entry.own = { p: 0, n: 0 };
}

function put(entry: NaiveEntry, p: number, n: number): void {
  for (const counts of [entry, entry.own]) {
    counts.p = Math.max(0, counts.p + p);
    counts.n = Math.max(0, counts.n + n);
  }
}

function scale(entry: NaiveEntry, factor: number): void {
  for (const counts of [entry, entry.own]) {
    counts.p *= factor;
    counts.n *= factor;
  }
}

function limitOwn(entry: NaiveEntry, limit: number): void {
  const { p, n } = entry.own;
  if (p + n > limit) put(entry, p * (limit / (p + n) - 1), n * (limit / (p + n) - 1));
}

function limitAll(entry: NaiveEntry): void {
  if (entry.p + entry.n > 5) scale(entry, 5 / (entry.p + entry.n));
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
