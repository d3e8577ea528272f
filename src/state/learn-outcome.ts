import type { SufficiencyExample } from '../../bandit/calibration/sufficiency.ts';
import type { DrawnInstructions } from '../../bandit/effects/instruction-effects.ts';
import type { ObservedDecision } from '../ledger/entry.ts';
import type { CatalogState } from './catalog-state.ts';
import type { Teaching } from './learn-decision.ts';
import type { ObservedRecord } from './observed/observed-record.ts';
import { DECISION_SLOT } from './unit-limits.ts';

/**
 * Learns what a decision as a whole came to: the effects of the instructions that it could have shown, and whether its slate sufficed. Once
 * for each decision; what is reported later corrects it.
 * @param silence the reward of a decision about which nothing was reported; absent: that says nothing
 */
export function learnOutcome(teaching: Teaching, silence?: number): void {
  const { state, record, decision } = teaching;
  if (!decision.learn || decision.fingerprint !== state.fingerprint) return;
  const { outcome } = record;
  const reward = rewardOf(record, silence);
  if (reward === null) return;
  const sufficed = sufficedOf(record, decision, reward);
  if (outcome.reward === undefined && outcome.sufficed === undefined) {
    if (!maySpeak(state, decision)) return;
  }
  learnEffects(state, decision, outcome.reward, reward);
  learnSufficiency(state, record, decision, sufficed);
  outcome.reward = reward;
  outcome.sufficed = sufficed;
}

/** Learns that a slate did not suffice: more tools were asked for. Returns whether that was new. */
export function learnDiscovery(teaching: Teaching): boolean {
  const { state, record, decision } = teaching;
  const { outcome } = record;
  if (outcome.discovered) return false;
  outcome.discovered = true;
  if (!decision.learn || decision.fingerprint !== state.fingerprint) return true;
  if (outcome.sufficed === undefined && !maySpeak(state, decision)) return true;
  learnSufficiency(state, record, decision, 0);
  outcome.sufficed = 0;
  return true;
}

/** Returns whether outcomes of this unit may still be learned; the same limit holds for each tool. */
function maySpeak({ clock, limits, settings }: CatalogState, { unit }: ObservedDecision): boolean {
  return limits.spend(unit, DECISION_SLOT, 1, clock, settings.rewards.unitHourlyWeight);
}

/**
 * Returns what a decision came to, 0…1; null: nothing says. A report about the whole decision is believed; without one it is the mean over the
 * tools that were called.
 */
function rewardOf({ outcome, tools, rewards }: ObservedRecord, silence: number | undefined): number | null {
  if (outcome.whole !== undefined) return outcome.whole;
  const called = [...tools.values()].filter((reports) => reports.called);
  if (called.length > 0) return called.reduce((sum, { taught }) => sum + taught, 0) / called.length;
  if (silence !== undefined) return Math.min(1, Math.max(0, silence));
  const unused = [...rewards.values()].some(
    (reward) => reward.status === 'applied' && reward.outcome === 'not_used',
  );
  return unused ? 0 : (outcome.reward ?? null);
}

/** Returns how far the slate was enough, 0…1: the part of the reward that was had without tools from elsewhere. */
function sufficedOf(record: ObservedRecord, decision: ObservedDecision, reward: number): number {
  if (record.outcome.discovered || (decision.discovered ?? 0) > 0) return 0;
  const called = [...record.tools].filter(([, reports]) => reports.called);
  if (called.length === 0) return reward;
  const shown = called.filter(([name]) => {
    const at = decision.tools.indexOf(name);
    return at >= 0 && at < decision.shown;
  });
  return (reward * shown.length) / called.length;
}

function learnEffects(
  state: CatalogState,
  decision: ObservedDecision,
  before: number | undefined,
  reward: number,
): void {
  const drawn = drawnInstructions(state, decision);
  if (drawn === null || reward === before) return;
  if (before === undefined) state.effects.learn(drawn, reward, baselineOf(decision));
  else state.effects.correct(drawn, reward - before);
}

function learnSufficiency(
  state: CatalogState,
  { outcome }: ObservedRecord,
  { sufficiency }: ObservedDecision,
  sufficed: number,
): void {
  const before = outcome.sufficed;
  if (sufficiency === undefined || sufficed === before) return;
  const rating = outcome.rating ?? sufficiency.rating;
  const example: SufficiencyExample = { ...sufficiency, rating };
  if (before === undefined) {
    outcome.learnedRating = rating;
    state.sufficiency.learn(example, sufficed);
  } else state.sufficiency.correct({ ...sufficiency, rating: outcome.learnedRating }, sufficed - before);
}

/** r̂: what was expected before the draw. Any number that does not depend on the draw would do. */
function baselineOf({ sufficiency }: ObservedDecision): number {
  return sufficiency?.predicted ?? 0.5;
}

/** Returns the instructions that could have been shown and have the text still that they had then; null: none. */
function drawnInstructions(
  { instructions: table }: CatalogState,
  { instructions }: ObservedDecision,
): DrawnInstructions | null {
  if (instructions === undefined) return null;
  const [slots, propensity, score, shown]: number[][] = [[], [], [], []];
  for (const [at, id] of instructions.ids.entries()) {
    const record = table.find(id);
    if (record?.hash !== instructions.hashes[at]) continue;
    slots.push(record.slot);
    propensity.push(instructions.propensity[at]);
    score.push(instructions.score[at]);
    shown.push(instructions.shown.includes(at) ? 1 : 0);
  }
  return slots.length === 0 ? null : { slots, propensity, score, shown };
}
