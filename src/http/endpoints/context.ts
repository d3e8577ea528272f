import type { UserContexts } from '../../context/user-contexts.ts';
import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import { forgottenSchema, unitParams } from '../wire/catalog.ts';
import {
  exportSchema,
  exportView,
  ITEMS_BODY,
  itemChangesSchema,
  itemPageSchema,
  itemParams,
  itemQuery,
  itemsOf,
  itemView,
  putItemsSchema,
  removedSchema,
  userParams,
} from '../wire/context.ts';

const USERS = '/v1/catalogs/{catalog}/users/{user}' as const;
const STAYS =
  'What outcomes added to sums over all requests cannot be taken out of them and stays: the weights of policies, the effects of instructions, the regression of `sufficiency`, counts. None of these holds queries or items.';

export const contextEndpoints = (contexts: UserContexts): Endpoint[] => [
  endpoint({
    method: 'put',
    path: `${USERS}/context`,
    name: 'putContext',
    tag: 'Context',
    summary: 'Put items of a user.',
    description:
      'Each takes the place of the one with its id, whatever their times say: what was put last counts. Others stay as they are. All of the request is put, or nothing.',
    request: { params: userParams, body: putItemsSchema },
    limits: ITEMS_BODY,
    example: {
      items: [
        { id: 'song-81', text: 'Playlist: Morning Run', store: 'music', kind: 'playlist', tags: ['sport'] },
      ],
    },
    answers: { 200: { description: 'What changed.', schema: itemChangesSchema } },
    problems: ['catalog-not-found', 'too-many-items', 'unavailable'],
    handle: async ({ params: { catalog, user }, body }, { signal }) => ({
      status: 200,
      body: await contexts.put(catalog, user, itemsOf(body.items, contexts.now()), signal),
    }),
  }),
  endpoint({
    method: 'get',
    path: `${USERS}/context`,
    name: 'listContext',
    tag: 'Context',
    summary: 'The items of a user, by id.',
    request: { params: userParams, query: itemQuery },
    answers: { 200: { description: 'One page.', schema: itemPageSchema } },
    problems: ['catalog-not-found', 'unavailable'],
    handle: async ({ params: { catalog, user }, query }) => {
      const { items, nextCursor } = await contexts.list(catalog, user, query);
      return { status: 200, body: { items: items.map(itemView), nextCursor } };
    },
  }),
  endpoint({
    method: 'delete',
    path: `${USERS}/context`,
    name: 'clearContext',
    tag: 'Context',
    summary: 'Delete all items of a user, and how they were used.',
    description:
      'What unit memory keeps stays: `DELETE /v1/catalogs/{catalog}/users/{user}` erases that as well.',
    request: { params: userParams },
    answers: { 200: { description: 'How many items were deleted.', schema: removedSchema } },
    problems: ['catalog-not-found', 'unavailable'],
    handle: async ({ params: { catalog, user } }) => ({
      status: 200,
      body: await contexts.remove(catalog, user),
    }),
  }),
  endpoint({
    method: 'delete',
    path: `${USERS}/context/{item}`,
    name: 'removeContextItem',
    tag: 'Context',
    summary: 'Delete one item of a user, and how it was used.',
    request: { params: itemParams },
    answers: { 200: { description: '`removed` is 0 if there was none.', schema: removedSchema } },
    problems: ['catalog-not-found', 'unavailable'],
    handle: async ({ params: { catalog, user, item } }) => ({
      status: 200,
      body: await contexts.remove(catalog, user, item),
    }),
  }),
  endpoint({
    method: 'get',
    path: `${USERS}/export`,
    name: 'exportUser',
    tag: 'Context',
    summary: 'Everything that can be read of what is held about a user.',
    description:
      'Items, and how they were used. Unit memory holds vectors and hashed words under a number, from which no text can be told.',
    request: { params: userParams },
    answers: { 200: { description: 'Items and usage.', schema: exportSchema } },
    problems: ['catalog-not-found', 'unavailable'],
    handle: async ({ params: { catalog, user } }) => ({
      status: 200,
      body: exportView(catalog, user, await contexts.export(catalog, user)),
    }),
  }),
  endpoint({
    method: 'delete',
    path: USERS,
    name: 'eraseUser',
    tag: 'Context',
    summary: 'Erase everything that is held about a user.',
    description: `Items, how they were used, the key that they were encrypted with, and every remembered case in which the user is known to have taken part. ${STAYS}`,
    request: { params: userParams },
    answers: { 200: { description: 'How many cases of memory were erased.', schema: forgottenSchema } },
    problems: ['catalog-not-found', 'unavailable'],
    handle: async ({ params: { catalog, user } }) => ({
      status: 200,
      body: await contexts.erase(catalog, user),
    }),
  }),
  endpoint({
    method: 'delete',
    path: '/v1/catalogs/{catalog}/units/{unit}/memory',
    name: 'forgetUnit',
    tag: 'Catalogs',
    summary: 'Erase what was remembered from a user, unit or session.',
    description: `Erases every remembered case in which it is known to have taken part, under the userId, else unitId, else sessionId of its requests, and the context of the user of that id. ${STAYS}`,
    request: { params: unitParams },
    answers: { 200: { description: 'How many cases were erased.', schema: forgottenSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params: { catalog, unit } }) => ({
      status: 200,
      body: await contexts.erase(catalog, unit),
    }),
  }),
];
