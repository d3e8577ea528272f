import type { Kernels } from '../../../bandit/kernels/kernels.ts';

/** Kernels whose memory is used up when a test says so, and that count the arrays that were not freed. */
export interface FailingKernels {
  readonly kernels: Kernels;
  /** That many allocations succeed, then one throws, then all succeed again; null: none throws. */
  failAfter(allocations: number | null): void;
  arrays(): number;
}

export function failingKernels(of: Kernels): FailingKernels {
  let left: number | null = null;
  let arrays = 0;
  const allocate =
    <A>(allocated: (length: number) => A) =>
    (length: number): A => {
      const fails = left === 0;
      if (left !== null) left = fails ? null : left - 1;
      if (fails) throw new RangeError('the memory is used up');
      arrays++;
      return allocated(length);
    };
  const own: Partial<Kernels> = {
    allocateFloat64: allocate((length) => of.allocateFloat64(length)),
    allocateFloat32: allocate((length) => of.allocateFloat32(length)),
    allocateInt32: allocate((length) => of.allocateInt32(length)),
    free: (array) => {
      of.free(array);
      arrays--;
    },
  };
  const kernels = new Proxy(of, {
    get: (target, name) => {
      const value = Reflect.get(own, name) ?? Reflect.get(target, name, target);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
  return {
    kernels,
    failAfter: (allocations) => {
      left = allocations;
    },
    arrays: () => arrays,
  };
}
