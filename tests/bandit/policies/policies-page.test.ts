import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { POLICY_KINDS } from '../../../bandit/policies/registry.ts';

/** The table of docs/policies.md, one row per policy and parameter. */
function table(): string {
  const rows = POLICY_KINDS.flatMap(({ name, sentence, parameters, defaultExploration }) => [
    `| \`${name}\` | \`${defaultExploration}\` | | | | ${sentence} |`,
    ...parameters.map((parameter) => {
      const { minimum, maximum, integer } = parameter;
      const range = `${integer ? 'integer ' : ''}${minimum} … ${maximum}`;
      return `| | | \`${parameter.name}\` | ${parameter.default} | ${range} | ${parameter.sentence} |`;
    }),
  ]);
  return `| policy | explores by | parameter | default | range | what it does |\n|---|---|---|---|---|---|\n${rows.join('\n')}\n`;
}

it('docs/policies.md says what the registry says; the message of this test has the table to paste', () => {
  const page = readFileSync(new URL('../../../docs/policies.md', import.meta.url), 'utf8');
  expect(page.slice(page.indexOf('| policy |'))).toBe(table());
});
