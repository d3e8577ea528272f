import type { Catalogs } from '../catalog/catalogs.ts';
import type { CallTarget } from '../gateway/call.ts';
import { Gateway, type GatewayOptions } from '../gateway/gateway.ts';
import type { McpServer } from '../ledger/source-definition.ts';
import { describeRest, type ToolServers } from '../mcp/tool-servers.ts';
import type { McpAddress } from '../outgoing/mcp/mcp-connection.ts';
import type { ServerTools } from '../sources/read-source.ts';
import type { Sources } from '../sources/sources.ts';

export interface CatalogGatewayParts {
  readonly catalogs: Catalogs;
  readonly sources: Sources;
  readonly open: GatewayOptions['open'];
  /** How a server is reached, with secrets in place; looked up when it is started. @throws Error that says what is missing */
  addressOf(source: string, definition: McpServer): McpAddress;
  /** Whether a server is started at once and kept running. */
  isEager(source: string): boolean;
  /** Something that a server lists is another than before. */
  onListChanged(catalog: string, source: string, list: 'tools' | 'prompts' | 'resources'): void;
  log(catalog: string, server: string, line: string): void;
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

  constructor(parts: CatalogGatewayParts) {
    this.#parts = parts;
  }

  targetOf(catalog: string, tool: string): CallTarget | null {
    return this.#parts.sources.targetOf(catalog, tool);
  }

  of(catalog: string): Gateway {
    const kept = this.#kept.get(catalog) ?? this.#made(catalog);
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

  /** The sources of a catalog may be others than before. */
  changed(catalog: string): void {
    const kept = this.#kept.get(catalog);
    if (kept !== undefined) this.#follow(catalog, kept);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#kept.values()].map(({ gateway }) => gateway.close()));
  }

  #made(catalog: string): Kept {
    const { open, log, onListChanged } = this.#parts;
    const gateway = new Gateway({
      ...{ open, describeRest },
      log: (server, line) => log(catalog, server, line),
      onListChanged: (server, list) => onListChanged(catalog, server, list),
    });
    const kept = { gateway, definitions: new Map() };
    this.#kept.set(catalog, kept);
    return kept;
  }

  /** Makes the servers those that the catalog has now; a catalog that was deleted has none. */
  #follow(catalog: string, { gateway, definitions }: Kept): void {
    const { catalogs, addressOf, isEager } = this.#parts;
    const now = new Map<string, string>();
    for (const { name, definition } of catalogs.find(catalog)?.state.sources.all() ?? []) {
      if (definition.kind !== 'mcp') continue;
      const json = JSON.stringify(definition);
      now.set(name, json);
      if (definitions.get(name) === json) continue;
      definitions.set(name, json);
      gateway.put(name, { address: () => addressOf(name, definition), eager: isEager(name) });
    }
    for (const name of [...definitions.keys()]) {
      if (now.has(name)) continue;
      definitions.delete(name);
      void gateway.remove(name);
    }
  }
}
