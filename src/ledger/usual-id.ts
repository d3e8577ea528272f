import type { BitReader } from '../storage/bit-reader.ts';
import type { BitWriter } from '../storage/bit-writer.ts';

/** What follows the time in the id of a decision, unless it was made of a key. */
const CHANCE = /^[0-9a-f]{20}$/;
const CHANCE_DIGITS = 20;

/**
 * Writes the id of a decision that was made at this time. Returns what else tells it: the catalog in it, if it is made of catalog, time
 * and chance, else the id.
 */
export function writeId(bits: BitWriter, id: string, at: number): string {
  const dot = id.indexOf('.');
  const chanceAt = dot + 1 + timeOf(at).length;
  const isUsual = dot >= 0 && id.startsWith(timeOf(at), dot + 1) && CHANCE.test(id.slice(chanceAt));
  bits.bit(isUsual);
  if (!isUsual) return id;
  bits.hex(id, chanceAt);
  return id.slice(0, dot);
}

/** @param rest what `writeId` returned */
export function readId(bits: BitReader, rest: string, at: number): string {
  return bits.bit() ? `${rest}.${timeOf(at)}${bits.hex(CHANCE_DIGITS)}` : rest;
}

/** As `decisionIdFor` writes it. */
function timeOf(at: number): string {
  return at.toString(36).padStart(9, '0');
}
