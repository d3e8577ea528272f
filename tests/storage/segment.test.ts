import { type FileHandle, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { SharedHandle } from '../../src/storage/segment.ts';
import { temporaryFolder } from './temporary-folder.ts';

describe('a shared handle', () => {
  const text = async (handle: FileHandle): Promise<string> => {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(16), 0, 16, 0);
    return buffer.toString('utf8', 0, bytesRead);
  };

  it('is one for all readers at the same time, and closed after the last one', async () => {
    const file = join(temporaryFolder(), 'file');
    await writeFile(file, 'before');
    const shared = new SharedHandle(file);
    const seen: FileHandle[] = [];
    const read = (handle: FileHandle): Promise<string> => {
      seen.push(handle);
      return text(handle);
    };
    expect(await Promise.all([shared.use(read), shared.use(read), shared.use(read)])).toEqual([
      'before',
      'before',
      'before',
    ]);
    expect(new Set(seen).size).toBe(1);
    expect(seen[0].fd).toBe(-1);
    await writeFile(file, 'afterwards');
    expect(await shared.use(read)).toBe('afterwards');
    expect(seen[3]).not.toBe(seen[0]);
    expect(seen[3].fd).toBe(-1);
  });

  it('stays open for the others when one of them fails, and is closed after the last', async () => {
    const file = join(temporaryFolder(), 'file');
    await writeFile(file, 'kept');
    const shared = new SharedHandle(file);
    let open = (): void => {};
    const gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    let handle: FileHandle | undefined;
    const slow = shared.use(async (own) => {
      handle = own;
      await gate;
      return text(own);
    });
    await expect(shared.use(() => Promise.reject(new Error('unreadable')))).rejects.toThrow('unreadable');
    open();
    expect(await slow).toBe('kept');
    expect(handle?.fd).toBe(-1);
  });

  it('is tried again when the file was not there', async () => {
    const file = join(temporaryFolder(), 'file');
    const shared = new SharedHandle(file);
    const both = await Promise.allSettled([shared.use(text), shared.use(text)]);
    for (const one of both) expect(one).toMatchObject({ status: 'rejected', reason: { code: 'ENOENT' } });
    await writeFile(file, 'now');
    expect(await shared.use(text)).toBe('now');
  });
});
