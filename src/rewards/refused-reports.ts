import { randomUUID } from 'node:crypto';
import type { Catalogs } from '../catalog/catalogs.ts';
import { catalogOf } from '../decisions/decision-id.ts';
import type { ProblemCode } from '../errors/problem.ts';
import { OutcomeUnknownError } from '../errors/store-errors.ts';

const MAX_WAIT_MS = 1000;
/** Why a report was refused: the code of its problem, or `duplicate`, because it repeats one that was accepted. */
type Refusal = ProblemCode | 'duplicate';

const COUNTED: readonly Refusal[] = [
  'decision-not-found',
  'decision-not-activated',
  'reward-late',
  'duplicate',
];

/**
 * Counts reports that were refused, in the ledger of their catalog, so that all processes have the same figures: at most
 * one entry a second per catalog, however many reports there are. A report that names no catalog of this process is counted
 * for `default`, or for the first catalog. A count passes through these states:
 *
 * - *collected*: in memory, until a second has passed or `flush` is called. A crash loses it.
 * - *being written*: taken out of memory, so that a second `flush` meanwhile does not write it again.
 * - *written*, or *unknown* when the store did not answer: it may have been counted, so it is not counted again. When the
 *   store is away it is collected again.
 */
export class RefusedReports {
  readonly #catalogs: Pick<Catalogs, 'find' | 'names'>;
  readonly #counts = new Map<string, Map<Refusal, number>>();
  #timer: NodeJS.Timeout | null = null;
  #writing: Promise<void> = Promise.resolve();

  constructor(catalogs: Pick<Catalogs, 'find' | 'names'>) {
    this.#catalogs = catalogs;
  }

  count(decisionId: string, code: Refusal): void {
    if (!COUNTED.includes(code)) return;
    const names = [catalogOf(decisionId) ?? '', 'default', ...this.#catalogs.names()];
    const name = names.find((one) => this.#catalogs.find(one) !== undefined);
    if (name === undefined) return;
    this.#add(name, code, 1);
    this.#timer ??= setTimeout(() => void this.flush(), MAX_WAIT_MS).unref();
  }

  /** Resolves when everything so far has been written and folded here, or cannot be for now. */
  flush(): Promise<void> {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const counts = [...this.#counts];
    this.#counts.clear();
    const written = counts.map(([name, refused]) => this.#write(name, refused));
    this.#writing = Promise.all([this.#writing, ...written]).then(() => {});
    return this.#writing;
  }

  close(): Promise<void> {
    return this.flush();
  }

  async #write(name: string, refused: ReadonlyMap<Refusal, number>): Promise<void> {
    const catalog = this.#catalogs.find(name);
    if (catalog === undefined) return;
    const key = `unlearned/${randomUUID()}`;
    try {
      const at = catalog.now();
      await catalog.replica.submit({
        ...{ kind: 'unlearned', key, at, rewards: [] },
        refused: Object.fromEntries(refused),
      });
    } catch (error) {
      if (error instanceof OutcomeUnknownError) return;
      // The store is away, and /readyz says so: they are written with the next ones.
      for (const [code, count] of refused) this.#add(name, code, count);
    }
  }

  #add(name: string, code: Refusal, count: number): void {
    const counts = this.#counts.get(name) ?? new Map<Refusal, number>();
    this.#counts.set(name, counts);
    counts.set(code, (counts.get(code) ?? 0) + count);
  }
}
