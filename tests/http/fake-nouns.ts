import { Problem } from '../../src/errors/problem.ts';
import { Admission } from '../../src/http/admission.ts';
import { createApp, type Nouns } from '../../src/http/app.ts';

type FakeNouns = { readonly [Name in keyof Nouns]?: Partial<Nouns[Name]> };

/** An app over just the functions a test needs, and what it logged. */
export function appWith(nouns: FakeNouns = {}, admission = new Admission()) {
  const logged: object[] = [];
  const log = { error: (fields: object) => void logged.push(fields) };
  const positions = { of: () => null, reached: async () => {} };
  const app = createApp({ positions, ...nouns } as unknown as Nouns, admission, log);
  const json = (method: string, path: string, body?: unknown, headers: Record<string, string> = {}) =>
    app.request(path, {
      method,
      headers: { ...(body !== undefined && { 'content-type': 'application/json' }), ...headers },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
  return { app, admission, logged, json };
}

export const notFound = new Problem('catalog-not-found', 'There is no catalog "x".', 'Create it.');
