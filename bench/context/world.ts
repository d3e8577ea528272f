/**
 * Simulated users after the paper's appendix A: 791 personas, seven applications, 59 APIs, 4,338 implicit queries to learn from and 936 to
 * test on, of other personas. Everything follows from the seed.
 *
 * A persona has facets (facets.txt), each with items in several stores, and asks about them at habitual times and places; it also asks
 * about what just happened ("call them back"). For 45 days before the queries every ask leaves uses, with the query that was asked and
 * the tool that was called: what a store knows. Other items of the same kinds, with a past of their own, lie beside them.
 */
import { type Random, randomFor } from '../../bandit/random.ts';
import { type Ask, type Facet, type ItemForm, readFacets, STORES } from './facets.ts';
import { WORDS } from './words.ts';

export const PERSONAS = 791;
export const TRAINING_PERSONAS = 651;
export const TRAINING_QUERIES = 4338;
export const TEST_QUERIES = 936;

const DAY = 86_400;
/** Monday, 2026-06-01, by the clock of each user. */
const START = 1_780_272_000;
const PAST_DAYS = 45;

export interface Item {
  readonly id: string;
  readonly store: string;
  readonly kind: string;
  readonly text: string;
  /** Seconds. */
  readonly put: number;
  /** Seconds; NaN: at no time. */
  readonly at: number;
}

export interface PastUse {
  readonly time: number;
  readonly place: string;
  readonly query: string;
  readonly tools: readonly string[];
  readonly items: readonly string[];
}

export interface Query {
  readonly text: string;
  /** What a language model would write about where to look (A.6), scripted. */
  readonly thought: string;
  readonly now: number;
  readonly place: string;
  /** Items that were used just now, in the same session. */
  readonly recent: readonly string[];
  readonly relevant: readonly string[];
  /** Tools that fit, the best first, and the arguments of the best. */
  readonly tools: readonly string[];
  readonly args: Readonly<Record<string, string>>;
}

export interface Persona {
  readonly items: readonly Item[];
  /** By time. */
  readonly past: readonly PastUse[];
  readonly queries: readonly Query[];
}

export interface World {
  readonly training: readonly Persona[];
  readonly test: readonly Persona[];
}

export function simulatedWorld(seed: number): World {
  const facets = readFacets();
  const personas = Array.from({ length: PERSONAS }, (_, at) => {
    const isTest = at >= TRAINING_PERSONAS;
    const [queries, among, place] = isTest
      ? [TEST_QUERIES, PERSONAS - TRAINING_PERSONAS, at - TRAINING_PERSONAS]
      : [TRAINING_QUERIES, TRAINING_PERSONAS, at];
    const count = Math.floor(queries / among) + (place < queries % among ? 1 : 0);
    return new PersonaMaker(facets, new Draws(randomFor(`context/${seed}/${at}`)), isTest).make(count);
  });
  return { training: personas.slice(0, TRAINING_PERSONAS), test: personas.slice(TRAINING_PERSONAS) };
}

class Draws {
  readonly #random: Random;
  #counter = 0;

  constructor(random: Random) {
    this.#random = random;
  }

  uniform(): number {
    return this.#random.uniform(this.#counter++);
  }

  /** A whole number below n. */
  below(n: number): number {
    return Math.floor(this.uniform() * n);
  }

  pick<T>(all: readonly T[]): T {
    return all[this.below(all.length)];
  }

  shuffled<T>(all: readonly T[]): T[] {
    return all
      .map((value) => ({ value, key: this.uniform() }))
      .sort((a, b) => a.key - b.key)
      .map(({ value }) => value);
  }

  /** About normal, with a mean of 0 and a deviation of 1. */
  normal(): number {
    return (this.uniform() + this.uniform() + this.uniform() + this.uniform() - 2) * Math.sqrt(3);
  }
}

/** When habits of a kind take place, before a persona's own hour is drawn: hours, days (Sunday is 0), place. */
const TIMES: Readonly<Record<string, { hours: [number, number]; days: string; place: string }>> = {
  morning: { hours: [6, 9], days: '12345', place: 'home' },
  commute: { hours: [7, 9], days: '12345', place: 'road' },
  work: { hours: [9, 16], days: '12345', place: 'office' },
  noon: { hours: [11, 13], days: '12345', place: 'office' },
  leaving: { hours: [16, 19], days: '12345', place: 'road' },
  gym: { hours: [6, 20], days: '1356', place: 'gym' },
  dinner: { hours: [18, 20], days: '0456', place: 'home' },
  evening: { hours: [18, 22], days: '01234', place: 'home' },
  night: { hours: [21, 23], days: '0123456', place: 'home' },
  weekend: { hours: [9, 20], days: '06', place: 'home' },
};

/** An ask of one persona: with its own hour, days and items. */
interface Habit {
  readonly ask: Ask;
  readonly slots: Readonly<Record<string, string>>;
  readonly needs: readonly Item[];
  readonly thought: string;
  readonly hour: number;
  readonly days: readonly number[];
  readonly place: string;
  /** Uses in the past. */
  readonly times: number;
}

/** What just happened is asked about in these words; which items that are follows from the stores at the time. */
interface Recent {
  readonly says: readonly string[];
  readonly thought: string;
  readonly tools: readonly string[];
  readonly find: (items: readonly Item[], lastUsed: ReadonlyMap<string, number>, now: number) => Item[];
}

const first = (items: readonly Item[], store: string, key: (item: Item) => number, most = 1): Item[] =>
  items
    .filter((item) => item.store === store && Number.isFinite(key(item)))
    .sort((a, b) => key(a) - key(b))
    .slice(0, most);

const RECENT: readonly Recent[] = [
  {
    says: [
      'I am running late',
      'Where do I have to be?',
      'Who is waiting for me?',
      'Am I too late?',
      'What comes now?',
    ],
    thought: "Check 'Calendar' for the next appointment, meeting or class.",
    tools: ['calendar.list_events', 'calendar.find_events', 'phone.place_call'],
    find: (items, _, now) => first(items, 'calendar', ({ at }) => (at >= now ? at : Number.NaN)),
  },
  {
    says: [
      'Get back to them',
      'Who was that just now?',
      'It rang and I was too slow',
      'Somebody wanted me',
      'Who tried to reach me?',
    ],
    thought: "Check 'Phone' for the last call.",
    tools: ['phone.redial', 'phone.call_history', 'phone.place_call'],
    find: (items) => first(items, 'phone', ({ put }) => -put),
  },
  {
    says: [
      'What did they just send me?',
      'Answer that',
      'Anything new from anybody?',
      'Who wrote?',
      'Something came in, what is it?',
    ],
    thought: "Check 'Mail' for the newest message.",
    tools: ['mail.read_mail', 'mail.reply', 'mail.search_mail'],
    find: (items) => first(items, 'mail', ({ put }) => -put),
  },
  {
    says: [
      'That one again',
      'What was I hearing?',
      'I liked what was on',
      'Once more from the start',
      'Louder, the thing from before',
    ],
    thought: "Check 'Music' for the playlist, track or podcast that was played last.",
    tools: ['music.resume', 'music.play_song', 'music.play_playlist'],
    find: (items, lastUsed) => first(items, 'music', ({ id }) => -(lastUsed.get(id) ?? Number.NaN)),
  },
  {
    says: [
      'What was I looking at?',
      'Back to where I was',
      'It was on my screen a moment ago',
      'I closed it by mistake',
      'Reopen that',
    ],
    thought: "Check 'Google' for the last searches and pages.",
    tools: ['google.open_page', 'google.search_web', 'google.search_places'],
    find: (items, lastUsed) => first(items, 'google', ({ id }) => -(lastUsed.get(id) ?? Number.NaN), 2),
  },
  {
    says: [
      'What is still open today?',
      'What did I want to do?',
      'Did I forget anything?',
      'Am I done for today?',
      'What is left?',
    ],
    thought: "Check 'Reminders' for a reminder that is due today.",
    tools: ['reminders.list_reminders', 'reminders.complete_reminder', 'reminders.snooze_reminder'],
    find: (items, _, now) =>
      first(items, 'reminders', ({ at }) => (at >= now - DAY / 4 ? at : Number.NaN), 2),
  },
];

const PREFIXES = ['', '', '', 'Hey, ', 'Please: ', 'Quick, ', 'Hm. ', 'One thing. ', 'So, ', 'Okay. '];
const SUFFIXES = [
  '',
  '',
  '',
  ' Thanks.',
  ' Now.',
  ' If you can.',
  ' Be quick.',
  ' You know what I mean.',
  ' Again.',
  ' Really.',
];
/** Ways to say something that training hears; tests hear all of them. */
const HEARD = 0.8;
/** Scripted thoughts that look in the wrong place. */
const WRONG_THOUGHTS = 0.1;
/** Queries that name what they are about, so that some words fit. */
const NAMED = 0.18;
/** Queries about what just happened. */
const RECENT_SHARE = 0.25;

class PersonaMaker {
  readonly #facets: readonly Facet[];
  readonly #draws: Draws;
  readonly #isTest: boolean;
  readonly #items: Item[] = [];
  readonly #habits: Habit[] = [];

  constructor(facets: readonly Facet[], draws: Draws, isTest: boolean) {
    this.#facets = facets;
    this.#draws = draws;
    this.#isTest = isTest;
  }

  make(queries: number): Persona {
    const room = this.#sizes();
    const chosen: Facet[] = [];
    for (const facet of this.#draws.shuffled(this.#facets)) {
      const needed = (store: string): number => facet.items.filter((item) => item.store === store).length;
      if (!facet.items.every(({ store }) => needed(store) <= room.get(store)!)) continue;
      for (const { store } of facet.items) room.set(store, room.get(store)! - 1);
      chosen.push(facet);
      this.#live(facet);
    }
    const past = this.#habits.flatMap((habit) => this.#usesOf(habit));
    for (const [store, left] of room) {
      for (let more = 0; more < left; more++) past.push(...this.#other(store, chosen));
    }
    past.sort((a, b) => a.time - b.time);
    const items = this.#draws.shuffled(this.#items);
    return { items, past, queries: this.#queries(queries, past) };
  }

  /** Items per store: the mean of Table 4, 2 to 10. */
  #sizes(): Map<string, number> {
    return new Map(
      Object.entries(STORES).map(([store, mean]) => {
        const spread = Math.min(2, Math.floor(mean) - 2, 10 - Math.ceil(mean));
        const shift = spread > 0 ? this.#draws.below(2 * spread + 1) - spread : 0;
        return [store, Math.floor(mean + shift + this.#draws.uniform())];
      }),
    );
  }

  #put(form: ItemForm, slots: Readonly<Record<string, string>>, isNew: boolean): Item {
    const { store, kind } = form;
    const draws = this.#draws;
    const text = filled(draws.pick(form.texts), slots);
    const age = isNew ? draws.uniform() * DAY : DAY * (1 + draws.uniform() * (PAST_DAYS - 1));
    const isTimed = store === 'calendar' || store === 'reminders';
    const at = isTimed ? START + Math.round((draws.uniform() * 12 - 3) * DAY) : Number.NaN;
    const id = `${store}-${this.#items.length}`;
    const item = {
      id,
      store,
      kind,
      text: `${title(store)}, ${kind}: ${text}`,
      put: START - Math.round(age),
      at,
    };
    this.#items.push(item);
    return item;
  }

  #slots(facet: Facet): Record<string, string> {
    return Object.fromEntries(
      Object.entries(facet.slots).map(([slot, words]) => [slot, this.#draws.pick(WORDS[words])]),
    );
  }

  #live(facet: Facet): void {
    const draws = this.#draws;
    const slots = this.#slots(facet);
    // Most things have been there for long; some are so new that nobody used them yet.
    const items = facet.items.map((form) => this.#put(form, slots, draws.uniform() < 0.12));
    // Arguments name items of the facet by their number.
    for (const [at, { text }] of items.entries()) slots[at + 1] = text;
    for (const ask of facet.asks) {
      const { hours, days, place } = TIMES[ask.when];
      const needs = ask.needs.map((at) => items[at]);
      const places = needs.map(({ store, kind }) => `'${title(store)}' for a ${kind}`).join(', then ');
      this.#habits.push({
        ask,
        slots,
        needs,
        thought: `Check ${places} about the ${facet.name}.`,
        hour: hours[0] + draws.uniform() * (hours[1] - hours[0]),
        days: draws.shuffled(Array.from(days, Number)).slice(0, 1 + draws.below(days.length)),
        place,
        times: draws.pick([0, 1, 2, 3, 5, 8, 12, 20]),
      });
    }
  }

  #usesOf(habit: Habit): PastUse[] {
    return Array.from({ length: habit.times }, () => {
      const time = this.#timeOf(habit, -PAST_DAYS, 0);
      // Not all that would help was used, and sometimes something else was.
      const used = habit.needs.filter(({ put }) => put <= time && this.#draws.uniform() < 0.8);
      if (this.#draws.uniform() < 0.15) used.push(this.#draws.pick(this.#items));
      return this.#use(time, habit, habit.ask, used);
    }).filter(({ items }) => items.length > 0);
  }

  #use(time: number, { place }: { place: string }, ask: Ask, used: readonly Item[]): PastUse {
    const tool = this.#draws.uniform() < 0.8 ? ask.tools[0] : this.#draws.pick(ask.tools);
    const query = this.#said(ask.says);
    return { time, place, query, tools: [tool], items: [...new Set(used.map(({ id }) => id))] };
  }

  /** An item like those of the persona's facets, or of another: used now and then, also for the same queries, more often long ago. */
  #other(store: string, chosen: readonly Facet[]): PastUse[] {
    const draws = this.#draws;
    const has = (facet: Facet): boolean => facet.items.some((item) => item.store === store);
    const own = chosen.filter(has);
    const facet = draws.pick(own.length > 0 && draws.uniform() < 0.5 ? own : this.#facets.filter(has));
    const form = draws.pick(facet.items.filter((item) => item.store === store));
    const item = this.#put(form, this.#slots(facet), draws.uniform() < 0.12);
    const asks = facet.asks.filter(({ needs }) => needs.includes(facet.items.indexOf(form)));
    return Array.from({ length: draws.pick([0, 0, 1, 2, 4, 7]) }, () => {
      const age = draws.uniform() ** 0.5 * PAST_DAYS * DAY;
      const time = Math.max(item.put, START - Math.round(age));
      const ask = draws.pick(asks.length > 0 && draws.uniform() < 0.5 ? asks : draws.pick(this.#facets).asks);
      return this.#use(time, { place: draws.pick(['home', 'office', 'road']) }, ask, [item]);
    });
  }

  /** A time of a habit, some hours off now and then, between two days from the start. */
  #timeOf({ hour, days }: Pick<Habit, 'hour' | 'days'>, from: number, to: number): number {
    const draws = this.#draws;
    for (let attempt = 0; ; attempt++) {
      const day = from + draws.below(to - from);
      const weekday = (((day + 1) % 7) + 7) % 7;
      if (attempt < 50 && !days.includes(weekday)) continue;
      const off = draws.normal() * (draws.uniform() < 0.85 ? 0.5 : 3);
      return Math.round(START + day * DAY + Math.min(23.9, Math.max(0, hour + off)) * 3600);
    }
  }

  #said(says: readonly string[]): string {
    const heard = this.#isTest ? says.length : Math.ceil(HEARD * says.length);
    const said = this.#draws.pick(PREFIXES) + says[this.#draws.below(heard)];
    const suffix = this.#draws.pick(SUFFIXES);
    return suffix === '' || said.endsWith('?') ? said + suffix : `${said}.${suffix}`;
  }

  #named(slots: Readonly<Record<string, string>>): string {
    const names = Object.keys(slots).filter((slot) => Number.isNaN(Number(slot)));
    return this.#draws.uniform() < NAMED ? ` It is about ${slots[this.#draws.pick(names)]}.` : '';
  }

  #queries(count: number, past: readonly PastUse[]): Query[] {
    const draws = this.#draws;
    const lastUsed = new Map(past.flatMap(({ time, items }) => items.map((id) => [id, time] as const)));
    const queries: Query[] = [];
    const asked = new Set<string>();
    const weights = this.#habits.map(({ times }) => 1 + Math.sqrt(times));
    const total = weights.reduce((sum, weight) => sum + weight, 0);
    while (queries.length < count) {
      const query = draws.uniform() < RECENT_SHARE ? this.#recent(lastUsed) : this.#habitual(weights, total);
      if (query === null || asked.has(query.text)) continue;
      asked.add(query.text);
      queries.push(query);
    }
    return queries;
  }

  #habitual(weights: readonly number[], total: number): Query {
    const draws = this.#draws;
    let left = draws.uniform() * total;
    const at = weights.findIndex((weight) => {
      left -= weight;
      return left < 0;
    });
    const habit = this.#habits[at];
    const { ask, slots, needs, place } = habit;
    const wrong = draws.uniform() < WRONG_THOUGHTS;
    return {
      text: this.#said(ask.says) + this.#named(slots),
      thought: (wrong ? draws.pick(this.#habits) : habit).thought,
      now: this.#timeOf(habit, 0, 7),
      place: draws.uniform() < 0.9 ? place : draws.pick(['home', 'office', 'road']),
      recent: this.#justUsed(needs),
      relevant: needs.map(({ id }) => id),
      tools: ask.tools,
      args: Object.fromEntries(Object.entries(ask.args).map(([name, value]) => [name, filled(value, slots)])),
    };
  }

  /** Some queries go on with what they are about, some come after something else. */
  #justUsed(needs: readonly Item[]): string[] {
    const chance = this.#draws.uniform();
    if (chance < 0.1 && needs.length > 0) return [this.#draws.pick(needs).id];
    return chance < 0.2 ? [this.#draws.pick(this.#items).id] : [];
  }

  /** Null when there is nothing that this could be about. */
  #recent(lastUsed: ReadonlyMap<string, number>): Query | null {
    const draws = this.#draws;
    const { says, thought, tools, find } = draws.pick(RECENT);
    const now = START + Math.round((8 + draws.uniform() * 14) * 3600);
    const found = find(this.#items, lastUsed, now);
    if (found.length === 0) return null;
    return {
      text: this.#said(says),
      thought,
      now,
      place: draws.pick(['home', 'office', 'road']),
      recent: this.#justUsed([]),
      relevant: found.map(({ id }) => id),
      tools,
      args: { title: found[0].text },
    };
  }
}

function title(store: string): string {
  return store[0].toUpperCase() + store.slice(1);
}

function filled(text: string, slots: Readonly<Record<string, string>>): string {
  return text.replaceAll(/\{(\w+)\}/g, (_, slot: string) => slots[slot] ?? `{${slot}}`);
}
