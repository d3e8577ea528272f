import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { FileEvaluationStore } from '../../src/evaluation/file-evaluation-store.ts';
import { evaluationStoreContract } from '../contracts/evaluation-store.contract.ts';
import { temporaryFolder } from '../storage/temporary-folder.ts';

const root = temporaryFolder();

evaluationStoreContract('FileEvaluationStore', async () => {
  const dataDir = join(root, randomUUID());
  return { connect: async () => new FileEvaluationStore(dataDir), dispose: async () => {} };
});
