import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Kernels } from '../../bandit/kernels/kernels.ts';
import { createTypescriptKernels } from '../../bandit/kernels/typescript-kernels.ts';
import { createWasmKernels } from '../../bandit/kernels/wasm-kernels.ts';
import { packageRoot } from '../../config/package-root.ts';

/** The fast kernels, or, where WebAssembly SIMD cannot run, the slow ones with the same results. */
export async function loadKernels(onFallback: (reason: string) => void): Promise<Kernels> {
  try {
    return createWasmKernels(await readFile(join(packageRoot(), 'bandit', 'kernels', 'kernels.wasm')));
  } catch (error) {
    onFallback(`WebAssembly kernels cannot run here, ranking will be slower: ${(error as Error).message}`);
    return createTypescriptKernels();
  }
}
