import { createTypescriptKernels } from '../../../bandit/kernels/typescript-kernels.ts';
import { POLICY_KINDS } from '../../../bandit/policies/registry.ts';
import { policyContract } from '../../contracts/policy.contract.ts';

for (const kind of POLICY_KINDS) policyContract(kind, createTypescriptKernels());
