import { afterEach, expect, it } from 'vitest';
import type { Catalogs } from '../../src/catalog/catalogs.ts';
import type { McpConnection } from '../../src/outgoing/mcp/mcp-connection.ts';
import { CatalogGateways } from '../../src/service/catalog-gateways.ts';
import { until } from '../e2e/running-service.ts';

/** Catalogs whose sources are servers of a configuration. */
class StubCatalogs {
  readonly #open = new Map<string, { name: string; sources: string[]; closing: AbortController }>();

  create(name: string, sources: string[]): void {
    this.#open.set(name, { name, sources, closing: new AbortController() });
  }

  delete(name: string): void {
    const catalog = this.#open.get(name);
    this.#open.delete(name);
    catalog?.closing.abort();
  }

  find(name: string) {
    const catalog = this.#open.get(name);
    if (catalog === undefined) return undefined;
    const all = () =>
      catalog.sources.map((source) => ({ name: source, definition: { kind: 'mcp', configured: true } }));
    return { name, closed: catalog.closing.signal, state: { sources: { all } } };
  }

  get(name: string) {
    const catalog = this.find(name);
    if (catalog === undefined) throw new Error(`no catalog ${name}`);
    return catalog;
  }
}

const open: CatalogGateways[] = [];
afterEach(async () => {
  for (const gateways of open.splice(0)) await gateways.close();
});

function gatewaysOf(catalogs: StubCatalogs, eager: readonly string[] = []) {
  const running: string[] = [];
  const gateways = new CatalogGateways({
    catalogs: catalogs as unknown as Catalogs,
    sources: { targetOf: () => null },
    open: async (server) => {
      running.push(server);
      const connection: Partial<McpConnection> = {
        era: '2025-11-25',
        closed: new Promise(() => {}),
        onListChanged: () => () => {},
        callTool: async () => ({ kind: 'complete', result: { content: [] } }),
        close: async () => void running.splice(running.indexOf(server), 1),
      };
      return connection as McpConnection;
    },
    addressOf: (source) => ({ command: source }),
    isEager: (source) => eager.includes(source),
    onListChanged: () => {},
    hide: (text: string) => text,
    log: () => {},
  });
  open.push(gateways);
  return { gateways, running };
}

it('the servers of a catalog end when it is deleted, and one of its name has its own', async () => {
  const catalogs = new StubCatalogs();
  catalogs.create('shop', ['orders']);
  const { gateways, running } = gatewaysOf(catalogs);
  const call = () => gateways.of('shop').call({ source: 'orders', nameThere: 'list' }, {});
  expect((await call()).kind).toBe('ok');
  expect(running).toEqual(['orders']);
  const before = gateways.of('shop');
  catalogs.delete('shop');
  await until(() => running.length === 0);
  expect(() => gateways.of('shop')).toThrow('no catalog');
  catalogs.create('shop', ['orders']);
  expect(gateways.of('shop')).not.toBe(before);
  expect((await call()).kind).toBe('ok');
  expect(running).toEqual(['orders']);
});

it('eager servers run before anybody asks for them, others do not', async () => {
  const catalogs = new StubCatalogs();
  catalogs.create('shop', ['orders', 'mail']);
  catalogs.create('lab', ['notes']);
  const { gateways, running } = gatewaysOf(catalogs, ['mail']);
  for (const name of ['shop', 'lab', 'gone']) gateways.changed(name);
  await until(() => running.length > 0);
  expect(running).toEqual(['mail']);
  expect(gateways.running('shop', 'mail')).not.toBeNull();
  expect(gateways.running('shop', 'orders')).toBeNull();
});
