import { COLUMNS, type ContextFeature, type ContextMoment } from '../../bandit/ranking/context-features.ts';
import { hourOf, type ItemUsage, weekdayOf } from '../../bandit/ranking/usage-signals.ts';

/** Reasons that are said of one item. */
const MOST_REASONS = 3;
/** A habit is a share of the uses, of at least so many: log₂(1 + uses). */
const HABIT = 0.5;
const HABIT_USES = Math.log2(1 + 1.5);
const WITH_OTHERS = 0.25;
const OFTEN = 0.25;
/** Cosines from which a text is said to be like the query; and how far below the best one. */
const LIKE = 0.35;
const ALIKE = 0.6;
const NEAR_BEST = 0.1;
/** log₂(1 + hours) until the time of what comes next. */
const SOON = Math.log2(1 + 24);

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** Returns why an item was chosen, in words, the most telling first; one reason at least. @param features its `CONTEXT_FEATURES` */
export function reasonsOf(
  features: ArrayLike<number>,
  usage: ItemUsage,
  moment: Omit<ContextMoment, 'mapped'>,
): string[] {
  const of = (name: ContextFeature): number => features[COLUMNS[name]];
  const isHabit = of('uses') >= HABIT_USES;
  const tool = of('its uses with the tools') >= WITH_OTHERS ? mostUsed(usage, moment.tools) : null;
  const reasons = [
    of('asked cosine') >= ALIKE && 'used for such queries',
    (of('words') > 0 || (of('cosine') >= LIKE && of('cosine gap') <= NEAR_BEST)) && 'like the query',
    isHabit && habitOf(of, moment.now),
    isHabit && of('its uses at this place') >= HABIT && `used at ${moment.place}`,
    tool !== null && `used with \`${tool}\``,
    of('its uses with recent items') >= WITH_OTHERS && 'used with what was used just now',
    of('mapped gap') <= NEAR_BEST && 'the kind of thing that such queries ask for',
    of('place among what comes next in its store') === 0 &&
      of('hours until its time') <= SOON &&
      'comes next',
    isHabit && of('share of all uses') >= OFTEN && 'used often',
    of('place among the last used of its store') === 0 && 'used last',
  ].filter((reason) => reason !== false);
  return reasons.length === 0 ? ['fits best of what there is'] : reasons.slice(0, MOST_REASONS);
}

function habitOf(of: (name: ContextFeature) => number, now: number): string | false {
  const atHour = of('its uses at this hour') >= HABIT;
  const part = partOfDay(hourOf(now));
  const day = DAYS[weekdayOf(now)];
  if (of('its uses on this weekday') >= HABIT) return `used on ${day}${atHour ? ` ${part}` : ''}s`;
  if (!atHour) return false;
  const isWeekend = [0, 6].includes(weekdayOf(now));
  if (of('its uses on such days') === 1)
    return isWeekend ? `used on weekend ${part}s` : `used on weekday ${part}s`;
  return part === 'night' ? 'used at night' : `used in the ${part}`;
}

function partOfDay(hour: number): string {
  if (hour < 5 || hour >= 22) return 'night';
  if (hour < 12) return 'morning';
  return hour < 17 ? 'afternoon' : 'evening';
}

function mostUsed({ tools }: ItemUsage, weights: ReadonlyMap<string, number>): string | null {
  let [best, most] = [null as string | null, 0];
  for (const [name, weight] of weights) {
    const uses = weight * (tools.get(name) ?? 0);
    if (uses > most) [best, most] = [name, uses];
  }
  return best;
}
