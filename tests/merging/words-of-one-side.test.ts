import { expect, it } from 'vitest';
import { guarded } from '../../src/merging/guarded.ts';
import { RuleJudge } from '../../src/merging/rule-judge.ts';
import { judgedTool as tool } from '../contracts/judge.contract.ts';

const judge = new RuleJudge();
const takes = (...names: string[]) => ({
  inputSchema: {
    type: 'object',
    properties: Object.fromEntries(names.map((name) => [name, { type: 'string' }])),
    required: names,
  },
});

const BASES = [
  ['search_emails', 'find_emails', 'Searches the emails of a mailbox by a query', 'mailbox', 'query'],
  ['get_payment', 'fetch_payment', 'Returns one payment', 'payment_id'],
  ['list_invoices', 'show_invoices', 'Lists the invoices of a customer', 'customer'],
  ['create_contact', 'add_contact', 'Creates a contact with a name and an email address', 'name', 'email'],
  ['read_file', 'get_file', 'Reads a file from the disk and returns its content', 'path'],
  ['list_events', 'get_events', 'Lists the events of a calendar between two dates', 'calendar', 'from', 'to'],
] as const;

/** What one description says besides, and a word of it that the reason names. */
const ADDED = [
  [' and deletes them afterwards', 'deletes'],
  ['. Deletes it', 'deletes'],
  [' and charges the customer', 'charges'],
  [' and sends a receipt', 'sends'],
  [' and marks it as seen', 'seen'],
  [' and notifies the owner', 'notifies'],
  [' that are overdue', 'overdue'],
  [' in the archive', 'archive'],
  [' for admins', 'admins'],
  [' of a private person', 'private'],
  [' as PDF', 'pdf'],
  [' without saving', 'saving'],
  [' for all tenants', 'tenants'],
  [' that were deleted', 'deleted'],
] as const;

it.each(
  BASES.flatMap(([a, b, said, ...names]) =>
    ADDED.map(([added, word]) => [a, b, said, added, word, names] as const),
  ),
)('%s and %s: "%s" is not the same%s', async (a, b, said, added, word, names) => {
  const [same, other] = await judge.judgePairs([
    [tool(a, `${said}.`, takes(...names)), tool(b, `${said}.`, takes(...names))],
    [tool(a, `${said}.`, takes(...names)), tool(b, `${said}${added}.`, takes(...names))],
  ]);
  expect(same).toMatchObject({ relation: 'same' });
  expect(same?.confidence).toBeGreaterThanOrEqual(0.9);
  expect(other?.relation).not.toBe('same');
  expect(other?.reason).toContain(`“${word}”`);
});

it('a word that says little leaves two tools the same, with less confidence', async () => {
  const [verdict] = await judge.judgePairs([
    [
      tool('list_invoices', 'Lists the invoices of a customer.', takes('customer')),
      tool('show_invoices', 'Lists all invoices of a customer.', takes('customer')),
    ],
  ]);
  expect(verdict).toMatchObject({ relation: 'same', reason: 'the same but for “all”' });
  expect(verdict?.confidence).toBeLessThanOrEqual(0.7);
});

it.each([
  ['calendar1', 'calendar2', 'same'],
  ['alpha', 'beta', 'same'],
  ['marketing', 'engineering', 'same'],
  ['google-calendar', 'team-calendar', 'overlapping'],
  ['salesforce-crm', 'close-crm', 'overlapping'],
  ['calendar-test', 'calendar-live', 'overlapping'],
  ['mollie', 'square', 'overlapping'],
  ['icloud', 'exchange', 'overlapping'],
  ['zoho', 'fastmail', 'overlapping'],
  ['calendar-eu', 'calendar-us', 'overlapping'],
])('copies at the servers %s and %s: %s', async (one, other, relation) => {
  const at = (server: string) =>
    tool(`${server}.create_event`, 'Creates an event in the calendar.', {
      ...takes('title', 'start'),
      server,
    });
  const [verdict] = await judge.judgePairs([[at(one), at(other)]]);
  expect(verdict?.relation).toBe(relation);
  expect(guarded([at(one), at(other)])).toMatch(
    `${[one, other].sort().join(' and ')} may be different products`,
  );
});

it.each([
  ['crm_search_contacts', 'search_contacts'],
  ['mcp__crm__search_contacts', 'mcp__hub__search_contacts'],
  ['alpha.search_contacts', 'beta.search_contacts'],
])('%s and %s with the same definition are the same, to be looked at', async (a, b) => {
  const tools = [a, b].map((name) => tool(name, 'Searches the contacts by a query.', takes('query')));
  const [verdict] = await judge.judgePairs([[tools[0], tools[1]]]);
  expect(verdict).toMatchObject({ relation: 'same', confidence: 0.7 });
  expect(guarded(tools)).toMatch('may be different products');
  const [test] = await judge.judgePairs([
    [
      tool('test_search_contacts', 'Searches the contacts by a query.', takes('query')),
      tool('search_contacts', 'Searches the contacts by a query.', takes('query')),
    ],
  ]);
  expect(test?.relation).not.toBe('same');
});

it('what destroys, sends, pays or changes rights anywhere in a text has to be looked at, and all reasons are named', () => {
  for (const word of ['deletes', 'charging', 'sends', 'grants', 'refunded', 'notifies'])
    expect(
      guarded([tool('sync_all', `Syncs a thing and ${word} it.`), tool('sync', 'Syncs a thing.')]),
    ).toMatch(`“${word}”`);
  expect(guarded([tool('get_note', 'Returns a note.'), tool('fetch_note', 'Returns a note.')])).toBeNull();
  const both = [
    tool('a', 'Deletes a note.', { annotations: { destructiveHint: true } }),
    tool('b', 'Deletes a note.', { annotations: {}, server: 'other' }),
  ];
  expect(guarded(both)).toMatch(/a may destroy something\. Their annotations differ\. .*“deletes”/i);
});

it('reasons are in words that people read', async () => {
  const date = takes('calendar', 'from');
  const [required, stem, prod] = await judge.judgePairs([
    [
      tool('get_events', 'Returns the events of a calendar.', takes('calendar', 'from')),
      tool('fetch_events', 'Returns the events of a calendar.', takes('calendar', 'attendee_email')),
    ],
    [
      tool('get_event', 'Returns an event with attendees.', date),
      tool('fetch_event', 'Returns an event.', date),
    ],
    [
      tool('create_event', 'Creates an event in production.', date),
      tool('add_event', 'Creates an event.', date),
    ],
  ]);
  expect(required?.reason).toBe('one requires “attendee_email”, the other “from”');
  expect(stem?.reason).toBe('one alone says “attendees”');
  expect(prod?.reason).toBe('one alone is for “production”');
});
