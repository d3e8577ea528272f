import type { Catalog } from '../catalog/catalog.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import type { CallTarget } from '../gateway/call.ts';
import { Gateway, type GatewayOptions } from '../gateway/gateway.ts';
import type { McpServer } from '../ledger/source-definition.ts';
import { describeRest, type ToolServers } from '../mcp/tool-servers.ts';
import type { McpAddress } from '../outgoing/mcp/mcp-connection.ts';
import type { ServerTools } from '../sources/read-source.ts';
import type { Sources } from '../sources/sources.ts';
import type { SourceRecord } from '../state/source-table.ts';

export interface CatalogGatewayParts {
  readonly catalogs: Pick<Catalogs, 'find' | 'get'>;
  readonly sources: Pick<Sources, 'targetOf'>;
  readonly open: GatewayOptions['open'];
  /** How a server is reached, with secrets in place; looked up when it is started. @throws Error that says what is missing */
  addressOf(source: string, definition: McpServer): McpAddress;
  /** Whether a server of the configuration is started at once and kept running. */
  isEager(source: string): boolean;
  /** Something that a server lists is another than before. */
  onListChanged(catalog: string, source: string, list: 'tools' | 'prompts' | 'resources'): void;
  log(catalog: string, server: string, line: string): void;
  /** Takes the values of secrets out of a text. */
  hide(text: string): string;
}

interface Kept {
  readonly gateway: Gateway;
  /** Definitions of its servers as JSON, by name. */
  readonly definitions: Map<string, string>;
}

/** The gateways of all catalogs: their servers are the sources of kind `mcp`. */
export class CatalogGateways implements ToolServers {
  readonly #parts: CatalogGatewayParts;
  readonly #kept = new Map<string, Kept>();
  /** Gateways that are being closed. */
  readonly #ending = new Set<Promise<void>>();

  constructor(parts: CatalogGatewayParts) {
    this.#parts = parts;
  }

  targetOf(catalog: string, tool: string): CallTarget | null {
    return this.#parts.sources.targetOf(catalog, tool);
  }

  /** @throws as `Catalogs.get` does */
  of(name: string): Gateway {
    const catalog = this.#parts.catalogs.get(name);
    const kept = this.#kept.get(name) ?? this.#made(catalog);
    this.#follow(catalog, kept);
    return kept.gateway;
  }

  /** Names of the tools that cannot be called now, since their servers are down. */
  unavailable(catalog: string): readonly string[] {
    const down = this.#kept.get(catalog)?.gateway.down;
    if (down === undefined || down.size === 0) return [];
    const records = this.#parts.catalogs.get(catalog).state.tools.live();
    return Array.from(records).flatMap(({ source, tool }) => (down.has(source) ? tool.name : []));
  }

  /** The server of a source, if it runs here. */
  running(catalog: string, source: string): ServerTools | null {
    return this.#kept.get(catalog)?.gateway.running(source) ?? null;
  }

  /** The sources of a catalog may be others than before. Servers that are to run at once are started. */
  changed(name: string): void {
    const catalog = this.#parts.catalogs.find(name);
    if (catalog === undefined) return;
    const sources = [...catalog.state.sources.all()];
    if (this.#kept.has(name) || sources.some((source) => this.#isEager(source))) this.of(name);
  }

  async close(): Promise<void> {
    for (const { gateway } of this.#kept.values()) this.#end(gateway);
    await Promise.all(this.#ending);
  }

  #made(catalog: Catalog): Kept {
    const { open, log, hide, onListChanged } = this.#parts;
    const { name, closed } = catalog;
    const gateway = new Gateway({
      ...{ open, describeRest, hide },
      log: (server, line) => log(name, server, line),
      onListChanged: (server, list) => onListChanged(name, server, list),
    });
    const kept = { gateway, definitions: new Map() };
    this.#kept.set(name, kept);
    const end = (): void => {
      // Another catalog of this name may be there by now.
      if (this.#kept.get(name) === kept) this.#kept.delete(name);
      this.#end(gateway);
    };
    closed.addEventListener('abort', end, { once: true });
    return kept;
  }

  #end(gateway: Gateway): void {
    const end = gateway.close().finally(() => this.#ending.delete(end));
    this.#ending.add(end);
  }

  #isEager({ name, definition }: Pick<SourceRecord, 'name' | 'definition'>): boolean {
    return 'configured' in definition && this.#parts.isEager(name);
  }

  /** Makes the servers those that the catalog has now. */
  #follow({ state }: Catalog, { gateway, definitions }: Kept): void {
    const { addressOf } = this.#parts;
    const now = new Map<string, string>();
    for (const source of state.sources.all()) {
      const { name, definition } = source;
      if (definition.kind !== 'mcp') continue;
      const json = JSON.stringify(definition);
      now.set(name, json);
      if (definitions.get(name) === json) continue;
      definitions.set(name, json);
      gateway.put(name, { address: () => addressOf(name, definition), eager: this.#isEager(source) });
    }
    for (const name of [...definitions.keys()]) {
      if (now.has(name)) continue;
      definitions.delete(name);
      void gateway.remove(name);
    }
  }
}
