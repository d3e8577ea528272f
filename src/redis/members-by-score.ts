import type { RedisClient } from './redis-connection.ts';

/** Members per page. A page grows where more members than that share one score. */
const PAGE = 500;

/**
 * Yields the members of a sorted set from this score on, in order, a page at a time. A page begins after the last member
 * that was read, not at a rank: members that leave or join meanwhile make it skip none that was there from the start.
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
