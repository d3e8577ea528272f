import type { GetPromptResult, ReadResourceResult } from '@modelcontextprotocol/client';
import type { McpAnswer } from '../outgoing/mcp/mcp-connection.ts';
import { type CallOptions, requestOf } from './call.ts';
import { nameInside, nameOutside, uriInside, uriOutside, withLinksOutside } from './proxied-names.ts';
import type { Server } from './server.ts';

/** Servers that are started at once to be asked for their lists. */
const STARTS_AT_ONCE = 4;

type List = 'listPrompts' | 'listResources' | 'listResourceTemplates';
type Item = Readonly<Record<string, unknown>>;

/** A list as a server gave it. */
interface Listed {
  readonly items: readonly Item[];
  /** When it is asked for again, ms. */
  readonly until: number;
}

/** The servers of a gateway, by name. */
export interface NamedServers {
  keys(): Iterable<string>;
  /** @throws McpError unreachable: there is none of this name. */
  get(name: string): Server;
  log(name: string, line: string): void;
  /** Durations on a steady clock, ms. */
  now(): number;
}

/**
 * What servers offer besides tools: prompts, resources and completions, by names that say which server they are from.
 * What a server has listed is kept until it says that a list has changed, starts again, or the time is over for which it stated that the
 * list holds, so that it need not run to be listed.
 */
export class ServerOffers {
  readonly #servers: NamedServers;
  readonly #listed = new Map<string, Map<List, Listed>>();

  constructor(servers: NamedServers) {
    this.#servers = servers;
  }

  /** Prompts of all servers; servers that have not been asked yet are started for it, a few at once. */
  async listPrompts(signal?: AbortSignal): Promise<readonly Item[]> {
    return this.#listAll('listPrompts', signal, (server, prompt) => ({
      ...prompt,
      name: nameOutside(server, String(prompt.name)),
    }));
  }

  /** @throws McpError */
  async getPrompt(
    name: string,
    args: Readonly<Record<string, string>>,
    options: CallOptions = {},
  ): Promise<McpAnswer<GetPromptResult>> {
    const there = nameInside(name, 'prompt');
    const answer = await this.#servers
      .get(there.server)
      .use((connection) => connection.getPrompt(there.name, args, requestOf(options)), options.signal);
    return outside(there.server, answer);
  }

  async listResources(signal?: AbortSignal): Promise<readonly Item[]> {
    return this.#listAll('listResources', signal, (server, resource) => ({
      ...resource,
      uri: uriOutside(server, String(resource.uri)),
    }));
  }

  async listResourceTemplates(signal?: AbortSignal): Promise<readonly Item[]> {
    return this.#listAll('listResourceTemplates', signal, (server, template) => ({
      ...template,
      uriTemplate: uriOutside(server, String(template.uriTemplate)),
    }));
  }

  /** @throws McpError */
  async readResource(uri: string, options: CallOptions = {}): Promise<McpAnswer<ReadResourceResult>> {
    const there = uriInside(uri);
    const answer = await this.#servers
      .get(there.server)
      .use((connection) => connection.readResource(there.uri, requestOf(options)), options.signal);
    return outside(there.server, answer);
  }

  /** `completion/complete` for an argument of a prompt or of a template of resources. @throws McpError */
  async complete(
    params: Readonly<Record<string, unknown>>,
    options: CallOptions = {},
  ): Promise<McpAnswer<Record<string, unknown>>> {
    const ref = params.ref as Readonly<Record<string, unknown>> | undefined;
    const { server, ...named } =
      ref?.type === 'ref/prompt' ? nameInside(String(ref.name), 'prompt') : uriInside(String(ref?.uri));
    const paramsThere = { ...params, ref: { ...ref, ...named } };
    return this.#servers
      .get(server)
      .use(
        (connection) => connection.request('completion/complete', paramsThere, requestOf(options)),
        options.signal,
      );
  }

  /** The next list asks this server again. */
  forget(server: string): void {
    this.#listed.delete(server);
  }

  async #listAll(
    list: List,
    signal: AbortSignal | undefined,
    outsideOf: (server: string, item: Item) => Item,
  ): Promise<readonly Item[]> {
    const names = [...this.#servers.keys()];
    const lists = new Map<string, readonly Item[]>();
    const waiting = names.values();
    const ask = async () => {
      for (const name of waiting) {
        try {
          lists.set(name, await this.#listOf(name, list, signal));
        } catch (error) {
          // One server that fails does not hide what the others offer.
          lists.set(name, this.#listed.get(name)?.get(list)?.items ?? []);
          if (!signal?.aborted) this.#servers.log(name, `${list} failed: ${(error as Error).message}`);
        }
      }
    };
    await Promise.all(Array.from({ length: STARTS_AT_ONCE }, ask));
    return names.flatMap((name) => (lists.get(name) ?? []).map((item) => outsideOf(name, item)));
  }

  async #listOf(name: string, list: List, signal: AbortSignal | undefined): Promise<readonly Item[]> {
    const server = this.#servers.get(name);
    const known = this.#listed.get(name)?.get(list);
    if (known !== undefined && this.#servers.now() < known.until) return known.items;
    if (server.status.state === 'down') return known?.items ?? [];
    const options = signal === undefined ? {} : { signal };
    return server.use(async (connection) => {
      // Looked up when the server runs, since its start makes what was known forgotten; and before it is asked, so that what is
      // forgotten meanwhile stays forgotten.
      const listed = this.#listed.get(name) ?? new Map<List, Listed>();
      this.#listed.set(name, listed);
      const { items, ttlMs } = await connection[list](options);
      listed.set(list, {
        items,
        until: ttlMs === null ? Number.POSITIVE_INFINITY : this.#servers.now() + ttlMs,
      });
      return items;
    }, signal);
  }
}

function outside<Result extends object>(server: string, answer: McpAnswer<Result>): McpAnswer<Result> {
  if (answer.kind !== 'complete') return answer;
  return { kind: 'complete', result: withLinksOutside(server, answer.result) };
}
