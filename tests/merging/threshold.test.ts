import { join } from 'node:path';
import { expect, it } from 'vitest';
import { packageRoot } from '../../config/package-root.ts';
import { thresholdOf } from '../../src/merging/threshold.ts';
import { openModelFolder } from '../../src/models/open-embedder.ts';

it('the bundled embedder has a threshold of its own, others have that of the paper', async () => {
  const embedder = await openModelFolder(join(packageRoot(), 'models', 'tool-static-256'));
  expect(thresholdOf(embedder.fingerprint)).toBe(0.7);
  await embedder.close();
  expect(thresholdOf('another')).toBe(0.82);
  expect(thresholdOf(null)).toBe(0.82);
});
