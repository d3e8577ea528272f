import { Problem, type Violation } from '../errors/problem.ts';
import type { SourceDefinition } from '../ledger/source-definition.ts';
import { referencesIn } from './secrets.ts';

/** What definitions that come over HTTP may say. */
export interface DefinitionRules {
  /** Programs may be started, and files of this machine read. */
  readonly allowLocal: boolean;
  /** What the names of variables begin with that may be referred to. */
  readonly secretPrefix: string;
}

/** Headers, variables and parameters of addresses with such names hold secrets. */
export const SECRET_NAME = /auth|cookie|token|secret|password|passwd|credential|api[-_]?key/i;

/**
 * Refuses a definition that came over HTTP and asks for what the operator did not allow, or has a secret in it.
 * @throws Problem validation-failed
 */
export function refuseDefinition(
  definition: SourceDefinition,
  { allowLocal, secretPrefix }: DefinitionRules,
): void {
  const violations: Violation[] = [];
  const isLocal = 'command' in definition || 'path' in definition;
  if (isLocal && !allowLocal) {
    const path = 'command' in definition ? 'command' : 'path';
    const message =
      'sources over HTTP may not start programs or read files of this machine unless the setting `localSources` (BANDOLIER_LOCAL_SOURCES=true) allows it';
    violations.push({ path, message });
  }
  if ('configured' in definition) {
    violations.push({
      path: 'configured',
      message: 'only the configuration of the process itself can say this',
    });
  }
  for (const { path, name, value, isNamed } of textsOf(definition)) {
    const references = referencesIn(value);
    const foreign = references.find((reference) => !reference.startsWith(secretPrefix));
    if (foreign !== undefined) {
      violations.push({
        path,
        message: `refers to ${foreign}, and may only refer to variables that begin with ${secretPrefix}`,
      });
    } else if (isNamed && SECRET_NAME.test(name) && references.length === 0) {
      violations.push({
        path,
        message: `has a secret in it, which would be stored: put it into a variable of the service, and refer to it with \${${secretPrefix}…}`,
      });
    }
  }
  if ('url' in definition && URL.canParse(definition.url)) {
    const { username, password } = new URL(definition.url);
    if (username + password !== '') {
      violations.push({
        path: 'url',
        message: 'must not hold a user and password: send a header in their place',
      });
    }
  }
  if (violations.length === 0) return;
  throw new Problem(
    'validation-failed',
    `${violations[0].path}: ${violations[0].message}.`,
    'Correct what `violations` lists. Nothing was changed.',
    { violations },
  );
}

interface Text {
  readonly path: string;
  /** Of the header, the variable or the parameter. */
  readonly name: string;
  readonly value: string;
  readonly isNamed: boolean;
}

function textsOf(definition: SourceDefinition): Text[] {
  const named = (member: string, values: Readonly<Record<string, string>> = {}): Text[] =>
    Object.entries(values).map(([name, value]) => ({
      path: `${member}.${name}`,
      name,
      value,
      isNamed: true,
    }));
  const plain = (path: string, value: string): Text => ({ path, name: path, value, isNamed: false });
  if ('command' in definition) {
    const { args = [], env } = definition;
    return [...args.map((arg, at) => plain(`args[${at}]`, arg)), ...named('env', env)];
  }
  if ('url' in definition) {
    const { url, headers } = definition;
    const query = new URLSearchParams(/\?([^#]*)/.exec(url)?.[1]);
    const parameters = Array.from(query, ([name, value]) => ({ path: 'url', name, value, isNamed: true }));
    return [plain('url', url), ...parameters, ...named('headers', headers)];
  }
  return [];
}
