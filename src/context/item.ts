/** Something that a user has: a song, an event, a note, a person. Times are ms since the epoch. */
export interface ContextItem {
  /** Unique to the user in the catalog. */
  readonly id: string;
  /** What it is, in words. */
  readonly text: string;
  /** Where it comes from: `mail`, `calendar`, `music`. Each store is ranked for itself. */
  readonly store: string;
  readonly kind?: string;
  readonly categories?: readonly string[];
  readonly tags?: readonly string[];
  readonly numbers?: Readonly<Record<string, number>>;
  readonly place?: string;
  /** When it takes place or took place; may be in the future. */
  readonly at?: number;
  /** From then on it is gone. */
  readonly expiresAt?: number;
}

/** An item as it is kept. */
export interface StoredItem extends ContextItem {
  /** When it was put as it is now, ms since the epoch. */
  readonly putAt: number;
}

/** Returns what is embedded of an item: its text first, then its labels. */
export function searchedText(item: ContextItem): string {
  const labels = labelsOf(item);
  return labels === '' ? item.text : `${item.text}\n${labels}`;
}

/** Returns what is searched beside the text: tags, categories, kind and place, a line each; empty: there is none. */
export function labelsOf({ tags = [], categories = [], kind = '', place = '' }: ContextItem): string {
  return [tags.join(', '), categories.join(', '), kind, place].filter((line) => line !== '').join('\n');
}

export const DEFAULT_STORE = 'default';
/** Of one user in one catalog. */
export const MAX_ITEMS = 2_000;
/** In UTF-8. */
export const MAX_TEXT_BYTES = 8 * 1024;
/** Of all items of one user in one catalog together, as JSON: what is put, opened and compared as a whole holds up nobody else. */
export const MAX_BYTES = 1024 * 1024;

/** What a change of items did. */
export interface ItemChanges {
  readonly added: number;
  readonly changed: number;
  readonly unchanged: number;
  /** Those that were taken away: by name, or because their time was over. */
  readonly removed: number;
}

/**
 * Puts items in the place of those with the same id, whatever their times say: what was put last counts. Those whose time is over
 * go. The order is that in which ids came first.
 */
export function mergeItems(
  before: readonly StoredItem[],
  put: readonly ContextItem[],
  now: number,
): { readonly items: readonly StoredItem[]; readonly changes: ItemChanges } {
  const items = new Map<string, StoredItem>();
  for (const item of before) if (isLive(item, now)) items.set(item.id, item);
  const removed = before.length - items.size;
  const counts = { added: 0, changed: 0, unchanged: 0, removed };
  for (const item of put) {
    const known = items.get(item.id);
    if (known !== undefined && isSame(known, item)) {
      counts.unchanged++;
      continue;
    }
    if (known === undefined) counts.added++;
    else counts.changed++;
    items.set(item.id, { ...item, putAt: now });
  }
  return { items: [...items.values()], changes: counts };
}

export function isLive({ expiresAt }: ContextItem, now: number): boolean {
  return expiresAt === undefined || expiresAt > now;
}

/** The first moment at which an item is gone, ms since the epoch; Infinity: none ever is. */
export function firstExpiry(items: readonly ContextItem[]): number {
  let first = Number.POSITIVE_INFINITY;
  for (const { expiresAt = first } of items) first = Math.min(first, expiresAt);
  return first;
}

/** How much items take of `MAX_BYTES`. */
export function bytesOf(items: readonly ContextItem[]): number {
  return items.reduce((sum, item) => sum + Buffer.byteLength(canonical(item)), 0);
}

function isSame(one: ContextItem, other: ContextItem): boolean {
  return canonical(one) === canonical(other);
}

function canonical(item: ContextItem): string {
  const numbers = item.numbers && Object.entries(item.numbers).sort(([a], [b]) => (a < b ? -1 : 1));
  const { id, text, store, kind, categories, tags, place, at, expiresAt } = item;
  return JSON.stringify([id, text, store, kind, categories, tags, numbers, place, at, expiresAt]);
}
