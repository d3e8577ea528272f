import { endpoint } from '../endpoint.ts';
import type { Endpoint } from '../endpoint-definition.ts';
import type { CatalogsService } from '../services.ts';
import { unitParams } from '../wire/catalog.ts';
import { forgottenSchema } from '../wire/forgotten.ts';

export function forgetUnit(catalogs: Pick<CatalogsService, 'forgetUnit'>): Endpoint {
  return endpoint({
    method: 'delete',
    path: '/v1/catalogs/{catalog}/units/{unit}/memory',
    name: 'forgetUnit',
    tag: 'Catalogs',
    summary: 'Erase what was remembered from a user, unit or session.',
    description:
      'Erases every remembered case in which it is known to have taken part, under the userId, else unitId, else sessionId of its requests.',
    request: { params: unitParams },
    answers: { 200: { description: 'How many cases were erased.', schema: forgottenSchema } },
    problems: ['catalog-not-found'],
    handle: async ({ params }) => ({
      status: 200,
      body: await catalogs.forgetUnit(params.catalog, params.unit),
    }),
  });
}
