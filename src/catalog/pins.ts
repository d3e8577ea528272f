import { Problem } from '../errors/problem.ts';
import type { Pin } from '../ledger/catalog-settings.ts';
import type { Catalog } from './catalog.ts';
import { changeSettings } from './catalog-administration.ts';
import type { Catalogs } from './catalogs.ts';

/** A pin as users see it. */
export interface PinView extends Pin {
  /** False: the tool was removed since, or the pin has ended; it is in no slate. Else it is in all, or in those of its domain. */
  readonly active: boolean;
}

/** The pins of catalogs. */
export class Pins {
  readonly #catalogs: Catalogs;

  constructor(catalogs: Catalogs) {
    this.#catalogs = catalogs;
  }

  /** In the order in which they are served. @throws Problem catalog-not-found */
  list(catalog: string): PinView[] {
    const { state, now } = this.#catalogs.get(catalog);
    return state.settings.pins.map((pin) => ({
      ...pin,
      active: hasNotEnded(pin, now()) && state.tools.get(pin.tool) !== undefined,
    }));
  }

  /** Replaces them. @throws Problem catalog-not-found; validation-failed for a tool or domain that the catalog does not have */
  async set(catalog: string, pins: readonly Pin[]): Promise<PinView[]> {
    const { tools } = this.#catalogs.get(catalog).state;
    const named = pins.map((pin) => ({ ...pin, tool: tools.nameOf(pin.tool) }));
    refuseUnknown(named, this.#catalogs.get(catalog));
    await this.#catalogs.change(catalog, (open) => changeSettings(open, { pins: named }));
    return this.list(catalog);
  }
}

function refuseUnknown(pins: readonly Pin[], { state: { tools } }: Catalog): void {
  const violations = pins.flatMap(({ tool }, at) =>
    tools.get(tool) === undefined
      ? [{ path: `pins[${at}].tool`, message: `"${tool}" is no tool of this catalog` }]
      : [],
  );
  if (violations.length === 0) return;
  throw new Problem(
    'validation-failed',
    `${violations[0].path}: ${violations[0].message}.`,
    'Put the tool first, or pin one that the catalog has. Nothing was changed.',
    { violations },
  );
}

/**
 * Names of the tools that the catalog pins at this time.
 * @param domain of the query; null: none, or there is no query. Pins of other domains are left out.
 */
export function pinnedNow(pins: readonly Pin[], now: number, domain: string | null): string[] {
  return pins
    .filter((pin) => hasNotEnded(pin, now) && (pin.domain === undefined || pin.domain === domain))
    .map(({ tool }) => tool);
}

function hasNotEnded({ until }: Pin, now: number): boolean {
  return until === undefined || Date.parse(until) > now;
}
