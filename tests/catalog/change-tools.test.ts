import { describe, expect, it } from 'vitest';
import type { Catalog } from '../../src/catalog/catalog.ts';
import { patchTools, syncTools } from '../../src/catalog/change-tools.ts';
import { DEFAULT_CATALOG_SETTINGS } from '../../src/ledger/catalog-settings.ts';
import { definitionHash } from '../../src/ledger/definition-hash.ts';
import type { ToolsEntry } from '../../src/ledger/entry.ts';
import { axis, putTools, START, Story, SYNCED, tool } from '../state/entries.ts';
import { ReplacedState } from '../state/replaced-state.ts';

const hashOf = (definition: ReturnType<typeof tool>): string =>
  definitionHash(definition, DEFAULT_CATALOG_SETTINGS);

/** A catalog with one tool whose state is replaced while definitions are being embedded. */
function reloading(): { readonly catalog: Catalog; readonly submitted: ToolsEntry[] } {
  const put = (definition: ReturnType<typeof tool>, embedding: Float32Array) =>
    putTools([], { put: [{ tool: definition, hash: hashOf(definition), embedding }] });
  const [first, next] = [Story.withTools(0), Story.withTools(0)];
  first.tell(put(tool('kept'), axis('t1')));
  next.tell(put(tool('kept', { description: 'somebody changed it' }), axis('t2')));
  const replaced = new ReplacedState(first.state, next.state);
  const submitted: ToolsEntry[] = [];
  const catalog = {
    name: 'default',
    get state() {
      return replaced.state;
    },
    now: () => START,
    replica: {
      get state() {
        return replaced.state;
      },
      submit: async (entry: ToolsEntry) => {
        submitted.push(entry);
        return next.tell(entry);
      },
    },
    embedDocuments: async (tools: readonly unknown[]) => {
      replaced.replace();
      return tools.map(() => axis('t3'));
    },
  };
  return { catalog: catalog as unknown as Catalog, submitted };
}

describe('a change of tools', () => {
  it('gives every definition its own vector, although the state is another one when they are embedded', async () => {
    const { catalog, submitted } = reloading();
    await patchTools(catalog, [tool('kept'), tool('new')], []);
    expect(submitted[0].put.map(({ tool: { name }, embedding }) => [name, embedding])).toEqual([
      ['kept', axis('t1')],
      ['new', axis('t3')],
    ]);
    expect(catalog.state.tools.get('kept')?.hash).toBe(hashOf(tool('kept')));
  });

  it('names the tools of other sources that it would change, and changes nothing', async () => {
    const story = Story.withTools(1);
    story.tell(putTools([tool('inbox')], { source: 'mail', of: story.source('mail'), synced: SYNCED }));
    const catalog = {
      name: 'default',
      state: story.state,
      now: () => START,
      replica: { submit: async (entry: ToolsEntry) => story.tell(entry) },
      embedDocuments: async (tools: readonly unknown[]) => tools.map(() => axis('t3')),
    } as unknown as Catalog;
    const refused = await syncTools(catalog, [tool('t0'), tool('inbox')]).catch((error) => error);
    expect(refused).toMatchObject({ code: 'validation-failed' });
    expect(refused.violations).toEqual([{ path: 'tools', message: '"inbox" belongs to source "mail"' }]);
    expect(await syncTools(catalog, [])).toMatchObject({ removed: 1, unchanged: 0 });
    expect(story.state.tools.get('inbox')).toBeDefined();
  });
});
