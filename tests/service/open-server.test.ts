import { expect, it } from 'vitest';
import { settingsSchema } from '../../config/settings.ts';
import { serverOpener } from '../../src/service/open-server.ts';

const program = new URL('../set-up/mcp-servers/plain-server.mjs', import.meta.url).pathname;

it('a program that is Bandolier itself is no server', async () => {
  const openServer = serverOpener(settingsSchema.parse({}), Date.now);
  const open = (name: string) =>
    openServer('own', { command: process.execPath, args: [program, JSON.stringify({ name })] }, {});
  await expect(open('bandolier')).rejects.toMatchObject({
    failure: 'unreachable',
    message: expect.stringContaining('Bandolier itself'),
  });
  const other = await open('bandolier-tools');
  expect(other.server?.name).toBe('bandolier-tools');
  await other.close();
});
