import { readFileSync } from 'node:fs';
import type { Kernels } from '../../../bandit/kernels/kernels.ts';
import { createWasmKernels } from '../../../bandit/kernels/wasm-kernels.ts';
import { createTypescriptKernels } from './typescript-kernels.ts';

export function wasmKernels(): Kernels {
  return createWasmKernels(readFileSync(new URL('../../../bandit/kernels/kernels.wasm', import.meta.url)));
}

export const BOTH: readonly (readonly [string, () => Kernels])[] = [
  ['wasm', wasmKernels],
  ['typescript', createTypescriptKernels],
];

/** A Float64Array in kernel memory with these values. */
export function float64(kernels: Kernels, values: ArrayLike<number>): Float64Array {
  const array = kernels.allocateFloat64(values.length);
  array.set(values);
  return array;
}

export function float32(kernels: Kernels, values: ArrayLike<number>): Float32Array {
  const array = kernels.allocateFloat32(values.length);
  array.set(values);
  return array;
}

export function int32(kernels: Kernels, values: ArrayLike<number>): Int32Array {
  const array = kernels.allocateInt32(values.length);
  array.set(values);
  return array;
}

/** A small seeded generator for tests: the same numbers every time, in [-1, 1). */
export function sequence(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let t = Math.imul(state ^ (state >>> 15), state | 1);
    t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 31 - 1;
  };
}

export function numbers(next: () => number, length: number): Float64Array {
  return Float64Array.from({ length }, next);
}
