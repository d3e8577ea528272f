import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { readText } from '../../src/cli/read-text.ts';
import { temporaryFolder } from '../e2e/running-service.ts';

const folder = temporaryFolder();
afterAll(() => folder.remove());

const saved = (bytes: Uint8Array): string => {
  const file = join(folder.path, 'file.json');
  writeFileSync(file, bytes);
  return file;
};
const text = '{"name": "Größe 尺"}';

it.each<[string, Uint8Array]>([
  ['UTF-8', Buffer.from(text)],
  ['UTF-8 with a byte order mark', Buffer.from(`\ufeff${text}`)],
  ['UTF-16, little end first', Buffer.from(`\ufeff${text}`, 'utf16le')],
  ['UTF-16, big end first', Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
])('reads %s', async (_, bytes) => {
  expect(await readText(saved(bytes))).toBe(text);
});

it('refuses what is in no such encoding, and files that are not there', async () => {
  await expect(readText(saved(Buffer.from(text, 'latin1')))).rejects.toThrow(
    /file\.json is no text in UTF-8: save it/,
  );
  await expect(readText(join(folder.path, 'none'))).rejects.toThrow(/none cannot be read: ENOENT/);
});
