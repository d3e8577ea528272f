import type { ToolDefinition } from '../ledger/tool-definition.ts';
import type { ToolRecord, ToolStatistics } from '../state/tool-table.ts';
import type { Catalogs } from './catalogs.ts';
import { type ChangeOptions, patchTools, syncTools, type ToolChanges } from './change-tools.ts';
import { type Forgotten, forgetTool } from './forget.ts';
import { getTool, listTools, type ToolPage, toolStatistics } from './read-tools.ts';

/** The tools of catalogs, by name. Everything here throws Problem catalog-not-found. */
export class Tools {
  readonly #catalogs: Catalogs;

  constructor(catalogs: Catalogs) {
    this.#catalogs = catalogs;
  }

  sync(catalog: string, tools: readonly ToolDefinition[], options: ChangeOptions = {}): Promise<ToolChanges> {
    return this.#catalogs.holding(catalog, (open) => syncTools(open, tools, options));
  }

  patch(
    catalog: string,
    {
      put = [],
      remove = [],
    }: { readonly put?: readonly ToolDefinition[]; readonly remove?: readonly string[] },
    options: ChangeOptions = {},
  ): Promise<ToolChanges> {
    return this.#catalogs.holding(catalog, (open) => patchTools(open, put, remove, options));
  }

  /** @throws Problem tool-not-found */
  remove(catalog: string, name: string, options: ChangeOptions = {}): Promise<ToolChanges> {
    return this.#catalogs.holding(catalog, (open) => {
      getTool(open, name);
      return patchTools(open, [], [name], options);
    });
  }

  list(catalog: string, page: { readonly limit: number; readonly cursor?: string }): Promise<ToolPage> {
    return this.#catalogs.holding(catalog, (open) => listTools(open, page.limit, page.cursor));
  }

  /** @throws Problem tool-not-found */
  get(catalog: string, name: string): ToolRecord {
    return getTool(this.#catalogs.get(catalog), name);
  }

  /** @throws Problem tool-not-found */
  statistics(catalog: string, name: string): ToolStatistics & { readonly name: string } {
    return toolStatistics(this.#catalogs.get(catalog), name);
  }

  /** Erases what was learned about a tool; the tool stays. @throws Problem tool-not-found */
  forget(catalog: string, name: string): Promise<Forgotten> {
    return this.#catalogs.holding(catalog, (open) => forgetTool(open, name));
  }
}
