import { existsSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { readSettings } from '../../config/read-settings.ts';
import { serveCommand } from '../../src/cli/serve.ts';
import { workCommand } from '../../src/cli/work.ts';
import { RedisConnections } from '../../src/redis/redis-connection.ts';
import { Metrics } from '../../src/service/metrics.ts';
import { redisProgram, startRedis } from '../redis/redis-server.ts';

interface Service {
  readonly image?: string;
  readonly build?: string;
  readonly command?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  readonly network_mode?: string;
  readonly ports?: readonly string[];
  readonly volumes?: readonly string[];
  readonly depends_on?: Readonly<Record<string, unknown>>;
}

const root = new URL('../../', import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, root), 'utf8');
const compose = parse(read('examples/compose/compose.yaml'), { merge: true });
const services: Readonly<Record<string, Service>> = compose.services;
const ours = Object.entries(services).filter(([, { build }]) => build !== undefined);
const routers = ours.filter(([name]) => name.startsWith('router'));
const PINNED = /^[a-z/]+:v?\d+\.\d+\.\d+(-[a-z-]+)?$/;
const balancedPorts = (text: string): string[] =>
  [...text.matchAll(/^ {2}server router-\d 127\.0\.0\.1:(\d+)$/gm)].map(([, port]) => port);

describe('examples/compose', () => {
  it('has two routers, two workers, Redis, a balancer and Prometheus, all images pinned', () => {
    const expected = ['redis', 'balancer', 'router-1', 'router-2', 'worker-1', 'worker-2', 'prometheus'];
    expect(Object.keys(services)).toEqual(expected);
    for (const { image } of Object.values(services)) expect(image).toMatch(PINNED);
    const { version } = JSON.parse(read('package.json'));
    for (const [, { image, build }] of ours) {
      expect([image, build]).toEqual([`bandolier:${version}`, '../..']);
    }
  });

  it.each(ours)('%s runs a command that exists, with settings that exist', (_, service) => {
    const [command, ...words] = service.command ?? [];
    const known = [serveCommand(), workCommand()].find((one) => one.name() === command);
    const options = words.filter((word) => word.startsWith('--'));
    for (const option of options) expect(known?.options.map(({ long }) => long)).toContain(option);
    expect(known).toBeDefined();
    const { settings, sources } = readSettings({ environment: service.environment, folder: '/nowhere' });
    expect(sources.redisUrl).toBe('environment');
    expect(Object.keys(services)).toContain(new URL(settings.redisUrl ?? '').hostname);
  });

  it('every part that is waited for, shared or mounted is there', () => {
    const volumes = Object.keys(compose.volumes);
    for (const { network_mode, depends_on = {}, volumes: mounts = [] } of Object.values(services)) {
      for (const other of Object.keys(depends_on)) expect(Object.keys(services)).toContain(other);
      if (network_mode !== undefined) expect(network_mode).toBe('service:balancer');
      for (const mount of mounts) {
        const [source] = mount.split(':');
        if (source.startsWith('./')) {
          expect(existsSync(new URL(`examples/compose/${source}`, root))).toBe(true);
        } else expect(volumes).toContain(source);
      }
    }
    const folders = routers.map(([, { volumes: mounts = [] }]) => mounts[0]);
    expect(new Set(folders).size).toBe(routers.length);
  });

  it('stops more slowly than the service does', () => {
    for (const [, service] of ours) {
      const { stop_grace_period } = service as { stop_grace_period?: string };
      const { settings } = readSettings({ environment: service.environment, folder: '/nowhere' });
      expect(Number.parseInt(stop_grace_period ?? '0', 10)).toBeGreaterThan(settings.shutdownSeconds);
    }
  });

  it('routers, balancer and Prometheus mean the same ports, on loopback', () => {
    const ports = routers.map(([, { environment }]) => environment?.BANDOLIER_PORT);
    expect(balancedPorts(read('examples/compose/haproxy.cfg'))).toEqual([...ports, ...ports]);
    const prometheus = parse(read('examples/compose/prometheus.yml'));
    const [{ static_configs }] = prometheus.scrape_configs;
    const targets = static_configs.flatMap(({ targets: some }: { targets: string[] }) => some);
    expect(targets).toEqual(ports.map((port) => `127.0.0.1:${port}`));
    expect(prometheus.rule_files).toEqual(['alarms.yml']);
    const [, bound] = /bind :(\d+)/.exec(read('examples/compose/haproxy.cfg')) ?? [];
    expect(services.balancer.ports).toEqual([`127.0.0.1:${bound}:${bound}`, '127.0.0.1:9090:9090']);
  });

  it('alarms look at metrics that exist', async () => {
    const text = await new Metrics().text();
    const { groups } = parse(read('examples/compose/alarms.yml'));
    const rules: { alert: string; expr: string }[] = groups.flatMap(({ rules: some }: never) => some);
    expect(rules.length).toBeGreaterThan(5);
    for (const { expr } of rules) {
      for (const [name] of expr.matchAll(/bandolier_\w+/g)) {
        expect(text).toContain(`# TYPE ${name.replace(/_bucket$/, '')} `);
      }
    }
  });

  it.skipIf(redisProgram.path === null)(
    `its Redis is set as we advise${redisProgram.missing ?? ''}`,
    async () => {
      const [program, ...settings] = services.redis.command ?? [];
      expect(program).toBe('redis-server');
      const redis = await startRedis(settings);
      const connections = await RedisConnections.open(redis.url);
      expect(await connections.advice()).toEqual([]);
      connections.close();
      await redis.dispose();
    },
  );
});

describe('the Dockerfile', () => {
  const lines = read('Dockerfile').split('\n');

  it('starts from a pinned Node that is new enough, and does not run as root', () => {
    const bases = lines.filter((line) => line.startsWith('FROM')).map((line) => line.split(' ')[1]);
    expect(bases).toHaveLength(2);
    for (const base of bases) expect(base).toMatch(PINNED);
    expect(new Set(bases).size).toBe(1);
    const user = lines.indexOf('USER node');
    expect(user).toBeGreaterThan(0);
    expect(user).toBeLessThan(lines.findIndex((line) => line.startsWith('ENTRYPOINT')));
  });

  it('copies what exists, and what .dockerignore lets through', () => {
    const allowed = read('.dockerignore').split('\n').filter(Boolean);
    const copies = lines.filter((line) => line.startsWith('COPY') && !line.includes('--from='));
    const sources = copies.flatMap((line) => line.split(' ').slice(1, -1));
    expect(sources.length).toBeGreaterThan(8);
    for (const source of sources) {
      expect(existsSync(new URL(source, root))).toBe(true);
      expect(allowed.some((line) => line.startsWith('!') && source.startsWith(line.slice(1)))).toBe(true);
    }
    // What the package names as its own has to be in the image as well.
    const copied = lines.filter((line) => line.startsWith('COPY')).join('\n');
    for (const file of ['dist', 'bandit/kernels/kernels.wasm', 'models', 'openapi.json', 'LICENSE']) {
      expect(copied).toContain(file);
    }
  });
});
