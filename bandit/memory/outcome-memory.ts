import type { Kernels } from '../kernels/kernels.ts';
import { completed } from '../learner-codec.ts';
import type {
  CaseCount,
  CaseOutcome,
  LearnerState,
  MemoryRecall,
  QueryFeatures,
  RecalledCase,
} from '../policy.ts';
import { isComparable } from './case-index.ts';
import { createParts, loadParts, type MemoryLimits, type MemoryParts, saveParts } from './memory-parts.ts';
import { RecallSums } from './recall-sums.ts';

/** Number of the nearest cases that are used. */
export const NEIGHBOURS = 30;
/** A decision merges into its nearest case at this similarity or more. */
export const MERGE_AT = 0.9;
/** Far more than fits into a case. */
const WEIGHT_LIMIT = 100;
const NONE = -1;

/**
 * Keeps the outcomes of tools that were shown for similar queries. Near-duplicate decisions merge into one case, so that a few
 * thousand cases represent many more decisions. Deterministic: the state depends only on the calls and their order.
 */
export class OutcomeMemory {
  private readonly limits: MemoryLimits;
  private readonly parts: MemoryParts;
  private readonly sums = new RecallSums();

  /** @throws RangeError when the limits cannot be kept. */
  constructor(kernels: Kernels, limits: MemoryLimits, parts: MemoryParts = createParts(kernels, limits)) {
    this.limits = limits;
    this.parts = parts;
  }

  /** Live cases. */
  get size(): number {
    return this.parts.places.size;
  }

  recall(query: QueryFeatures): MemoryRecall {
    const { index, entries, places } = this.parts;
    const nearest = index.nearest(query, NEIGHBOURS);
    const cases: RecalledCase[] = [];
    this.sums.begin();
    for (const { caseId: place, similarity } of nearest) {
      this.sums.add(entries, place, similarity, nearest[0].similarity);
      cases.push({ caseId: places.idOf(place), similarity });
    }
    return this.sums.finish(cases);
  }

  /** Returns the counts of a case by tool, in the order in which tools were added; empty when the case is gone. */
  caseCounts(caseId: number): CaseCount[] {
    const { places, entries } = this.parts;
    const place = places.find(caseId);
    if (place < 0) return [];
    const counts: CaseCount[] = [];
    for (let entry = entries.first(place); entry >= 0; entry = entries.after(entry)) {
      const positives = entries.positives[entry];
      counts.push({ slot: entries.slots[entry], positives, negatives: entries.negatives[entry] });
    }
    return counts;
  }

  /**
   * Adds a closed decision to the nearest case if that is near enough, else as a new case. A full memory merges what costs
   * least first: two old cases, or the decision into its nearest case.
   * @returns the id of the case, or −1 when the query has neither terms nor an embedding.
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
    const { places, units, links } = this.parts;
    const place = this.placeFor(query);
    places.see(place, at);
    units.add(place, unit);
    links.count(place);
    const { entries } = this.parts;
    for (const { slot, reward, weight = 1 } of outcomes)
      entries.count(entries.findOrCreate(place, slot), reward, weight, unit);
    return places.idOf(place);
  }

  /**
   * Adds to the counts of one tool in one case, or subtracts; no count falls below 0. Nothing happens when the case is gone, or
   * has no counts to subtract from.
   */
  amend(caseId: number, slot: number, positives: number, negatives: number, unit: number): void {
    if (!Number.isFinite(positives) || !Number.isFinite(negatives)) {
      throw new RangeError(`Counts change by finite amounts, not by ${positives} and ${negatives}.`);
    }
    const { places, entries, merged } = this.parts;
    const place = places.find(merged.resolve(caseId));
    if (place < 0) return;
    if (entries.find(place, slot) < 0 && positives <= 0 && negatives <= 0) return;
    entries.add(entries.findOrCreate(place, slot), positives, negatives, unit);
  }

  /** Scales all counts of a tool. */
  scaleTool(slot: number, factor: number): void {
    const { places, entries } = this.parts;
    for (let place = 0; place < places.count; place++) {
      const entry = entries.find(place, slot);
      if (entry >= 0) entries.scale(entry, factor);
    }
  }

  forgetTool(slot: number): void {
    const { places, entries } = this.parts;
    for (let place = 0; place < places.count; place++) entries.remove(place, slot);
  }

  /** Forgets every case in which this unit is known to have taken part, and returns how many there were. */
  forgetUnit(unit: number): number {
    const { places, units } = this.parts;
    const forgotten: number[] = [];
    for (let place = 0; place < places.count; place++) {
      if (places.has(place) && units.has(place, unit)) forgotten.push(place);
    }
    this.empty(forgotten);
    return forgotten.length;
  }

  save(): LearnerState['arrays'] {
    return completed(this.saveInSteps());
  }

  saveInSteps(): Generator<void, LearnerState['arrays']> {
    return saveParts(this.parts);
  }

  /** @throws Error when the arrays do not fit each other or the limits. */
  static load(kernels: Kernels, limits: MemoryLimits, arrays: LearnerState['arrays']): OutcomeMemory {
    return new OutcomeMemory(kernels, limits, loadParts(kernels, limits, arrays));
  }

  get bytes(): number {
    const { index, entries, units, links, places } = this.parts;
    return index.bytes + entries.bytes + units.bytes + links.bytes + places.bytes;
  }

  /** Frees kernel memory; the memory cannot be used afterwards. */
  dispose(): void {
    this.parts.index.dispose();
  }

  private placeFor(query: QueryFeatures): number {
    const { places, index, links } = this.parts;
    const nearest = index.nearestOne(query);
    if (nearest !== null && nearest.similarity >= MERGE_AT) return nearest.caseId;
    let neighbour = nearest?.caseId ?? NONE;
    if (places.size >= this.limits.cases) {
      const cheapest = links.cheapest();
      if (cheapest !== null && cheapest.loss < 1 - (nearest?.similarity ?? 0)) {
        this.merge(cheapest.place, cheapest.into);
        if (neighbour === cheapest.place) neighbour = cheapest.into;
      } else if (nearest !== null) {
        return nearest.caseId;
      } else {
        // Nothing resembles the query at all: the case that has been quiet longest makes room.
        this.empty([places.quietest()]);
      }
    }
    const place = places.open();
    index.put(place, query);
    links.put(place, neighbour, nearest?.similarity ?? 0);
    return place;
  }

  private merge(place: number, into: number): void {
    const { places, entries, units, merged, links } = this.parts;
    entries.merge(place, into);
    units.merge(place, into);
    places.merge(place, into);
    merged.add(places.idOf(place), places.idOf(into));
    links.merge(place, into);
    this.clear(place);
  }

  private empty(places: readonly number[]): void {
    this.parts.links.remove(places);
    for (const place of places) this.clear(place);
  }

  private clear(place: number): void {
    const { places, index, entries, units } = this.parts;
    index.remove(place);
    entries.clear(place);
    units.clear(place);
    places.close(place);
  }
}
