import { Problem } from '../errors/problem.ts';
import type { McpEndpoint, McpRequestInfo } from './mcp-endpoint.ts';

/** MCP over HTTP, loaded by the first request: many services are never asked for it, and its library takes long to load. */
export class McpOnDemand {
  readonly #load: () => Promise<McpEndpoint>;
  #loading: Promise<McpEndpoint> | null = null;
  /** null: nobody has asked yet, so there is nobody to tell anything. */
  #loaded: McpEndpoint | null = null;

  constructor(load: () => Promise<McpEndpoint>) {
    this.#load = load;
  }

  /** @throws Problem catalog-not-found, internal: it could not be loaded, which the next request tries again */
  async fetch(request: Request, info: McpRequestInfo): Promise<Response> {
    this.#loading ??= this.#loadOnce();
    return (await this.#loading).fetch(request, info);
  }

  mayHaveChanged(catalog: string): void {
    this.#loaded?.mayHaveChanged(catalog);
  }

  announceList(catalog: string, list: 'prompts' | 'resources'): void {
    this.#loaded?.announceList(catalog, list);
  }

  /** Also ends those of a request that waits for the library. */
  endStreams(): void {
    this.#loading?.then(
      (endpoint) => endpoint.endStreams(),
      () => {},
    );
  }

  async close(): Promise<void> {
    const endpoint = await this.#loading?.catch(() => null);
    await endpoint?.close();
  }

  async #loadOnce(): Promise<McpEndpoint> {
    try {
      this.#loaded = await this.#load();
      return this.#loaded;
    } catch (cause) {
      this.#loading = null;
      throw new Problem(
        'internal',
        'What answers MCP could not be loaded; the log of the service says why.',
        'Install the packages that package-lock.json names (`npm ci`), and start the service again.',
        { cause },
      );
    }
  }
}
