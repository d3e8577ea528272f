import { describe, expect, it } from 'vitest';
import { MAX_CHARACTERS, termOf, tokenise, wordsOf } from '../../src/retrieval/tokenise.ts';

const termsOf = (...stems: string[]): Uint32Array => Uint32Array.from(stems, termOf);

describe('tokenise', () => {
  it('takes names apart and stems what it finds', () => {
    expect(tokenise('getUserIDs from the HTTPServer: list_all-open.invoices')).toEqual(
      termsOf('get', 'user', 'id', 'http', 'server', 'list', 'all', 'open', 'invoic'),
    );
  });

  it('drops the words that say nothing, keeps order and repeats', () => {
    expect(tokenise('Please convert the file to a file!')).toEqual(termsOf('convert', 'file', 'file'));
    expect(tokenise('I would like to')).toEqual(termsOf());
  });

  it('reads the same word in any spelling of it', () => {
    for (const [one, other] of [
      ['Café', 'cafe'],
      ['cafe\u0301', 'CAFÉ'],
      ['Ｗｉｄｅ', 'wide'],
      ['ﬁle', 'file'],
      ['naïveté', 'naivete'],
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
    ['Greek', 'Καιρός', ['καιρός']],
    ['Hebrew', 'מזג אוויר', ['מזג', 'אוויר']],
    ['Arabic', 'حالة الطقس', ['حالة', 'الطقس']],
    ['Hindi', 'मौसम की जानकारी', ['मौसम', 'की', 'जानकारी']],
    ['Chinese', '天气预报', ['天气', '气预', '预报']],
    ['Japanese', '天気は', ['天気', '気は']],
    ['Korean', '날씨 예보를', ['날씨', '예보', '보를']],
    ['Thai', 'อากาศ', ['อา', 'าก', 'กา', 'าศ']],
  ])('finds the words of %s', (_, text, words) => {
    expect(wordsOf(text)).toEqual(words);
  });

  it('finds nothing in nothing, emoji and punctuation', () => {
    for (const text of ['', ' \n\t', '😀🎉👩‍👩‍👧', '?!… — «»', '\u0000\u0001'])
      expect(tokenise(text)).toEqual(termsOf());
  });

  it('reads only the beginning of a very long text', () => {
    const long = 'invoice '.repeat(200_000);
    expect(tokenise(long)).toHaveLength(Math.ceil(MAX_CHARACTERS / 'invoice '.length));
    expect(tokenise(`x${'y'.repeat(1_000_000)}`)).toHaveLength(1);
  });

  it('treats names of object properties like any other word', () => {
    const words = ['proto', 'constructor', 'tostr', 'hasownproperti'];
    expect(tokenise('__proto__ constructor tostring hasownproperty')).toEqual(termsOf(...words));
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
