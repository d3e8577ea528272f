import { Redis } from 'ioredis';
import { type RedisServer, startRedis } from './redis-server.ts';

const SLOTS = 16_384;

/** Three nodes on this machine that share the slots among them. */
export interface RedisCluster {
  /** Of its first node; the others are found from there. */
  readonly url: string;
  readonly nodes: readonly RedisServer[];
  dispose(): Promise<void>;
}

export async function startCluster(): Promise<RedisCluster> {
  const options = ['--cluster-enabled', 'yes', '--cluster-node-timeout', '5000', '--appendonly', 'yes'];
  const nodes = await Promise.all([1, 2, 3].map(() => startRedis(options)));
  const admins = nodes.map(({ url }) => new Redis(url));
  const share = Math.ceil(SLOTS / nodes.length);
  for (const [at, admin] of admins.entries()) {
    const last = Math.min(SLOTS, (at + 1) * share) - 1;
    await admin.call('CLUSTER', 'ADDSLOTSRANGE', at * share, last);
    if (at > 0) await admin.call('CLUSTER', 'MEET', '127.0.0.1', nodes[0].port);
  }
  for (const admin of admins) {
    while (!(await isWhole(admin, nodes.length))) await new Promise((resolve) => setTimeout(resolve, 20));
    admin.disconnect();
  }
  return {
    url: nodes[0].url,
    nodes,
    dispose: async () => {
      await Promise.all(nodes.map((node) => node.dispose()));
    },
  };
}

async function isWhole(admin: Redis, nodes: number): Promise<boolean> {
  const info = String(await admin.call('CLUSTER', 'INFO'));
  return info.includes('cluster_state:ok') && info.includes(`cluster_known_nodes:${nodes}`);
}
