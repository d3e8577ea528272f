import type { Pin } from '../ledger/catalog-settings.ts';
import { Problem } from '../problem.ts';
import type { Catalog } from './catalog.ts';
import type { Catalogs } from './catalogs.ts';

/** A pin as users see it. */
export interface PinView extends Pin {
  /** False: the tool was removed since, or the pin has ended; it is in no slate. */
  readonly active: boolean;
}

/** The pins of a catalog, in the order in which they are served. */
export function listPins({ state, now }: Catalog): PinView[] {
  return state.settings.pins.map((pin) => ({
    ...pin,
    active: hasNotEnded(pin, now()) && state.tools.get(pin.tool) !== undefined,
  }));
}

/** Replaces the pins of a catalog. @throws Problem catalog-not-found; validation-failed for a tool it does not have */
export async function setPins(catalogs: Catalogs, name: string, pins: readonly Pin[]): Promise<PinView[]> {
  const { tools } = catalogs.get(name).state;
  const violations = pins.flatMap(({ tool }, at) =>
    tools.get(tool) === undefined
      ? [{ path: `pins[${at}].tool`, message: `"${tool}" is no tool of this catalog` }]
      : [],
  );
  if (violations.length > 0) {
    throw new Problem(
      'validation-failed',
      `${violations[0].path}: ${violations[0].message}.`,
      'Put the tool first, or pin one that the catalog has. Nothing was changed.',
      { violations },
    );
  }
  await catalogs.configure(name, { pins }, false);
  return listPins(catalogs.get(name));
}

/** Names of the tools that the catalog pins at this time. */
export function pinnedNow(pins: readonly Pin[], now: number): string[] {
  return pins.filter((pin) => hasNotEnded(pin, now)).map(({ tool }) => tool);
}

function hasNotEnded({ until }: Pin, now: number): boolean {
  return until === undefined || Date.parse(until) > now;
}
