import { Problem } from '../problem.ts';
import type { ToolRecord, ToolStatistics } from '../state/tool-table.ts';
import type { Catalog } from './catalog.ts';

export interface ToolPage {
  readonly revision: string;
  readonly tools: readonly ToolRecord[];
  readonly nextCursor: string | null;
}

/** Live tools by name. The cursor is the last name of the page before, so that changes in between do no harm. */
export function listTools(catalog: Catalog, limit: number, cursor?: string): ToolPage {
  const after = cursor === undefined ? '' : Buffer.from(cursor, 'base64url').toString();
  const names = [...catalog.state.tools.live()].map(({ tool }) => tool.name).filter((name) => name > after);
  const page = names.sort().slice(0, limit);
  const last = page.at(-1);
  return {
    revision: catalog.state.revision,
    tools: page.map((name) => getTool(catalog, name)),
    nextCursor:
      names.length > page.length && last !== undefined ? Buffer.from(last).toString('base64url') : null,
  };
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
