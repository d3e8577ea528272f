import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { conversationQuery, plainQuery } from '../../src/queries/conversation.ts';

const user = (content: unknown) => ({ role: 'user', content });
const assistant = (content: unknown, more: object = {}) => ({ role: 'assistant', content, ...more });
const textOf = (...messages: unknown[]) => conversationQuery(messages)?.text;

describe('conversationQuery', () => {
  it('is the last user turn when that stands alone', () => {
    const query = conversationQuery([
      { role: 'system', content: 'You are a router. Refund everything.' },
      user('Where is my parcel from Ghent?'),
      assistant('It arrives tomorrow.'),
      user('Book a hotel in Lisbon for two nights'),
    ]);
    expect(query).toEqual(plainQuery('Book a hotel in Lisbon for two nights'));
  });

  it.each([
    ['a pronoun', 'cancel it then'],
    ['an ellipsis', 'and for Porto?'],
    ['a very short turn', 'breakfast too'],
    ['what about', 'what about the one in March, same price?'],
    ['a value', 'My booking number is 4711'],
  ])('brings the turn before for %s', (_, turn) => {
    const query = conversationQuery([user('Find the hotel booking for Lisbon'), user(turn)]);
    const text = `Find the hotel booking for Lisbon\n${turn}`;
    expect(query).toEqual({ text, turn, thought: null, searched: `${text}\n${turn}` });
  });

  it('brings nothing for a short question that is a whole one', () => {
    expect(textOf(user('Send a newsletter'), user('where is my parcel'))).toBe('where is my parcel');
    expect(textOf(user('Find the hotel in Lisbon'), user('what time?'))).toMatch(/Lisbon/);
  });

  it('brings no more for a pronoun whose noun is in the same turn', () => {
    const turn = 'Create a draft for Marta and show it to me';
    expect(textOf(user('Where is my parcel from Ghent?'), user(turn))).toBe(turn);
  });

  it('goes on back while turns lean on each other, and no further', () => {
    const said = [
      'Show the weather in Rome',
      'Find the hotel booking for Lisbon',
      'the one in March',
      'cancel it',
    ];
    expect(textOf(...said.map(user))).toBe('Find the hotel booking for Lisbon\nthe one in March\ncancel it');
    const chain = ['one?', 'two?', 'three?', 'four?', 'five?'];
    expect(textOf(...chain.map(user))).toBe('two?\nthree?\nfour?\nfive?');
  });

  it('brings the question that a turn answers', () => {
    expect(
      textOf(
        user('My last bill is too high'),
        assistant('Tideline was charged twice. Shall I refund the second payment?'),
        user('yes please'),
      ),
    ).toBe('My last bill is too high\nShall I refund the second payment?\nyes please');
  });

  it('adds the first words of a result that no message mentions', () => {
    expect(
      textOf(
        user('Find the purchase order from Castleford'),
        assistant(null, { tool_calls: [{ id: '1', function: { name: 'search_emails', arguments: '{}' } }] }),
        {
          role: 'tool',
          tool_call_id: '1',
          content: '{"subject":"Purchase order 77","from":"jo@castleford.example"}',
        },
        user('forward it'),
      ),
    ).toBe(
      'Find the purchase order from Castleford\nsubject purchase order from jo castleford example\nforward it',
    );
  });

  it('adds the latest thought while an agent is at work', () => {
    const query = conversationQuery([
      user('Give the lady on ticket 5120 her money back'),
      assistant([{ type: 'text', text: 'The ticket names a payment. Now I refund that payment.' }]),
      user([
        { type: 'tool_result', tool_use_id: '1', content: [{ type: 'text', text: 'pay_33 of 40 euros' }] },
      ]),
    ]);
    const turn = 'Give the lady on ticket 5120 her money back';
    const thought = 'Now I refund that payment.';
    const text = `${turn}\n${thought}`;
    expect(query).toEqual({ text, turn, thought, searched: text });
  });

  it('reads OpenAI and Anthropic parts, and takes results in user messages for results', () => {
    const parts = [
      { type: 'input_text', text: 'Translate the menu' },
      { type: 'image_url', image_url: { url: 'data:' } },
      { type: 'text', text: 'into German for Friday' },
    ];
    expect(textOf(user(parts))).toBe('Translate the menu\ninto German for Friday');
    expect(
      textOf(
        user('Translate the menu into German'),
        assistant([{ type: 'tool_use', id: '1', name: 'translate', input: {} }]),
        user([{ type: 'tool_result', tool_use_id: '1', content: 'Speisekarte' }]),
        user([
          { type: 'tool_result', tool_use_id: '2', content: 'Tageskarte' },
          { type: 'text', text: 'print it' },
        ]),
      ),
    ).toBe('Translate the menu into German\ntageskarte\nprint it');
  });

  it('clips what it brings, never the turn itself', () => {
    const turn = `Summarise the following report for the board: ${'profit '.repeat(2_000)}`.trim();
    expect(textOf(user(turn))).toBe(turn);
    expect(textOf(user(turn), user('again?'))!.length).toBeLessThan(400);
  });

  it('is null when no user said anything', () => {
    for (const messages of [
      [],
      [assistant('Hello')],
      [user('')],
      [user([{ type: 'image' }])],
      [null, 7, 'x'],
    ]) {
      expect(conversationQuery(messages)).toBeNull();
    }
  });

  it('stands anything, ends with nothing lost of the last turn, and says the same each time', () => {
    const content = fc.oneof(fc.string({ unit: 'grapheme' }), fc.jsonValue(), fc.array(fc.jsonValue()));
    const role = fc.constantFrom('user', 'assistant', 'tool', 'system', 'nobody');
    const messages = fc.array(fc.oneof(fc.jsonValue(), fc.record({ role, content })), { maxLength: 12 });
    fc.assert(
      fc.property(messages, (some) => {
        const query = conversationQuery(some);
        if (query !== null) {
          expect(query.turn).not.toBe('');
          expect(query.text).toContain(query.turn);
        }
        expect(conversationQuery(some)).toEqual(query);
      }),
    );
  });
});
