import { describe, expect, it } from 'vitest';
import { PolicySettingsError } from '../../../bandit/policies/policy-kind.ts';
import { POLICY_KINDS, policyKind, policyParameters } from '../../../bandit/policies/registry.ts';

describe('the registry of policies', () => {
  it('has a unique name and a sentence for everything that can be chosen or set', () => {
    expect(new Set(POLICY_KINDS.map(({ name }) => name)).size).toBe(POLICY_KINDS.length);
    for (const { sentence, parameters } of POLICY_KINDS) {
      for (const text of [sentence, ...parameters.map((parameter) => parameter.sentence)]) {
        expect(text).toMatch(/^\S.*\.$/);
      }
    }
  });

  it('has defaults within their ranges', () => {
    for (const { name, parameters } of POLICY_KINDS) {
      const defaults = Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter.default]));
      expect(policyParameters(name, {})).toEqual(defaults);
    }
  });

  it('names what there is when a policy or parameter is unknown', () => {
    expect(() => policyKind('linucb')).toThrow(PolicySettingsError);
    expect(() => policyKind('linucb')).toThrow(/no policy “linucb”.*“sc-linucb-memory”.*“uniform”/);
    expect(() => policyKind('__proto__')).toThrow(/no policy/);
    expect(() => policyParameters('sc-linucb', { aplha: 1 })).toThrow(
      /no parameter “aplha”.*“alpha”, “lambda”/,
    );
    expect(() => policyParameters('hybrid', { alpha: 1 })).toThrow(/It has none/);
    expect(() => policyParameters('sc-linucb', { toString: 1 })).toThrow(/no parameter “toString”/);
  });

  it('says of a parameter that is refused what it is, and of an unknown one what there is', () => {
    const refusal = (parameters: Record<string, number>): unknown => {
      try {
        return policyParameters('sc-linucb', parameters);
      } catch (error) {
        return error;
      }
    };
    expect(refusal({ alpha: 11 })).toMatchObject({
      parameter: 'alpha',
      suggestedFix: expect.stringMatching(/^alpha \(a number from 0 to 10, .* by default\): .*\.$/),
    });
    expect(refusal({ luck: 1 })).toMatchObject({
      parameter: 'luck',
      suggestedFix: expect.stringMatching(/^alpha .* lambda /),
    });
  });

  it('refuses values out of range and says what the range is', () => {
    expect(() => policyParameters('sc-linucb', { alpha: -1 })).toThrow(/a number from 0 to 10, not -1/);
    expect(() => policyParameters('sc-linucb', { lambda: Number.NaN })).toThrow(/not NaN/);
    expect(() => policyParameters('sc-linucb-memory', { cases: 10.5 })).toThrow(
      /a whole number from 10 to 20000/,
    );
    expect(() => policyParameters('sc-linucb-memory', { cases: 20_001 })).toThrow(
      /“cases” of policy “sc-linucb-memory” is a whole number from 10 to 20000, not 20001/,
    );
  });
});
