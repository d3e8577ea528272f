import { describe, expect, it } from 'vitest';
import { ClauseSplitter, splitQuery } from '../../src/queries/split-query.ts';
import { MAX_PARTS } from '../../src/queries/splitter.ts';
import { splitterContract } from '../contracts/splitter.contract.ts';

splitterContract('ClauseSplitter', () => new ClauseSplitter());

describe('splitQuery', () => {
  it.each<[string, string[]]>([
    [
      'Check the tyre pressure of van 12. After that, order two spare tyres.',
      ['Check the tyre pressure of van 12.', 'After that, order two spare tyres.'],
    ],
    [
      'refund the duplicate charge and tell the customer it is on its way',
      ['refund the duplicate charge', 'tell the customer it is on its way'],
    ],
    [
      'Can you find the price list, change the helmets to 69 and mail it to the shops?',
      ['Can you find the price list', 'change the helmets to 69', 'mail it to the shops?'],
    ],
    [
      'What is the weather in Cork and how long does the ferry take?',
      ['What is the weather in Cork', 'how long does the ferry take?'],
    ],
    [
      'What does the roof cost? What did we pay last year?',
      ['What does the roof cost?', 'What did we pay last year?'],
    ],
    [
      "what's on tomorrow? book the small room for the review",
      ["what's on tomorrow?", 'book the small room for the review'],
    ],
    [
      'Please do this: 1. create a branch for the fix 2. open a pull request against main',
      ['Please do this: 1. create a branch for the fix', '2. open a pull request against main'],
    ],
    [
      '- list the open incidents\n- page the person on call',
      ['- list the open incidents', '- page the person on call'],
    ],
    [
      'list the open incidents\npage the person on call',
      ['list the open incidents', 'page the person on call'],
    ],
    [
      '"Translate the menu into German. Also, reserve a table for six."',
      ['Translate the menu into German.', 'Also, reserve a table for six.'],
    ],
    [
      '¿Dónde está mi pedido? ¿Cuánto cuesta el envío?',
      ['¿Dónde está mi pedido?', '¿Cuánto cuesta el envío?'],
    ],
    ['注文はどこですか？送料はいくらですか？', ['注文はどこですか？', '送料はいくらですか？']],
    [
      'Storniere das Hotel in Gent. Buche einen Zug nach Köln.',
      ['Storniere das Hotel in Gent.', 'Buche einen Zug nach Köln.'],
    ],
    [
      'Cancela el hotel de Gante y luego busca un tren a Colonia',
      ['Cancela el hotel de Gante', 'busca un tren a Colonia'],
    ],
    ['取消根特的酒店，然后订去科隆的火车', ['取消根特的酒店', '订去科隆的火车']],
    [
      'ゲントのホテルをキャンセルして、ケルン行きの電車を探して',
      ['ゲントのホテルをキャンセルして', 'ケルン行きの電車を探して'],
    ],
    ['帮我查一下明天的天气。然后给老板发一封邮件。', ['帮我查一下明天的天气。', '然后给老板发一封邮件。']],
    [
      'Bitte buche mir ein Zimmer in Köln. Danach schicke die Rechnung an die Buchhaltung.',
      ['Bitte buche mir ein Zimmer in Köln.', 'Danach schicke die Rechnung an die Buchhaltung.'],
    ],
    ['1. 给Alder开发票 2. 取消会议预订 3. 关掉灯光', ['1. 给Alder开发票', '2. 取消会议预订', '3. 关掉灯光']],
  ])('takes apart: %s', (query, parts) => {
    expect(splitQuery(query)).toEqual(parts);
  });

  it.each([
    ['two things of one German request', 'Storniere den Flug und das Hotel'],
    ['a Chinese reason and its request', '十一月三号重复扣款，请退款'],
    ['thanks', 'Kündige das Abo für Frau Lund. Danke!'],
    ['nouns, not verbs', 'send the summary and report for March to Ines and Tomas'],
    ['two verbs with one object', 'find and book a hotel in Ghent'],
    [
      'a preface and a detail',
      'I am off to Oslo next week. Find me a room near the fair. My budget is 120 a night.',
    ],
    ['a condition', 'If Marta is free on Wednesday, book the small room for us'],
    ['a reason', 'since the printer takes no docx, convert the contract to pdf'],
    ['a relative clause', 'Show me the circles, where the first one has a radius of 5 cm'],
    ['a quotation', "Send Bob the text 'I am late. Book a table and call the others.' right now"],
    ['an abbreviation', 'Ask Dr. Smith about the e.g. 3.5 mm screws of St. Mary approx. by noon'],
    ['an apostrophe', "what's the customer's last order and the shop's address"],
    ['the same thing twice', 'Convert 100 euros to dollars. Also convert 250 euros to dollars.'],
    ['nothing that asks', 'My name is Jo. I live in Cork. The weather is fine.'],
    ['a greeting', 'Hello, can you tell me where my parcel is, please?'],
  ])('leaves %s whole', (_, query) => {
    expect(splitQuery(query)).toEqual([query]);
  });

  it('keeps what does not ask with the request that it belongs to', () => {
    expect(
      splitQuery(
        'I run a bike shop. Create an invoice for Tideline. The amount is 300 euros. Finally, order ten inner tubes. They should be 28 inch.',
      ),
    ).toEqual([
      'I run a bike shop. Create an invoice for Tideline. The amount is 300 euros.',
      'Finally, order ten inner tubes. They should be 28 inch.',
    ]);
  });

  it('puts what is beyond the last part into it', () => {
    const things = 'hotel flight invoice report camera printer branch ticket parcel garden'.split(' ');
    const parts = splitQuery(things.map((thing) => `Find the ${thing} of ${thing}land.`).join(' '));
    expect(parts).toHaveLength(MAX_PARTS);
    expect(parts[0]).toBe('Find the hotel of hotelland.');
    for (const thing of things.slice(MAX_PARTS - 1)) expect(parts[MAX_PARTS - 1]).toContain(thing);
  });

  it('keeps positions where lower case has another length', () => {
    expect(splitQuery('FIND İstanbul HOTELS İİİ. SEND the invoice of March.')).toEqual([
      'FIND İstanbul HOTELS İİİ.',
      'SEND the invoice of March.',
    ]);
  });
});
