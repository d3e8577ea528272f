import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { createWasmKernels } from '../../bandit/kernels/wasm-kernels.ts';
import { packageRoot } from '../../config/package-root.ts';

/** Loads the compiled kernels of `bandit/`. @throws Error when WebAssembly SIMD cannot run here, or their file is missing or damaged. */
export async function loadKernels(): Promise<Kernels> {
  const file = join(packageRoot(), 'bandit', 'kernels', 'kernels.wasm');
  try {
    return createWasmKernels(await readFile(file));
  } catch (error) {
    throw new Error(
      `The WebAssembly kernels of ${file} cannot be loaded (${(error as Error).message}). Install Bandolier again, and use a version of Node with WebAssembly SIMD and shared memory.`,
      { cause: error },
    );
  }
}
