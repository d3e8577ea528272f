import type { RedisClient } from './redis-connection.ts';

/** Two members may share a score; so many that a page holds nothing else have to fit into one, which is then larger. */
const PAGE = 500;

/**
 * Members of a sorted set from this score on, in order, a page at a time. Pages begin behind the last member that was
 * read, not at a rank: what leaves the set meanwhile, or joins it, hides nobody who was there from the start.
 */
export async function* membersByScore(
  client: RedisClient,
  key: string,
  from: number | '-inf' = '-inf',
  page = PAGE,
): AsyncGenerator<string[]> {
  let score = String(from);
  let last: Buffer | null = null;
  for (let limit = page; ; ) {
    const found = await client.zrange(key, score, '+inf', 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES');
    const members: string[] = [];
    for (let at = 0; at < found.length; at += 2) {
      // Redis orders members of one score by their bytes.
      const isRead = last !== null && found[at + 1] === score && last.compare(Buffer.from(found[at])) >= 0;
      if (!isRead) members.push(found[at]);
    }
    const isLastPage = found.length < 2 * limit;
    if (members.length > 0) {
      yield members;
      last = Buffer.from(members[members.length - 1]);
      score = found[found.length - 1];
      limit = page;
    } else limit *= 2;
    if (isLastPage) return;
  }
}
