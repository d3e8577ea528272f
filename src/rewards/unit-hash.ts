import { createHash } from 'node:crypto';

/** 32 bits that stand for a unit without naming it; 0 for none. */
export function unitHash(unit: string | undefined): number {
  if (unit === undefined) return 0;
  return createHash('sha256').update(unit).digest().readUInt32LE(0) || 1;
}
