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
  /** Those of `unlearned` that are timeouts. */
  timeouts: number;
}

/** A tool of a catalog, live or removed. */
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

/** What is served at the slot of a tool in place of its own definition. */
interface Cover {
  /** Null: the tool is no candidate. */
  readonly served: Pick<ToolRecord, 'tool' | 'hash'> | null;
  /** The vector of the tool's own definition; the table of vectors has that of what is served. */
  readonly own: Float32Array | null;
}

/**
 * Keeps the tools of one catalog by name, live ones and tombstones. Their records and `vectorOf` are what was put; `served`, `vectors` and
 * what followers see is what is served, which differs for the tools of an approved merge alone.
 */
export class ToolTable extends RecordTable<ToolRecord> {
  readonly #covers = new Map<number, Cover>();
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
    const cover = this.#covers.get(record.slot);
    if (cover?.served == null) this.vectors.put(record.slot, embedding);
    else this.#covers.set(record.slot, { ...cover, own: embedding });
    this.change(record);
    return record;
  }

  /** Returns a tool as it is served: of the representative of a merge the united definition. */
  served(record: ToolRecord): ToolRecord {
    if (this.#covers.size === 0) return record;
    const served = this.#covers.get(record.slot)?.served;
    return served == null ? record : { ...record, ...served };
  }

  /** Returns the tool of this name, removed or not, as it is served. */
  findServed(name: string): ToolRecord | undefined {
    const record = this.find(name);
    return record && this.served(record);
  }

  /** Returns the live tools that are served, as they are: without those that another one stands for. */
  *servedTools(): IterableIterator<ToolRecord> {
    for (const record of this.live()) {
      const shown = this.shownTo(record);
      if (shown !== null) yield shown;
    }
  }

  /** Returns whether a live tool is a candidate: no other one stands for it. */
  isServed({ slot }: ToolRecord): boolean {
    return this.#covers.size === 0 || this.#covers.get(slot)?.served !== null;
  }

  /** Number of live tools that are served. */
  get servedSize(): number {
    let hidden = 0;
    for (const { served } of this.#covers.values()) hidden += Number(served === null);
    return this.size - hidden;
  }

  /** Returns the vector of the tool's own definition; valid until the next change. */
  vectorOf({ slot }: ToolRecord): Float32Array {
    const cover = this.#covers.get(slot);
    if (cover?.served == null) return this.vectors.get(slot);
    return cover.own ?? new Float32Array(this.vectors.dimensions);
  }

  /** Serves this definition of a live tool in place of its own, until `uncover`; null: the tool is no candidate until then. */
  cover(record: ToolRecord, served: Omit<ToolPut, 'nameThere' | 'held'> | null): void {
    const { slot } = record;
    if (served === null) this.#covers.set(slot, { served, own: null });
    else {
      const { tool, hash, embedding } = served;
      this.#covers.set(slot, { served: { tool, hash }, own: this.vectors.get(slot).slice() });
      this.vectors.put(slot, embedding);
    }
    this.announce(record);
  }

  /** Serves the tool's own definition again, exactly as it was put. */
  uncover(record: ToolRecord): void {
    const { slot } = record;
    const own = this.vectorOf(record);
    const isServed = this.#covers.get(slot)?.served != null;
    this.#covers.delete(slot);
    if (isServed) this.vectors.put(slot, own);
    this.announce(record);
  }

  /** Replaces all vectors, as a table of records does. @param servedVectorOf the same for what is served in place of a tool's own definition */
  override replaceVectors(
    dimensions: number,
    vectorOf: (record: ToolRecord) => Float32Array | null,
    servedVectorOf: (record: ToolRecord) => Float32Array | null = vectorOf,
  ): void {
    super.replaceVectors(dimensions, (record) => {
      const cover = this.#covers.get(record.slot);
      if (cover?.served == null) return vectorOf(record);
      this.#covers.set(record.slot, { ...cover, own: vectorOf(record) });
      return servedVectorOf(record);
    });
  }

  /** Gives a tool to another source, under the name that it has here. */
  giveTo({ nameThere: _, ...record }: ToolRecord, source: string): void {
    this.store({ ...record, source });
  }

  /** Sets the counts of a tool to 0. */
  clearStatistics({ statistics }: ToolRecord): void {
    Object.assign(statistics, emptyStatistics());
  }

  protected override shownTo(record: ToolRecord): ToolRecord | null {
    const cover = this.#covers.get(record.slot);
    if (cover === undefined) return record;
    return cover.served === null ? null : { ...record, ...cover.served };
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

/** Returns the sums of these counts. */
export function sumOfStatistics(all: readonly ToolStatistics[]): ToolStatistics {
  const sum = emptyStatistics();
  for (const one of all) {
    for (const key of Object.keys(sum) as (keyof ToolStatistics)[]) sum[key] += one[key];
  }
  return sum;
}

function emptyStatistics(): ToolStatistics {
  return { shown: 0, called: 0, successes: 0, failures: 0, rewardSum: 0, unlearned: 0, timeouts: 0 };
}
