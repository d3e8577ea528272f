import { Problem } from '../problem.ts';
import { inSlices, type Steps } from '../slices.ts';
import type { ToolRecord, ToolStatistics } from '../state/tool-table.ts';
import type { Catalog } from './catalog.ts';

export interface ToolPage {
  readonly revision: string;
  readonly tools: readonly ToolRecord[];
  readonly nextCursor: string | null;
}

/** A page ends before it becomes longer than this as JSON, though not before its first tool. */
const PAGE_LENGTH = 2 * 1024 * 1024;

/**
 * Live tools by name, at most `limit` of them. The cursor is the last name of the page before, so that changes in
 * between do no harm.
 */
export async function listTools(catalog: Catalog, limit: number, cursor?: string): Promise<ToolPage> {
  const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString();
  const names = [...catalog.state.tools.live()].map(({ tool }) => tool.name).filter((name) => name > after);
  const page = names.sort().slice(0, limit);
  const records = page.map((name) => getTool(catalog, name));
  const { revision } = catalog.state;
  const tools = await inSlices(firstThatFit(records));
  const last = tools.at(-1)?.tool.name;
  const isLast = last === undefined || names.length === tools.length;
  return { revision, tools, nextCursor: isLast ? null : Buffer.from(last).toString('base64url') };
}

function* firstThatFit(records: readonly ToolRecord[]): Steps<ToolRecord[]> {
  const fit: ToolRecord[] = [];
  let length = 0;
  for (const record of records) {
    length += JSON.stringify(record.tool).length;
    if (length > PAGE_LENGTH && fit.length > 0) break;
    fit.push(record);
    yield;
  }
  return fit;
}

/** @throws Problem tool-not-found */
export function getTool(catalog: Catalog, name: string): ToolRecord {
  const record = catalog.state.tools.get(name);
  if (record !== undefined) return record;
  const removed = catalog.state.tools.find(name);
  throw new Problem(
    'tool-not-found',
    removed === undefined
      ? `Catalog "${catalog.name}" has no tool "${name}".`
      : `Tool "${name}" was removed on ${new Date(removed.removedAt ?? 0).toISOString()}.`,
    removed === undefined
      ? `List its tools with GET /v1/catalogs/${catalog.name}/tools.`
      : 'Put it again to bring it back with everything that was learned about it.',
  );
}

export function toolStatistics(catalog: Catalog, name: string): ToolStatistics & { readonly name: string } {
  return { name, ...getTool(catalog, name).statistics };
}
