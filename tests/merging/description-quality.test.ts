import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { chatDescriptionQuality, descriptionQuality } from '../../src/merging/description-quality.ts';
import { chatServer } from './chat-server.ts';

const tool = (description: string, properties?: Record<string, unknown>) => ({
  name: 'get_forecast',
  description,
  inputSchema: { type: 'object', ...(properties && { properties }) },
});
const city = { type: 'string', description: 'Where to look, for example Paris.' };

describe('the quality of a description', () => {
  it('rises with what is said, and the reasons name what is missing', () => {
    const said = [
      tool('', { city: {} }),
      tool('Get forecast', { city: { type: 'string' } }),
      tool('Get the weather forecast of a city.', { city: { type: 'string' } }),
      tool('Get the weather forecast of a city. Returns temperature and rain.', { city }),
    ].map(descriptionQuality);
    expect(said.map(({ score }) => score)).toEqual([1, 2, 3, 5]);
    expect(said[0].reasons).toEqual([
      'It has no description.',
      'What is meant is not said of: “city”.',
      'No type is given for: “city”.',
    ]);
    expect(said[3].reasons).toEqual([]);
  });

  it('takes whatever a schema holds', () => {
    for (const properties of [null, 3, { a: null }, { a: [] }, { a: { description: 7 } }]) {
      const { score } = descriptionQuality(tool('Get it.', properties as never));
      expect(score).toBeGreaterThanOrEqual(1);
      expect(score).toBeLessThanOrEqual(5);
    }
  });
});

describe('a chat model', () => {
  let chat: Awaited<ReturnType<typeof chatServer>>;
  beforeAll(async () => {
    chat = await chatServer();
  });
  afterAll(() => chat.close());

  it.each([
    [
      { score: 4, reasons: ['no units', ' '] },
      { score: 4, reasons: ['no units'] },
    ],
    [{ score: 6, reasons: [] }, null],
    [{ score: '4', reasons: [] }, null],
    ['excellent', null],
  ])('that answers %j gives %j', async (content, quality) => {
    chat.script.answer = () => ({ content });
    expect(await chatDescriptionQuality(chat.settings, tool('Get it.'))).toEqual(quality);
  });
});
