import { expect, it } from 'vitest';
import { exportCatalog } from '../../src/cli/export.ts';
import { FileLedger } from '../../src/ledger/file-ledger.ts';
import { FileLedgers, ledgerFolder } from '../../src/ledger/file-ledgers.ts';
import { openEmbeddedStores } from '../../src/stores/embedded-stores.ts';
import { createTypescriptKernels } from '../bandit/kernels/typescript-kernels.ts';
import { temporaryFolder } from '../e2e/running-service.ts';
import { StoredCatalog } from '../faults/replay.ts';
import { decision, observe, report, START, Story } from '../state/entries.ts';

it('rewards that are still in the ledger are exported, also those that every snapshot knows', async () => {
  const folder = temporaryFolder();
  const ledger = await FileLedger.open(ledgerFolder(folder.path, 'default'), { segmentBytes: 4_000 });
  await ledger.append(Story.withTools(3).entries);
  for (let n = 0; n < 200; n++)
    await ledger.append([{ kind: 'forget', key: `forget/${n}`, at: START, unit: 1 }]);
  const before = await ledger.head();
  await ledger.append([observe(decision('a', ['t1', 't2']), [report('default.a.1', 't1')])]);
  await ledger.close();
  await new StoredCatalog(folder.path, createTypescriptKernels()).writeSnapshot(before + 1);
  const again = await new FileLedgers(folder.path).open('default');
  await again.trim(before);
  await expect(again.read(0, 1)).rejects.toThrow(/not kept any more/);
  await again.close();

  const settings = { dataDir: folder.path, keepDecisionsDays: 8, maxPendingRewards: 1_000 };
  const stores = await openEmbeddedStores(settings, { onError: () => {} });
  const kinds: string[] = [];
  for await (const line of exportCatalog('default', stores, createTypescriptKernels(), () => {})) {
    kinds.push(JSON.parse(line).kind);
  }
  expect(kinds.filter((kind) => kind === 'reward')).toHaveLength(1);
  await stores.queue.close(0);
  await stores.close();
  folder.remove();
});
