import { Cluster, type Redis } from 'ioredis';
import type { RedisClient } from '../../src/redis/redis-connection.ts';

/** Everything that is in Redis: names of keys, and values with the names of their fields. */
export async function contentOfRedis(client: RedisClient): Promise<Buffer> {
  const nodes = client instanceof Cluster ? client.nodes('master') : [client];
  const parts: Buffer[] = [];
  for (const node of nodes) {
    for (const key of await node.keys('*')) parts.push(Buffer.from(key), ...(await valuesOf(node, key)));
  }
  return Buffer.concat(parts);
}

async function valuesOf(node: Redis, key: string): Promise<Buffer[]> {
  const type = await node.type(key);
  switch (type) {
    case 'string':
      return [(await node.getBuffer(key)) ?? Buffer.alloc(0)];
    case 'hash':
      return Object.entries(await node.hgetallBuffer(key)).flatMap(([name, value]) => [
        Buffer.from(name),
        value,
      ]);
    case 'list':
      return node.lrangeBuffer(key, 0, -1);
    case 'set':
      return node.smembersBuffer(key);
    case 'zset':
      return node.zrangeBuffer(key, '0', '-1');
    case 'stream':
      return (await node.xrangeBuffer(key, '-', '+')).flatMap(([id, fields]) => [id, ...fields]);
    default:
      throw new Error(`Nothing reads a ${type} yet.`);
  }
}
