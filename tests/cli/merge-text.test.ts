import { expect, it } from 'vitest';
import { definitionsText, type ListedMerge } from '../../src/cli/merge-text.ts';

const takes = (...names: string[]) => ({
  type: 'object',
  properties: Object.fromEntries(
    names.map((name) => [name, { type: 'string', description: `The ${name}.` }]),
  ),
  required: names.slice(0, 1),
});

it('shows what each member has and what is served, within 80 columns, without orders to the terminal', () => {
  const long =
    'It reads every calendar that the team has shared with anybody who is a member of the firm at all.';
  const merge = {
    ...{ representative: 'events', members: ['events', 'gone', 'list_events'] },
    definition: { name: 'events', description: `List events. ${long}`, inputSchema: takes('from', 'to') },
  } as unknown as ListedMerge;
  const text = definitionsText(merge, {
    events: merge.definition,
    list_events: {
      ...{ name: 'list_events', description: 'List\u001b[31m events. Only your own.' },
      inputSchema: takes('start', 'to'),
    },
  });
  expect(text.split('\n')).toEqual([
    '  events is served as',
    '    List events.',
    '    It reads every calendar that the team has shared with anybody who is a',
    '      member of the firm at all.',
    '    from: string, required – The from.',
    '    to: string – The to.',
    '  events was put just so',
    '  gone is no tool of the catalog any more',
    '  list_events was put as',
    '    - List [31m events.',
    '    - Only your own.',
    '    - start: string, required – The start.',
    '      to: string – The to.',
    '    + List events.',
    '    + It reads every calendar that the team has shared with anybody who is a',
    '        member of the firm at all.',
    '    + from: string, required – The from.',
    '',
  ]);
  for (const line of text.split('\n')) expect(line.length).toBeLessThanOrEqual(80);
});
