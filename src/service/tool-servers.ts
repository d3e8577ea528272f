import { readVariable, SECRET_PREFIX } from '../../config/secrets.ts';
import type { Catalogs } from '../catalog/catalogs.ts';
import { isStoreAway } from '../errors/store-errors.ts';
import { toolFaults } from '../http/wire/tool-faults.ts';
import type { McpAddress } from '../outgoing/mcp/mcp-connection.ts';
import { addressOf } from '../sources/read-source.ts';
import { startSyncs } from '../sources/run-sync.ts';
import { Secrets } from '../sources/secrets.ts';
import { Sources } from '../sources/sources.ts';
import { CatalogGateways } from './catalog-gateways.ts';
import type { Core } from './core.ts';
import { serverOpener } from './open-server.ts';

/** How long it may take to read a source. */
const SYNC_TIMEOUT_MS = 120_000;

/** MCP servers in a configuration that this process was started with. */
export interface ConfiguredServers {
  get(name: string): ConfiguredServer | undefined;
}

export interface ConfiguredServer {
  /** How it is reached, with secrets in place. @throws Error that says what is missing */
  address(secrets: Secrets): McpAddress;
  readonly isEager: boolean;
  /** Its tools could not be read; `why` is a sentence for people. */
  onUnreadable(why: string): void;
}

/** Sources of tools, and the MCP servers among them. */
export interface ToolServers {
  readonly sources: Sources;
  readonly gateways: CatalogGateways;
}

/**
 * Opens the gateways of all catalogs, and starts what reads sources.
 * @param announceList tells the MCP clients of a catalog that one of its servers lists other prompts or resources than before
 */
export function openToolServers(
  core: Core,
  catalogs: Catalogs,
  configured: ConfiguredServers,
  announceList: (catalog: string, list: 'prompts' | 'resources') => void,
): ToolServers {
  const { settings, log, stores, onError, onClose } = core;
  const { queue } = stores;
  // Tokens end by the clock of the world, which the command that logs in goes by, too.
  const openServer = serverOpener(settings, Date.now);
  const secrets = new Secrets(readVariable);
  const { read, hide } = secrets;
  const configuredServer = (name: string) => {
    const server = configured.get(name);
    return server && { address: () => server.address(secrets) };
  };
  const sources = new Sources(catalogs, {
    queue,
    rules: { allowLocal: settings.localSources, secretPrefix: SECRET_PREFIX },
  });
  const gateways = new CatalogGateways({
    ...{ catalogs, sources, hide },
    open: openServer,
    addressOf: (name, definition) => addressOf(name, definition, { configuredServer, readVariable: read }),
    isEager: (name) => configured.get(name)?.isEager === true,
    onListChanged: (catalog, source, list) => {
      if (list !== 'tools') announceList(catalog, list);
      else
        sources
          .refresh(catalog, source)
          .catch((error) => isStoreAway(error) || onError('a changed list was not read', error));
    },
    log: (catalog, server, line) => log.info({ catalog, server }, line),
  });
  const syncs = startSyncs({
    ...{ queue, catalogs, readVariable: read, hide, onError, faultsOf: toolFaults },
    isShared: stores.mode === 'redis',
    timeoutMs: SYNC_TIMEOUT_MS,
    allowPrivate: settings.allowPrivateHosts,
    configuredServer,
    onUnreadable: (catalog, source, why) => {
      const server = configured.get(source);
      if (server === undefined) log.warn({ catalog }, `Source "${source}" could not be read: ${why}`);
      else server.onUnreadable(why);
    },
    connect: openServer,
    running: (catalog, source) => gateways.running(catalog, source),
  });
  onClose(() => syncs.close());
  onClose(() => gateways.close());
  for (const { name } of catalogs.all()) gateways.changed(name);
  return { sources, gateways };
}
