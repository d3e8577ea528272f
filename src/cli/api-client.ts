import { readFileSync } from 'node:fs';
import { setTimeout as wait } from 'node:timers/promises';
import { isLoopback } from '../../config/loopback.ts';
import type { Settings } from '../../config/settings.ts';
import { apiKeyFile } from '../service/api-key.ts';
import { settingsWith } from './options.ts';

/** What a service answered when it did not do what was asked. The message is for the person at the terminal. */
export class ApiProblem extends Error {
  override readonly name = 'ApiProblem';
  readonly status: number;
  readonly code: string;

  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** The path of a catalog in the API. */
export function catalogPath(catalog: string): string {
  return `/v1/catalogs/${encodeURIComponent(catalog)}`;
}

interface Conditions {
  /** The same key again gets the same answer again. */
  readonly idempotencyKey?: string;
  /** A revision that must not have changed. */
  readonly ifMatch?: string;
}

const MAX_ATTEMPTS = 8;

/** Talks to a running service over HTTP, as any other program would. */
export class ApiClient {
  readonly url: string;
  readonly #key: string | undefined;

  /** @param key what the service wants its requests to carry; default: the one that is set, or that of this machine's service */
  constructor(url: string, key = keyFor(url)) {
    this.url = url.endsWith('/') ? url.slice(0, -1) : url;
    this.#key = key;
  }

  get<Answer>(path: string): Promise<Answer> {
    return this.#request('GET', path);
  }

  post<Answer>(path: string, body: unknown, conditions?: Conditions): Promise<Answer> {
    return this.#request('POST', path, body, conditions);
  }

  put<Answer>(path: string, body: unknown): Promise<Answer> {
    return this.#request('PUT', path, body);
  }

  patch<Answer>(path: string, body: unknown, conditions?: Conditions): Promise<Answer> {
    return this.#request('PATCH', path, body, conditions);
  }

  delete<Answer = unknown>(path: string): Promise<Answer> {
    return this.#request('DELETE', path);
  }

  /** Busy services say when to come back; this does, a few times. */
  async #request<Answer>(
    method: string,
    path: string,
    body?: unknown,
    conditions: Conditions = {},
  ): Promise<Answer> {
    for (let attempt = 1; ; attempt++) {
      const response = await this.#send(method, path, body, conditions);
      const text = await response.text();
      if (response.ok) return (text === '' ? undefined : JSON.parse(text)) as Answer;
      const retryAfter = response.headers.get('retry-after');
      if (retryAfter === null || attempt === MAX_ATTEMPTS) throw problemOf(response.status, text);
      await wait(Number(retryAfter) * 1000);
    }
  }

  async #send(
    method: string,
    path: string,
    body: unknown,
    { idempotencyKey, ifMatch }: Conditions,
  ): Promise<Response> {
    const headers = {
      // Without a body as well: it shows that no form in a web page sent this.
      ...(method !== 'GET' && { 'content-type': 'application/json' }),
      ...(this.#key !== undefined && { authorization: `Bearer ${this.#key}` }),
      ...(idempotencyKey !== undefined && { 'idempotency-key': idempotencyKey }),
      ...(ifMatch !== undefined && { 'if-match': ifMatch }),
    };
    try {
      return await fetch(this.url + path, {
        method,
        headers,
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    } catch (error) {
      throw new ApiProblem(
        0,
        'no-answer',
        `No service answers at ${this.url} (${reasonOf(error)}). Start one with \`bandolier serve\`, or name another one with --url. What \`bandolier mcp\` learned is served by \`bandolier serve --data-dir ~/.bandolier\`.`,
      );
    }
  }
}

/** The setting `apiKey`; else, for a service of this machine, the key in the data folder, if it may be read. */
export function keyFor(
  url: string,
  { apiKey, dataDir }: Pick<Settings, 'apiKey' | 'dataDir'> = settingsWith().settings,
): string | undefined {
  if (apiKey !== undefined || !isHere(new URL(url).hostname)) return apiKey;
  try {
    return readFileSync(apiKeyFile(dataDir), 'utf8').trim();
  } catch {
    return undefined;
  }
}

const isHere = (host: string): boolean => isLoopback(host) || host === '0.0.0.0' || host === '[::]';

/** What is to be done at a terminal, where it is not what a program does that speaks HTTP. */
const FIXES: Readonly<Record<string, string>> = {
  unauthorized:
    'Set BANDOLIER_API_KEY to the key of the service. It stands in the file `api-key` in its data folder if it was not set there.',
  'catalog-not-found':
    'Create it by importing its tools: `bandolier import <file> --catalog <name>`; `bandolier catalogs list` shows those there are.',
  'source-not-found': '`bandolier sources list --catalog <name>` shows those there are.',
  'experiment-not-found': '`bandolier experiment list --catalog <name>` shows those there are.',
  'merge-conflict':
    '`bandolier merges list` shows how things stand; `bandolier merges propose --cancel` stops a run.',
  'merge-not-found': '`bandolier merges list --catalog <name>` shows those there are.',
  'training-conflict': '`bandolier context model` shows how the newest training ended.',
  'no-winner': 'Go on, or name the variant: `bandolier experiment promote <name> <variant>`.',
};

/** The same where the service says which request lists what there is. */
const LISTS: Readonly<Record<string, string>> = {
  'tool-not-found':
    '`bandolier stats --order shown` lists the tools that were shown, and `bandolier export` has all of them.',
  'version-not-found': '`bandolier report` names the one in force, and `bandolier export` has all of them.',
};

/** The definitions that wait for approval are listed by their source. */
const HELD = /GET \/v1\/catalogs\/([^/\s]+)\/sources\/(\S+) lists/;

interface ProblemBody {
  readonly code: string;
  readonly detail: string;
  readonly suggestedFix?: string;
  readonly violations?: readonly { readonly path: string; readonly message: string }[];
}

const MOST_VIOLATIONS = 10;

/** Members of requests that are options at a terminal. */
const OPTIONS: Readonly<Record<string, string>> = { tokenBudget: '--budget', sessionId: '--session' };

function inOptions(text: string): string {
  return text.replace(/\b(tokenBudget|sessionId)\b/g, (member) => OPTIONS[member]);
}

function problemOf(status: number, text: string): ApiProblem {
  try {
    const { code, detail, suggestedFix = '', violations = [] } = JSON.parse(text) as ProblemBody;
    const [, catalog, source] = HELD.exec(suggestedFix) ?? [];
    const held =
      source && `\`bandolier sources show ${source} --catalog ${catalog}\` shows what waits for approval.`;
    const fix =
      FIXES[code] ?? held ?? (suggestedFix.includes('GET /v1/') ? LISTS[code] : undefined) ?? suggestedFix;
    if (violations.length === 0) return new ApiProblem(status, code, inOptions(`${detail} ${fix}`));
    const some = violations.slice(0, MOST_VIOLATIONS);
    const rest = violations.length - some.length;
    const lines = [
      // Of a request that is not valid it says no more than that.
      ...(code === 'validation-failed' ? [] : [detail]),
      violations.length === 1 ? 'One value is refused:' : `${violations.length} values are refused:`,
      ...some.map(({ path, message }) => `  ${path}: ${message}`),
      ...(rest === 0 ? [] : [`  and ${rest} more`]),
      // Who reads this sees the list, and not the member of the answer that it was.
      ...(fix.includes('`violations`') ? [] : [fix]),
    ];
    return new ApiProblem(status, code, inOptions(lines.join('\n')).trimEnd());
  } catch {
    return new ApiProblem(status, 'unknown', `The service answered ${status}: ${text.slice(0, 200)}`);
  }
}

function reasonOf(error: unknown): string {
  const { cause, message } = error as Error;
  return (cause as NodeJS.ErrnoException | undefined)?.code ?? message;
}
