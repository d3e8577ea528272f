import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { lastWords, UserError } from '../../src/cli/terminal.ts';
import { Problem } from '../../src/errors/problem.ts';

it.each([
  ['EPERM', /^bandolier: \/var\/data may not be used by this user: .* \(EPERM\)\.$/],
  ['ENOSPC', /the disk is full \(ENOSPC\)/],
])('says what %s means, without a stack', (code, sentence) => {
  const error = Object.assign(new Error(code), { code, path: '/var/data', syscall: 'open' });
  expect(lastWords(error)).toMatch(sentence);
});

it('shows the stack of a fault of ours alone', () => {
  expect(lastWords(new UserError('Mend it.'))).toBe('bandolier: Mend it.');
  const noSecret = new Problem('unavailable', 'No secret is set.', 'Set one.');
  expect(lastWords(noSecret)).toBe('bandolier: No secret is set. Set one.');
  expect(lastWords(new TypeError('x'))).toMatch(
    /something went wrong that should not have\.\nTypeError: x\n {4}at /,
  );
  const missing = (): unknown => readFileSync('/no/such/file');
  expect(missing).toThrow(expect.objectContaining({ code: 'ENOENT' }));
});
