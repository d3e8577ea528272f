import { afterEach, expect, it, vi } from 'vitest';
import { loadKernels } from '../../src/stores/load-kernels.ts';

afterEach(() => {
  vi.restoreAllMocks();
});

it('loads the WebAssembly kernels', async () => {
  expect((await loadKernels()).name).toBe('wasm');
});

it('says where it can run when there is no WebAssembly SIMD', async () => {
  vi.spyOn(WebAssembly, 'Module').mockImplementation(function compile() {
    throw new Error('invalid value type 0x7b');
  });
  await expect(loadKernels()).rejects.toThrow(
    /kernels\.wasm cannot be loaded \(invalid value type 0x7b\)\. .*a version of Node with WebAssembly SIMD/,
  );
});
