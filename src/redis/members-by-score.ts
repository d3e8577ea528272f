import type { RedisClient } from './redis-connection.ts';

/** Members per page. A page grows where more members than that share one score. */
const PAGE = 500;

export interface ScoredMember {
  readonly member: string;
  /** As Redis writes it. */
  readonly score: string;
}

export interface ScoreOrder {
  /** The smallest score that counts; absent: all do. */
  readonly least?: number;
  /** Largest scores first. */
  readonly descending?: boolean;
  /** The member to go on after, in this order; it need not be there any more. Absent: from the beginning. */
  readonly after?: ScoredMember;
  readonly page?: number;
}

/**
 * Yields the members of a sorted set in order of their scores, a page at a time. A page begins after the last member
 * that was read, not at a rank: members that leave or join meanwhile make it skip none that was there from the start.
 */
export async function* membersByScore(
  client: RedisClient,
  key: string,
  { least, descending = false, after, page = PAGE }: ScoreOrder = {},
): AsyncGenerator<ScoredMember[]> {
  const lowest = least === undefined ? '-inf' : String(least);
  const find = (score: string, limit: number): Promise<string[]> =>
    descending
      ? client.zrange(key, score, lowest, 'BYSCORE', 'REV', 'LIMIT', 0, limit, 'WITHSCORES')
      : client.zrange(key, score, '+inf', 'BYSCORE', 'LIMIT', 0, limit, 'WITHSCORES');
  let last = after;
  for (let limit = page; ; ) {
    const found = await find(last?.score ?? (descending ? '+inf' : lowest), limit);
    const members: ScoredMember[] = [];
    for (let at = 0; at < found.length; at += 2) {
      const next = { member: found[at], score: found[at + 1] };
      if (last === undefined || !isRead(next, last, descending)) members.push(next);
    }
    const isLastPage = found.length < 2 * limit;
    if (members.length > 0) {
      yield members;
      last = members[members.length - 1];
      limit = page;
    } else limit *= 2;
    if (isLastPage) return;
  }
}

/** Redis orders members of one score by their bytes. */
function isRead(next: ScoredMember, last: ScoredMember, descending: boolean): boolean {
  if (next.score !== last.score) return false;
  const order = Buffer.from(next.member).compare(Buffer.from(last.member));
  return descending ? order >= 0 : order <= 0;
}
