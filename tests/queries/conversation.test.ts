import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { messagesOf, SHAPES, writtenConversations } from '../../bench/queries/written-conversations.ts';
import { conversationQuery, isWordless, plainQuery } from '../../src/queries/conversation.ts';

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
    ['a pronoun', 'cancel it then', 'cancel it'],
    ['an ellipsis', 'and for Porto?', 'and for Porto?'],
    ['a very short turn', 'breakfast too', 'breakfast'],
    ['what about', 'what about the one in March, same price?', 'about the in March, same price?'],
    ['a value', 'My booking number is 4711', 'My booking number is 4711'],
    ['a short turn about something known', 'fix the name', 'fix the name'],
    ['a pronoun after small words', 'get me off all of them', 'get off of'],
  ])('brings the turn before for %s, and searches without courtesies', (_, turn, sought) => {
    const before = 'Find the hotel booking for Lisbon';
    const query = conversationQuery([user(before), user(turn)]);
    const searched = [before, sought, sought].join('\n');
    expect(query).toEqual({ text: `${before}\n${turn}`, turn, thought: null, searched });
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

  it.each([
    ["I'll look it up."],
    ['Sure!'],
    ['Let me check that for you.'],
    ['Of course! One moment, please.'],
    ['Gerne, ich schaue nach.'],
    ['好的，没问题！'],
    ['了解です。'],
  ])('takes no notice of %s', (filler) => {
    const turn = 'Find the invoice of Castleford';
    expect(conversationQuery([user(turn), assistant(filler)])).toEqual(plainQuery(turn));
    expect(textOf(user(turn), assistant(filler), user('and of Alder?'))).toBe(`${turn}\nand of Alder?`);
  });

  it('finds what a yes agrees to, and searches for that instead of the yes', () => {
    const query = conversationQuery([
      user('I was charged twice'),
      assistant('I can refund the second charge. Shall I?'),
      user('yes please'),
    ]);
    expect(query!.text).toBe('I was charged twice\nI can refund the second charge. Shall I?\nyes please');
    expect(query!.searched.match(/refund/g)).toHaveLength(2);
  });

  it('knows a whole request in another language, and a short turn that is none', () => {
    const before = user('科克的天气怎么样？');
    expect(textOf(before, user('把根特周末的天气预报发给我看看'))).toBe('把根特周末的天气预报发给我看看');
    expect(textOf(before, user('那根特呢？'))).toBe('科克的天气怎么样？\n那根特呢？');
  });

  it('reads the items of OpenAI’s Responses', () => {
    const items = [
      { type: 'message', role: 'user', content: [{ type: 'input_text', text: 'Refund ticket 5120' }] },
      { type: 'reasoning', summary: [{ type: 'summary_text', text: 'I need the payment first.' }] },
      { type: 'function_call', call_id: '1', name: 'getTicket', arguments: '{"ticketKey":"5120"}' },
      { type: 'function_call_output', call_id: '1', output: '{"payment":"pay_33"}' },
    ];
    expect(textOf(...items)).toBe('Refund ticket 5120\nI need the payment first.');
    const said = {
      type: 'message',
      role: 'assistant',
      content: [{ type: 'output_text', text: 'It was Tideline, pay_33.' }],
    };
    expect(textOf(...items, said)).toBe('Refund ticket 5120\nIt was Tideline, pay_33.');
    expect(textOf(...items, user('forward it'))).toBe('Refund ticket 5120\npayment pay\nforward it');
  });

  it('reads the written conversations alike in every shape', () => {
    for (const part of ['tuned-on', 'kept-aside'] as const) {
      const conversations = writtenConversations(part);
      expect(conversations).toHaveLength(part === 'tuned-on' ? 200 : 100);
      for (const { turns } of conversations) {
        const [one, ...others] = SHAPES.map((shape) => conversationQuery(messagesOf(turns, shape)));
        expect(one).not.toBeNull();
        for (const other of others) expect(other).toEqual(one);
      }
    }
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

describe('isWordless', () => {
  it.each([
    ...['...', '?!', '-', '=> + $', '', ' \n', '…!?', '¿?', '。'],
    ...[
      'hello!',
      'Hi there',
      'hey all',
      'thanks!',
      'Thank you very much.',
      'ok',
      'OKAY!!',
      'yes please',
      'no, thanks',
    ],
    ...[
      'good morning',
      'sure, go ahead',
      'Guten Morgen!',
      'vielen Dank',
      'danke dir',
      '¡muchas gracias!',
      'sí',
      'merci beaucoup',
    ],
    ...['谢谢', '好的', '你好！', 'はい', 'ありがとうございます', '감사합니다', 'спасибо'],
  ])('is true of “%s”', (text) => expect(isWordless(text)).toBe(true));

  it.each([
    ...[
      'ok delete it',
      'yes, the second one',
      'no refund',
      'hello world program',
      'thank the customer',
      'good flights',
    ],
    ...[
      'please help',
      'morning',
      'night',
      'you',
      'it',
      'go',
      '4711',
      '🍕',
      '👍',
      'C++',
      'guten Flug',
      '请退款',
      'да, удали',
    ],
  ])('is false of “%s”', (text) => expect(isWordless(text)).toBe(false));

  it('is false of every text with another word in it', () => {
    const greetings = fc.array(fc.constantFrom('ok', 'thanks', 'hello', 'you', '!'), { maxLength: 5 });
    fc.assert(
      fc.property(greetings, greetings, fc.constantFrom('delete', 'invoice', '7'), (before, after, word) => {
        expect(isWordless([...before, word, ...after].join(' '))).toBe(false);
      }),
    );
  });
});
