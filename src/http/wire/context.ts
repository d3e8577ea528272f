import { z } from '@hono/zod-openapi';
import {
  type ContextItem,
  DEFAULT_STORE,
  MAX_ITEMS,
  MAX_TEXT_BYTES,
  type StoredItem,
} from '../../context/item.ts';
import type { ExportedUser } from '../../context/user-contexts.ts';
import { Problem } from '../../errors/problem.ts';
import type { BodyLimits } from '../json-scanner.ts';
import { callersId, catalogName, eachOnce, isoTime, pageQuery } from './parameters.ts';
import { text } from './tool.ts';

/** As much as one user may have, however it is written. */
export const ITEMS_BODY: BodyLimits = {
  bytes: 8 * 1024 * 1024,
  values: 500_000,
  elements: 100_000,
  tooManyElements: () =>
    new Problem(
      'too-many-items',
      `The request has too many items, or tags of items: a user may have ${MAX_ITEMS} items. None of it was put.`,
      `Send ${MAX_ITEMS} items or fewer.`,
    ),
};

const MAX_WORDS = 32;
const MAX_TTL_SECONDS = 10 * 365 * 24 * 3600;

// URLs are cleared of them, even if they are percent-encoded.
const pathId = callersId.refine(
  (id) => id !== '.' && id !== '..',
  'must not be . or .., which no URL can name',
);
const userId = pathId.meta({
  description: 'Id of the user, as route requests send it in `userId`.',
  example: 'user-7',
});
const itemId = pathId.meta({ description: 'Unique to the user.', example: 'song-81' });

const word = text(100).min(1, 'must not be empty');
const words = (what: string) =>
  z.array(word).max(MAX_WORDS, `must not have more than ${MAX_WORDS}`).optional().meta({ description: what });

const storeName = word.meta({
  description: 'Where it comes from: `mail`, `calendar`, `music`. Each store is ranked for itself.',
  example: 'music',
});

const members = {
  id: itemId,
  text: z
    .string()
    .refine(
      (value) => Buffer.byteLength(value) <= MAX_TEXT_BYTES,
      `must not be longer than ${MAX_TEXT_BYTES} bytes in UTF-8: cut it, or put it as several items`,
    )
    .refine((value) => /[^\s\p{C}]/u.test(value), 'must not be blank')
    .refine((value) => !/(?![\t\n\r])[\p{Cc}\p{Cs}]/u.test(value), 'must not contain control characters')
    .meta({
      description:
        'What it is, in words. It is searched, and so are `tags`, `categories`, `kind` and `place`. Kept encrypted, and in no log.',
      example: 'Playlist: Morning Run',
    }),
  store: storeName.optional(),
  kind: word.optional().meta({ description: 'What it is: `song`, `event`, `contact`.', example: 'playlist' }),
  categories: words('What it belongs to.'),
  tags: words('Words for it.'),
  numbers: z
    .record(word, z.number())
    .refine(
      (numbers) => Object.keys(numbers).length <= MAX_WORDS,
      `must not have more than ${MAX_WORDS} members`,
    )
    .optional()
    .meta({ description: 'What can be counted about it.' }),
  place: word.optional().meta({ description: 'Where it takes place, or belongs.', example: 'gym' }),
  at: isoTime.optional().meta({
    description: 'When it takes place or took place: may be in the future, or earlier than before.',
  }),
  expiresAt: isoTime.optional().meta({ description: 'From then on it is gone.' }),
};

const itemSchema = z
  .strictObject({
    ...members,
    ttlSeconds: z
      .int()
      .min(1)
      .max(MAX_TTL_SECONDS)
      .optional()
      .meta({ description: 'In place of `expiresAt`: for how long it is kept.' }),
  })
  .refine(({ expiresAt, ttlSeconds }) => expiresAt === undefined || ttlSeconds === undefined, {
    path: ['ttlSeconds'],
    message: 'says the same as `expiresAt`: send one of them',
  })
  .openapi('ContextItem');

export const putItemsSchema = z
  .strictObject(
    {
      items: z
        .array(itemSchema)
        .max(MAX_ITEMS, `has more than ${MAX_ITEMS}, which is all that a user may have: none was put`)
        .superRefine(eachOnce('id')),
    },
    { error: ({ code }) => (code === 'invalid_type' ? 'has to be an object: {"items": […]}' : undefined) },
  )
  .openapi('PutContext');

type PutItem = z.output<typeof itemSchema>;

/** @param now ms since the epoch @throws Problem validation-failed for an item whose time is over already */
export function itemsOf(items: readonly PutItem[], now: number): ContextItem[] {
  return items.map(({ at, expiresAt, ttlSeconds, ...item }, index) => {
    const end = expiresAt === undefined ? ttlSeconds && now + ttlSeconds * 1000 : Date.parse(expiresAt);
    if (end !== undefined && end <= now) {
      const violations = [{ path: `items[${index}].expiresAt`, message: 'is over already' }];
      throw new Problem(
        'validation-failed',
        `items[${index}].expiresAt is over already. None of the request was put.`,
        'Leave the item out, or delete it.',
        { violations },
      );
    }
    return {
      ...definedOf(item),
      store: item.store ?? DEFAULT_STORE,
      ...(at !== undefined && { at: Date.parse(at) }),
      ...(end !== undefined && { expiresAt: end }),
    };
  });
}

/** Members that were not sent are not there. */
function definedOf<T extends object>(item: T): T {
  return Object.fromEntries(Object.entries(item).filter(([, value]) => value !== undefined)) as T;
}

const itemViewSchema = z
  .object({
    ...members,
    store: storeName,
    putAt: isoTime.meta({ description: 'When it was put as it is now.' }),
  })
  .openapi('StoredContextItem');

export function itemView(item: StoredItem): z.input<typeof itemViewSchema> {
  const { at, expiresAt, putAt, categories, tags, numbers, ...rest } = item;
  return {
    ...rest,
    putAt: new Date(putAt).toISOString(),
    ...(categories !== undefined && { categories: [...categories] }),
    ...(tags !== undefined && { tags: [...tags] }),
    ...(numbers !== undefined && { numbers: { ...numbers } }),
    ...(at !== undefined && { at: new Date(at).toISOString() }),
    ...(expiresAt !== undefined && { expiresAt: new Date(expiresAt).toISOString() }),
  };
}

export const userParams = z.object({ catalog: catalogName, user: userId });
export const itemParams = z.object({ catalog: catalogName, user: userId, item: itemId });
export const itemQuery = pageQuery.extend({
  store: word.optional().meta({ description: 'Only the items of this store.' }),
});

export const itemChangesSchema = z
  .object({
    added: z.int(),
    changed: z.int(),
    unchanged: z.int(),
    removed: z.int().meta({ description: 'Those whose time was over.' }),
  })
  .openapi('ContextChanges');

export const removedSchema = z.object({ removed: z.int() }).openapi('RemovedContext');

export const itemPageSchema = z
  .object({
    items: z.array(itemViewSchema),
    nextCursor: z.string().nullable().meta({ description: 'For the next page; null: this was the last.' }),
  })
  .openapi('ContextPage');

const weights = z.record(z.string(), z.number());

export const exportSchema = z
  .object({
    catalog: catalogName,
    user: userId,
    items: z.array(itemViewSchema),
    usage: z
      .array(
        z
          .object({
            item: itemId,
            uses: z.number(),
            lastUsedAt: z.string().meta({
              description: 'As a clock showed it where the user was; in UTC if that was not known.',
              example: '2026-11-22T13:00:00.000',
            }),
            hours: z.array(z.number()).meta({ description: 'By hour of the day on that clock.' }),
            weekdays: z.array(z.number()).meta({ description: 'By weekday on that clock, from Sunday.' }),
            places: weights,
            tools: weights,
            items: weights.meta({ description: 'Other items that were used at the same time.' }),
          })
          .openapi('ContextUsage'),
      )
      .meta({
        description: 'How items were used. A use counts 1 when it happens and half after 30 days.',
      }),
    training: z
      .object({
        features: z.array(z.string()),
        examples: z.array(
          z.object({
            at: isoTime,
            items: z.array(
              z.object({
                used: z.boolean(),
                shown: z.boolean(),
                features: z.array(z.number().nullable()).meta({ description: 'null: not known.' }),
              }),
            ),
          }),
        ),
      })
      .meta({
        description:
          'What reports said of items, as training reads it: the newest twenty decisions, in numbers that name no item.',
      }),
  })
  .openapi('ExportedUser');

export function exportView(
  catalog: string,
  user: string,
  { items, usage, training }: ExportedUser,
): z.input<typeof exportSchema> {
  return {
    ...{ catalog, user },
    items: items.map(itemView),
    usage: usage.map((used) => ({
      ...{ item: used.item, uses: used.uses },
      lastUsedAt: new Date(used.lastUsed * 1000).toISOString().slice(0, -1),
      hours: [...used.hours],
      weekdays: [...used.weekdays],
      places: Object.fromEntries(used.places),
      tools: Object.fromEntries(used.tools),
      items: Object.fromEntries(used.items),
    })),
    training: {
      features: [...training.features],
      examples: training.examples.map(({ at, items: rows }) => ({
        at: new Date(at).toISOString(),
        items: rows.map((row) => ({ ...row, features: [...row.features] })),
      })),
    },
  };
}
