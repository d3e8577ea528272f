import type { ToolPut } from '../ledger/entry.ts';
import { providerName } from '../ledger/provider-name.ts';
import type { ToolDefinition } from '../ledger/tool-definition.ts';
import { RecordTable, type SlotRecord } from './record-table.ts';

/** Counts of a tool that users see; learners keep other ones. */
export interface ToolStatistics {
  /** Times this tool was in a slate for which anything was reported. */
  shown: number;
  called: number;
  successes: number;
  failures: number;
  /** Sum of the reported values, negative ones included. */
  rewardSum: number;
  /** Outcomes that say nothing about relevance: timeouts and refusals. */
  unlearned: number;
  /** Those of them that are timeouts. */
  timeouts: number;
}

export interface ToolRecord extends SlotRecord {
  readonly tool: ToolDefinition;
  readonly hash: string;
  /** The source of the tool; only this source may change or remove it. */
  readonly source: string;
  /** Its name at the source, where that is another one. */
  readonly nameThere?: string;
  readonly addedAt: number;
  readonly statistics: ToolStatistics;
}

/** Keeps the tools of one catalog by name, live ones and tombstones. */
export class ToolTable extends RecordTable<ToolRecord> {
  /** Names of the tools, also removed ones, whose provider name is another one. */
  readonly #byProviderName = new Map<string, string>();

  protected idOf({ tool }: ToolRecord): string {
    return tool.name;
  }

  /** Returns the name of the tool that a caller names, by its name or its provider name; unknown names as they are. */
  nameOf(text: string): string {
    const name = this.#byProviderName.get(text);
    if (name === undefined) return text;
    return this.get(name) === undefined && this.find(text) !== undefined ? text : name;
  }

  /** Adds a tool, makes a removed one live again, or changes one. The tool gets the slot of `rename`, if given. */
  put(
    { tool, hash, embedding, nameThere }: ToolPut,
    source: string,
    at: number,
    rename?: ToolRecord,
  ): ToolRecord {
    const before = rename ?? this.find(tool.name);
    if (rename !== undefined) this.forgetId(rename.tool.name);
    const record: ToolRecord = {
      slot: before?.slot ?? this.takeSlot(),
      tool,
      hash,
      source,
      ...(nameThere !== undefined && { nameThere }),
      addedAt: before?.addedAt ?? at,
      removedAt: null,
      statistics: before?.statistics ?? emptyStatistics(),
    };
    this.vectors.put(record.slot, embedding);
    this.change(record);
    return record;
  }

  /** From now on the tool is one of another source, under the name that it has here. */
  giveTo({ nameThere: _, ...record }: ToolRecord, source: string): void {
    this.store({ ...record, source });
  }

  /** Sets the counts of a tool to 0. */
  clearStatistics({ statistics }: ToolRecord): void {
    Object.assign(statistics, emptyStatistics());
  }

  protected override store(record: ToolRecord): void {
    super.store(record);
    const { name } = record.tool;
    if (providerName(name) !== name) this.#byProviderName.set(providerName(name), name);
  }

  protected override forgetId(name: string): void {
    super.forgetId(name);
    this.#byProviderName.delete(providerName(name));
  }
}

function emptyStatistics(): ToolStatistics {
  return { shown: 0, called: 0, successes: 0, failures: 0, rewardSum: 0, unlearned: 0, timeouts: 0 };
}
