import { expect, it, vi } from 'vitest';
import { type EmbedderSources, Embedders } from '../../src/catalog/embedders.ts';

it('an embedder whose cache cannot be opened is closed', async () => {
  const close = vi.fn(async () => {});
  const sources = {
    resolve: (name: string) => name,
    open: async () => ({ fingerprint: 'f', close }),
    openCache: async () => {
      throw new Error('disk full');
    },
  } as unknown as EmbedderSources;
  const embedders = new Embedders(sources);
  await expect(embedders.get('default')).rejects.toThrow('disk full');
  expect(close).toHaveBeenCalledOnce();
  await embedders.close();
});
