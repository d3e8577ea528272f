import fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { stem } from '../../src/retrieval/stemmer.ts';
import {
  contentWords,
  gramsIn,
  MAX_CHARACTERS,
  termOf,
  tokenise,
  wordsOf,
} from '../../src/retrieval/tokenise.ts';

const termsOf = (...stems: string[]): Uint32Array => Uint32Array.from(stems, termOf);

describe('tokenise', () => {
  it('takes names apart and stems what it finds', () => {
    expect(tokenise('getUserIDs from the HTTPServer: list_all-open.invoices')).toEqual(
      termsOf('get', 'user', 'id', 'http', 'server', 'list', 'all', 'open', 'invoic'),
    );
  });

  it('gives a word the term of its stem, whatever was read before', () => {
    const words = Array.from({ length: 20_000 }, (_, at) => `${'bcdfg'[at % 5]}a${at.toString(36)}ings`);
    for (const word of [...words, ...words.slice(0, 100), 'long'.repeat(20)]) {
      expect(tokenise(word)).toEqual(termsOf(stem(word)));
    }
  });

  it('has the same terms, words and n-grams of a text whether or not all of it is ASCII', () => {
    const letters = fc.constantFrom(...'aeostiyngABST07_- .');
    const phrases = fc.string({ unit: letters, minLength: 1, maxLength: 60 });
    const said = fc.constantFrom(
      'please',
      'would',
      'organizations',
      'the',
      'userIDs',
      'HTTPServer',
      'x'.repeat(50),
    );
    const texts = fc
      .array(fc.oneof(phrases, said), { minLength: 1, maxLength: 12 })
      .map((parts) => `${parts.join(' ')} file`);
    fc.assert(
      fc.property(texts, (text) => {
        // No word of its own, and it makes the text one that has to be folded.
        const other = `${text} \u00b7`;
        const wanted = new Set([...tokenise(text), ...wordsOf(text).map((word) => termOf(stem(word)))]);
        expect(tokenise(text)).toEqual(tokenise(other));
        expect(contentWords(text)).toBe(contentWords(other));
        expect([...gramsIn(text, wanted)]).toEqual([...gramsIn(other, wanted)]);
      }),
      { numRuns: 500 },
    );
  });

  it('drops the words that say nothing, keeps order and repeats', () => {
    expect(tokenise('Please convert the file to a file!')).toEqual(termsOf('convert', 'file', 'file'));
  });

  it('has the stop words of a text that has no other words, and the characters of one that has no words', () => {
    expect(tokenise('I would like to')).toEqual(termsOf('i', 'would', 'like', 'to'));
    expect(tokenise(' 👍 ?')).toEqual(termsOf('👍', '?'));
    expect(contentWords('I would like to 👍')).toBe(0);
    expect(contentWords('Would you book the room')).toBe(2);
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(tokenise(text).length > 0).toBe(text.trim() !== '');
      }),
    );
  });

  it('reads the same word in any spelling of it', () => {
    for (const [one, other] of [
      ['Café', 'cafe'],
      ['cafe\u0301', 'CAFÉ'],
      ['Ｗｉｄｅ', 'wide'],
      ['ﬁle', 'file'],
      ['naïveté', 'naivete'],
      ['STRASSE', 'Straße'],
      ['ΟΔΌΣ', 'οδος'],
      ['Ёлка', 'елка'],
      ['مَدْرَسَة', 'مدرسة'],
      ['ﾃｷｽﾄ', 'テキスト'],
    ]) {
      expect(tokenise(one)).toEqual(tokenise(other));
    }
  });

  it.each([
    ['German', 'Überweisung prüfen', ['uberweisung', 'prufen']],
    ['French', "l'été à Besançon", ['l', 'ete', 'a', 'besancon']],
    ['Polish', 'Łódź pogoda', ['łodz', 'pogoda']],
    ['Russian', 'Какая погода?', ['какая', 'погода']],
    ['Ukrainian', 'Київ їжа', ['київ', 'їжа']],
    ['Greek', 'Καιρός', ['καιροσ']],
    ['Hebrew', 'מזג אוויר', ['מזג', 'אוויר']],
    ['Arabic', 'حالة الطقس', ['حالة', 'الطقس']],
    ['Hindi', 'मौसम की जानकारी', ['मौसम', 'की', 'जानकारी']],
    ['Chinese', '天气预报', ['天气', '预报']],
    ['Japanese', '天気は', ['天気', 'は']],
    ['Korean', '날씨 예보를', ['날씨', '예보', '보를']],
    ['Japanese between names', 'heronが住所を印刷', ['heron', 'が', '住所', 'を', '印刷']],
    ['Thai', 'อากาศ', ['อากาศ']],
  ])('finds the words of %s', (_, text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  it('finds nothing in nothing, and no words in emoji and punctuation', () => {
    for (const text of ['', ' \n\t']) expect(tokenise(text)).toEqual(termsOf());
    for (const text of ['😀🎉👩‍👩‍👧', '?!… — «»', '\u0000\u0001']) expect(wordsOf(text)).toEqual([]);
  });

  it('reads a long run of letters to its end', () => {
    const run = '预报'.repeat(1_600);
    expect(wordsOf(run).slice(0, 1_024)).toEqual(Array(1_024).fill('预报'));
    expect(wordsOf(run)).toHaveLength(1_024 + 2 * 576 - 1);
  });

  it('reads only the beginning of a very long text', () => {
    const long = 'invoice '.repeat(200_000);
    expect(tokenise(long)).toHaveLength(Math.ceil(MAX_CHARACTERS / 'invoice '.length));
    expect(tokenise(`x${'y'.repeat(1_000_000)}`)).toHaveLength(1);
  });

  it('reads no more of a text whose characters are many in their compatibility form', () => {
    // 18 characters each: a whole blessing in one.
    expect(wordsOf('\ufdfa'.repeat(MAX_CHARACTERS)).join('').length).toBeLessThanOrEqual(MAX_CHARACTERS);
  });

  it('treats names of object properties like any other word', () => {
    const words = ['proto', 'constructor', 'tostr', 'hasownproperti'];
    expect(tokenise('__proto__ constructor tostring hasownproperty')).toEqual(termsOf(...words));
  });
});

describe('gramsIn', () => {
  const gramsOf = (text: string): [number, number[]][] =>
    [...gramsIn(text, new Set(tokenise(text)))].map(([term, grams]) => [term, [...grams]]);

  it('gives words of more than four letters their n-grams, by the term of their stem', () => {
    const grams = [...termsOf('#mahn', '#ahnu', '#hnun', '#nung', '#unge', '#ngen')];
    expect(gramsOf('Fünf Mahnungen 20261122')).toEqual([[tokenise('Mahnungen')[0], grams]]);
  });

  it('gives longer words of scripts without spaces their pairs', () => {
    const grams = [...termsOf('#キャ', '#ャン', '#ンセ', '#セル')];
    expect(gramsOf('予約をキャンセル')).toEqual([[termOf('キャンセル'), grams]]);
  });

  it('gives the stop words of a text of these alone theirs, whether or not they were read before', async () => {
    const would = termOf('would');
    const grams = [...termsOf('#woul', '#ould')];
    for (const isWarm of [false, true]) {
      vi.resetModules();
      const fresh = await import('../../src/retrieval/tokenise.ts');
      if (isWarm) expect(fresh.tokenise('would you like to').length).toBe(4);
      expect(fresh.gramsIn('would you like to', new Set([would]))).toEqual(new Map([[would, grams]]));
      expect(fresh.gramsIn('would you like to', new Set([would]))).toEqual(new Map([[would, grams]]));
      expect(fresh.tokenise('Would')).toEqual(termsOf('would'));
    }
  });

  it('leaves out words that are not wanted', () => {
    expect(gramsIn('Mahnungen', new Set())).toEqual(new Map());
  });
});

describe('termOf', () => {
  it('is FNV-1a with 32 bits over UTF-8', () => {
    // From the test vectors of the authors, http://www.isthe.com/chongo/src/fnv/test_fnv.c
    expect(termOf('')).toBe(0x811c9dc5);
    expect(termOf('a')).toBe(0xe40c292c);
    expect(termOf('foobar')).toBe(0xbf9cf968);
    expect(termOf('chongo was here!\n')).toBe(0xd49930d5);
    expect(termOf('é')).not.toBe(termOf('e'));
  });
});
