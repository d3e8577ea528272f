import { describe, expect, it, test } from 'vitest';
import { readLightGbmModel } from '../../../bandit/ranking/lightgbm-model.ts';
import { decodeTrees, encodeTrees } from '../../../bandit/ranking/tree-codec.ts';
import { TreeEnsemble, TreesUnreadableError } from '../../../bandit/ranking/tree-ensemble.ts';
import golden from '../../golden/lightgbm/models.json' with { type: 'json' };

describe('a model of LightGBM', () => {
  for (const { name, saved, dumped, rows, scores } of golden.models) {
    const features = Float64Array.from(rows.flat(), (value) => value ?? Number.NaN);
    test(`scores as it does there, from its text and from its JSON: ${name}`, () => {
      expect(Array.from(readLightGbmModel(saved).scores(features))).toEqual(scores);
      expect(Array.from(readLightGbmModel(dumped).scores(features))).toEqual(scores);
    });
    test(`comes back from our own format: ${name}`, () => {
      const bytes = encodeTrees(readLightGbmModel(saved));
      expect(Array.from(decodeTrees(bytes).scores(features))).toEqual(scores);
      expect(bytes.length).toBeLessThan(saved.length);
    });
  }

  it('that is something else is refused by name', () => {
    const { saved, dumped } = golden.models[0];
    for (const [text, message] of [
      ['', 'no line "end of trees"'],
      ['{', 'it is no JSON'],
      ['{}', 'scores per row'],
      [saved.slice(0, 900), 'cut short'],
      [saved.replace('num_tree_per_iteration=1', 'num_tree_per_iteration=3'), 'it has 3 scores per row'],
      [saved.replace('label_index=0', 'average_output\nlabel_index=0'), 'averages its trees'],
      [saved.replace('is_linear=0', 'is_linear=1'), 'linear functions'],
      [saved.replace(/left_child=\S+/, 'left_child=0'), 'points nowhere'],
      [saved.replace(/split_feature=\S+/, 'split_feature=99'), 'asks for feature 99'],
      [dumped.replace('"decision_type": "<="', '"decision_type": ">"'), 'a test that is not known'],
      [dumped.replace('"feature_names"', '"names"'), 'feature_names'],
      [dumped.replace('"left_child"', '"left"'), 'neither a value nor children'],
    ]) {
      expect(() => readLightGbmModel(text), message).toThrow(TreesUnreadableError);
      expect(() => readLightGbmModel(text)).toThrow(message);
    }
  });
});

describe('our own format', () => {
  const bytes = encodeTrees(readLightGbmModel(golden.models[1].saved));

  it('is refused when it is cut short, goes on, or is of another version', () => {
    expect(() => decodeTrees(new Uint8Array())).toThrow('BTRE');
    for (const length of [11, 40, bytes.length - 1]) {
      expect(() => decodeTrees(bytes.slice(0, length))).toThrow(TreesUnreadableError);
    }
    expect(() => decodeTrees(Uint8Array.of(...bytes, 0))).toThrow('more behind their end');
    const newer = bytes.slice();
    newer[4] = 9;
    expect(() => decodeTrees(newer)).toThrow('version 9, and 1 is read here');
  });

  it('with any byte changed is refused or still ends: no circle, no place outside', () => {
    const row = new Float64Array(8);
    for (let at = 0; at < bytes.length; at++) {
      const damaged = bytes.slice();
      damaged[at] ^= 0xff;
      try {
        expect(typeof decodeTrees(damaged).scores(row)[0]).toBe('number');
      } catch (error) {
        expect(error).toBeInstanceOf(TreesUnreadableError);
      }
    }
  });

  it('may lie anywhere in a larger buffer', () => {
    const larger = new Uint8Array(bytes.length + 3);
    larger.set(bytes, 3);
    expect(decodeTrees(larger.subarray(3)).parts).toEqual(decodeTrees(bytes).parts);
    expect(decodeTrees(Buffer.from(larger).subarray(3)).parts).toEqual(decodeTrees(bytes).parts);
  });

  it('rows have to be whole', () => {
    const trees = new TreeEnsemble(decodeTrees(bytes).parts);
    expect(() => trees.scores(new Float64Array(9))).toThrow('rows of 8 features, not 9 numbers');
  });
});
