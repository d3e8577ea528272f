import type { Kernels } from '../kernels/kernels.ts';
import type { CaseCount, CaseOutcome, LearnerState, QueryFeatures, Recall, RecalledCase } from '../policy.ts';
import { CaseEntries } from './case-entries.ts';
import { type CaseIndex, isComparable } from './case-index.ts';
import { CaseLinks } from './case-links.ts';
import { CaseUnits } from './case-units.ts';
import { ExactCaseIndex } from './exact-case-index.ts';
import { MergedCases } from './merged-cases.ts';
import { RecallSums } from './recall-sums.ts';
import { savedArray } from './saved-array.ts';

/** How many of the nearest cases are asked. */
export const NEIGHBOURS = 30;
/** A decision merges into its nearest case from this similarity on. */
export const MERGE_AT = 0.9;
/** P + N of one tool in one case never exceeds this: the only forgetting. */
export const TRIALS_LIMIT = 5;
export const TOOLS_PER_CASE = 64;
/** Far more than fits into a case. */
const WEIGHT_LIMIT = 100;
/** A case id is its place, plus this for every time the place was emptied before. */
const PLACES_LIMIT = 2 ** 20;
const EMPTY = -1;

export interface MemoryLimits {
  /** D of the embeddings; 0 without an embedder. */
  readonly dimensions: number;
  /** Most cases that are kept, 1 … 2²⁰. */
  readonly cases: number;
}

/**
 * Outcome memory: what became of tools that were shown for similar queries. Near-duplicate decisions merge into
 * one case, so that a few thousand cases hold what many more decisions taught. Everything is deterministic: the
 * state depends on the calls and their order alone.
 */
export class OutcomeMemory {
  private readonly limits: MemoryLimits;
  private readonly sums = new RecallSums();
  private index: CaseIndex;
  private entries = new CaseEntries(TOOLS_PER_CASE);
  private units = new CaseUnits();
  private links = new CaseLinks();
  private merged = new MergedCases();
  /** When a decision last went into the case at this place, ms since the epoch; −1: nothing is here. */
  private lastSeen: number[] = [];
  /** How often this place was emptied. */
  private generations: number[] = [];
  private live = 0;

  constructor(kernels: Kernels, limits: MemoryLimits) {
    if (!(limits.cases >= 1 && limits.cases <= PLACES_LIMIT)) {
      throw new RangeError(`An outcome memory has 1 to ${PLACES_LIMIT} cases, not ${limits.cases}.`);
    }
    this.limits = limits;
    this.index = new ExactCaseIndex(kernels, limits.dimensions);
  }

  /** Live cases. */
  get size(): number {
    return this.live;
  }

  recall(query: QueryFeatures): Recall {
    const nearest = this.index.nearest(query, NEIGHBOURS);
    const cases: RecalledCase[] = [];
    this.sums.begin();
    for (const { caseId: place, similarity } of nearest) {
      this.sums.add(this.entries, place, similarity, nearest[0].similarity);
      cases.push({ caseId: this.idOf(place), similarity });
    }
    return this.sums.finish(cases);
  }

  /** What a case knows, tool by tool in the order in which they came; empty when it is gone. */
  caseCounts(caseId: number): CaseCount[] {
    const place = this.placeOf(caseId);
    if (place < 0) return [];
    const { entries } = this;
    const counts: CaseCount[] = [];
    for (let entry = entries.first(place); entry >= 0; entry = entries.after(entry)) {
      const positives = entries.positives[entry];
      counts.push({ slot: entries.slots[entry], positives, negatives: entries.negatives[entry] });
    }
    return counts;
  }

  /**
   * Writes a closed decision: into the nearest case if that is near enough, else as a new case. A full memory first
   * merges whatever loses least by it: two old cases, or the decision into its nearest case after all.
   * @returns the id of the case, or −1 when there is nothing by which the query could be found again.
   * @throws RangeError on a reward outside 0…1 or a weight outside 0…100; nothing was written then.
   */
  remember(query: QueryFeatures, outcomes: readonly CaseOutcome[], at: number, unit: number): number {
    for (const { reward, weight = 1 } of outcomes) {
      if (!(reward >= 0 && reward <= 1))
        throw new RangeError(`A remembered reward is 0 to 1, not ${reward}.`);
      if (!(weight > 0 && weight <= WEIGHT_LIMIT))
        throw new RangeError(`A remembered outcome has a weight of 0 to ${WEIGHT_LIMIT}, not ${weight}.`);
    }
    if (outcomes.length === 0 || !isComparable(query)) return -1;
    const place = this.placeFor(query);
    this.lastSeen[place] = Math.max(this.lastSeen[place], at);
    this.units.add(place, unit);
    this.links.count(place);
    for (const { slot, reward, weight } of outcomes) this.count(place, slot, reward, weight ?? 1);
    return this.idOf(place);
  }

  /**
   * Adds to (or takes from) the counts of one tool in one case; no count falls below 0. Nothing happens when the
   * case is gone, or when there is nothing to take from.
   */
  amend(caseId: number, slot: number, positives: number, negatives: number): void {
    if (!Number.isFinite(positives) || !Number.isFinite(negatives)) {
      throw new RangeError(`Counts change by finite amounts, not by ${positives} and ${negatives}.`);
    }
    const place = this.placeOf(this.merged.resolve(caseId));
    if (place < 0) return;
    const { entries } = this;
    if (entries.find(place, slot) < 0 && positives <= 0 && negatives <= 0) return;
    entries.add(entries.findOrCreate(place, slot), positives, negatives, TRIALS_LIMIT);
  }

  /** Scales everything that is known about a tool. */
  scaleTool(slot: number, factor: number): void {
    for (let place = 0; place < this.lastSeen.length; place++) {
      const entry = this.entries.find(place, slot);
      if (entry < 0) continue;
      this.entries.positives[entry] *= factor;
      this.entries.negatives[entry] *= factor;
    }
  }

  forgetTool(slot: number): void {
    for (let place = 0; place < this.lastSeen.length; place++) this.entries.remove(place, slot);
  }

  /** Forgets every case in which this unit is known to have taken part; answers how many. */
  forgetUnit(unit: number): number {
    let forgotten = 0;
    for (let place = 0; place < this.lastSeen.length; place++) {
      if (!this.isLive(place) || !this.units.has(place, unit)) continue;
      this.empty(place);
      forgotten++;
    }
    return forgotten;
  }

  save(): LearnerState['arrays'] {
    const places = this.lastSeen.length;
    const queries = this.index.save(places);
    const entries = this.entries.save(places);
    const units = this.units.save(places);
    const links = this.links.save();
    return {
      'memory.lastSeen': Float64Array.from(this.lastSeen),
      'memory.generations': Float64Array.from(this.generations),
      'memory.embeddings': queries.embeddings,
      'memory.termOffsets': queries.offsets,
      'memory.terms': queries.terms,
      'memory.termWeights': queries.weights,
      'memory.entryOffsets': entries.offsets,
      'memory.entrySlots': entries.slots,
      'memory.positives': entries.positives,
      'memory.negatives': entries.negatives,
      'memory.unitOffsets': units.offsets,
      'memory.units': units.units,
      'memory.decisions': links.decisions,
      'memory.links': links.nearest,
      'memory.linkSimilarities': links.similarities,
      'memory.merged': this.merged.save(),
    };
  }

  /** @throws Error when the arrays do not fit each other or the dimensions. */
  static load(kernels: Kernels, limits: MemoryLimits, arrays: LearnerState['arrays']): OutcomeMemory {
    const memory = new OutcomeMemory(kernels, limits);
    const lastSeen = savedArray(arrays, 'memory.lastSeen', Float64Array);
    const places = lastSeen.length;
    memory.index.dispose();
    memory.index = ExactCaseIndex.load(kernels, limits.dimensions, {
      embeddings: savedArray(arrays, 'memory.embeddings', Float32Array, places * limits.dimensions),
      offsets: savedArray(arrays, 'memory.termOffsets', Int32Array, places + 1),
      terms: savedArray(arrays, 'memory.terms', Uint32Array),
      weights: savedArray(arrays, 'memory.termWeights', Float32Array),
    });
    memory.entries = CaseEntries.load(TOOLS_PER_CASE, {
      offsets: savedArray(arrays, 'memory.entryOffsets', Int32Array, places + 1),
      slots: savedArray(arrays, 'memory.entrySlots', Int32Array),
      positives: savedArray(arrays, 'memory.positives', Float32Array),
      negatives: savedArray(arrays, 'memory.negatives', Float32Array),
    });
    memory.units = CaseUnits.load({
      offsets: savedArray(arrays, 'memory.unitOffsets', Int32Array, places + 1),
      units: savedArray(arrays, 'memory.units', Uint32Array),
    });
    memory.links = CaseLinks.load({
      decisions: savedArray(arrays, 'memory.decisions', Float64Array, places),
      nearest: savedArray(arrays, 'memory.links', Int32Array, places),
      similarities: savedArray(arrays, 'memory.linkSimilarities', Float64Array, places),
    });
    memory.merged = MergedCases.load(savedArray(arrays, 'memory.merged', Float64Array));
    memory.lastSeen = Array.from(lastSeen);
    memory.generations = Array.from(savedArray(arrays, 'memory.generations', Float64Array, places));
    memory.live = lastSeen.filter((at) => at !== EMPTY).length;
    return memory;
  }

  get bytes(): number {
    return (
      this.index.bytes + this.entries.bytes + this.units.bytes + this.links.bytes + 16 * this.lastSeen.length
    );
  }

  /** Gives kernel memory back; the memory cannot be used afterwards. */
  dispose(): void {
    this.index.dispose();
  }

  /** P += r, N += 1 − r, after making room below the limit; a weight of 3 is three times that. */
  private count(place: number, slot: number, reward: number, weight: number): void {
    const { entries } = this;
    const entry = entries.findOrCreate(place, slot);
    for (let left = weight; left > 0; left--) {
      const part = Math.min(1, left);
      const trials = entries.positives[entry] + entries.negatives[entry];
      const scale = trials + part > TRIALS_LIMIT ? (TRIALS_LIMIT - part) / trials : 1;
      entries.positives[entry] = entries.positives[entry] * scale + part * reward;
      entries.negatives[entry] = entries.negatives[entry] * scale + part * (1 - reward);
    }
  }

  private placeFor(query: QueryFeatures): number {
    const [nearest] = this.index.nearest(query, 1);
    if (nearest !== undefined && nearest.similarity >= MERGE_AT) return nearest.caseId;
    let neighbour = nearest?.caseId ?? EMPTY;
    if (this.live >= this.limits.cases) {
      const cheapest = this.links.cheapest();
      if (cheapest !== null && cheapest.loss < 1 - (nearest?.similarity ?? 0)) {
        this.merge(cheapest.place, cheapest.into);
        if (neighbour === cheapest.place) neighbour = cheapest.into;
      } else if (nearest !== undefined) {
        return nearest.caseId;
      } else {
        // Nothing resembles the query at all: the case that has been quiet longest makes room.
        this.empty(this.quietest());
      }
    }
    const place = this.live < this.lastSeen.length ? this.lastSeen.indexOf(EMPTY) : this.lastSeen.length;
    this.index.put(place, query);
    this.links.put(place, neighbour, nearest?.similarity ?? 0);
    this.lastSeen[place] = 0;
    this.generations[place] ??= 0;
    this.live++;
    return place;
  }

  private merge(place: number, into: number): void {
    this.entries.merge(place, into, TRIALS_LIMIT);
    this.units.merge(place, into);
    this.lastSeen[into] = Math.max(this.lastSeen[into], this.lastSeen[place]);
    this.merged.add(this.idOf(place), this.idOf(into));
    this.links.merge(place, into);
    this.clear(place);
  }

  private quietest(): number {
    let quietest = EMPTY;
    for (let place = 0; place < this.lastSeen.length; place++) {
      if (!this.isLive(place)) continue;
      if (quietest === EMPTY || this.lastSeen[place] < this.lastSeen[quietest]) quietest = place;
    }
    return quietest;
  }

  private empty(place: number): void {
    this.links.remove(place);
    this.clear(place);
  }

  private clear(place: number): void {
    this.index.remove(place);
    this.entries.clear(place);
    this.units.clear(place);
    this.lastSeen[place] = EMPTY;
    this.generations[place]++;
    this.live--;
  }

  private isLive(place: number): boolean {
    return place >= 0 && place < this.lastSeen.length && this.lastSeen[place] !== EMPTY;
  }

  /** Where the case with this id is; −1 when it is gone. */
  private placeOf(caseId: number): number {
    const place = caseId % PLACES_LIMIT;
    return this.isLive(place) && this.idOf(place) === caseId ? place : EMPTY;
  }

  private idOf(place: number): number {
    return place + PLACES_LIMIT * this.generations[place];
  }
}
