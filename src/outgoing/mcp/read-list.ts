import { type Listed, type McpAnswer, McpError } from './mcp-connection.ts';

const MAX_BYTES = 64_000_000;
const MAX_ITEMS = 10_000;
/** How often a list that changes while it is paged is read before it is taken as it came. */
const MAX_READINGS = 4;

/** Where a list of MCP is found: the method that asks for it, its member in the answer, and the member that names an entry. */
export interface ListPlace {
  readonly method: string;
  readonly member: string;
  readonly key: string;
}

export interface ListReading {
  /** Asks for one page: `{}` for the first, then `{cursor}`. @throws McpError */
  page(params: Readonly<Record<string, unknown>>): Promise<McpAnswer<Record<string, unknown>>>;
  /** How many changes of the list the server has announced so far. */
  changes(): number;
  /** Gets what is wrong with the list and does no harm. */
  log(line: string): void;
}

/**
 * Lists that come in pages, read whole: at most 10,000 entries and 64 MB of JSON. A list that changes meanwhile is read
 * again, up to four times in all. Entries without a name are left out, and of two with one name the second.
 * @throws McpError nonsense: too long, a page that is none, or the same page again.
 */
export async function readList<Item>(place: ListPlace, reading: ListReading): Promise<Listed<Item>> {
  const { method } = place;
  for (let attempt = 1; ; attempt++) {
    const changes = reading.changes();
    const { items, ttlMs, doubles, broken } = await readPages(place, reading).catch((error) => {
      // A cursor of a list that has changed is refused.
      if (attempt < MAX_READINGS && isCursorRefused(error))
        return { items: [], ttlMs: null, doubles: 0, broken: true };
      throw error;
    });
    const isSteady = !broken && doubles === 0 && reading.changes() === changes;
    if (!isSteady && attempt < MAX_READINGS) continue;
    if (doubles > 0) reading.log(`${method} names ${doubles} entries twice; the first of each is taken`);
    return { items: items as Item[], ttlMs };
  }
}

async function readPages({ method, member, key }: ListPlace, reading: ListReading) {
  const items: Record<string, unknown>[] = [];
  const names = new Set<string>();
  const cursors = new Set<string>();
  let bytes = 0;
  let doubles = 0;
  let ttlMs: number | null = null;
  for (let cursor: string | undefined; ; ) {
    const answer = await reading.page(cursor === undefined ? {} : { cursor });
    if (answer.kind !== 'complete')
      throw new McpError('nonsense', `${method} was answered by "${answer.kind}"`);
    const page = answer.result;
    if (!Array.isArray(page[member]))
      throw new McpError('nonsense', `${method} was answered without "${member}"`);
    bytes += JSON.stringify(page[member]).length;
    if (bytes > MAX_BYTES) throw new McpError('nonsense', `${method} gives more than ${MAX_BYTES} bytes`);
    for (const item of page[member]) {
      const name = typeof item === 'object' && item !== null ? item[key] : undefined;
      if (typeof name !== 'string')
        reading.log(`${method} gives an entry without "${key}", which is left out`);
      else if (names.has(name)) doubles++;
      else items.push(item);
      if (typeof name === 'string') names.add(name);
    }
    if (items.length > MAX_ITEMS)
      throw new McpError('nonsense', `${method} gives more than ${MAX_ITEMS} entries`);
    if (typeof page.ttlMs === 'number' && page.ttlMs >= 0) ttlMs = Math.min(ttlMs ?? page.ttlMs, page.ttlMs);
    const next = page.nextCursor;
    if (typeof next !== 'string' || next === '') return { items, ttlMs, doubles, broken: false };
    if (cursors.has(next)) throw new McpError('nonsense', `${method} gives the same page again and again`);
    cursors.add(next);
    cursor = next;
  }
}

function isCursorRefused(error: unknown): boolean {
  return error instanceof McpError && error.failure === 'protocol' && error.code === -32_602;
}
