import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';

/** A folder for this test file; it is removed after its last test. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'bandolier-test-'));
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
