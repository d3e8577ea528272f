import { readFileSync } from 'node:fs';
import { createWasmKernels } from '../../../bandit/kernels/wasm-kernels.ts';
import { POLICY_KINDS } from '../../../bandit/policies/registry.ts';
import { policyContract } from '../../contracts/policy.contract.ts';
import { createTypescriptKernels } from '../kernels/typescript-kernels.ts';

const wasm = readFileSync(new URL('../../../bandit/kernels/kernels.wasm', import.meta.url));

for (const kind of POLICY_KINDS) {
  policyContract(kind, createTypescriptKernels());
  policyContract(kind, createWasmKernels(wasm));
}
