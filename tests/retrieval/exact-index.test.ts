import { ExactIndex } from '../../src/retrieval/vectors/exact-index.ts';
import { BOTH } from '../bandit/kernels/both-kernels.ts';
import { vectorIndexContract } from '../contracts/vector-index.contract.ts';

for (const [name, kernels] of BOTH) {
  vectorIndexContract(`ExactIndex on ${name} kernels`, kernels(), {
    create: (own, vectors) => new ExactIndex(own, vectors),
    exact: true,
  });
}
