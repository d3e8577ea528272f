import { describe, expect, it } from 'vitest';
import { Problem } from '../../src/errors/problem.ts';
import { OutcomeUnknownError } from '../../src/errors/store-errors.ts';
import { asProblem, problemHeaders, problemJson } from '../../src/http/problem-json.ts';

describe('problem+json', () => {
  it('has the members of RFC 9457 and ours', () => {
    const problem = new Problem('revision-mismatch', 'It is at r2.', 'Read it again.', {
      violations: [{ path: 'If-Match', message: 'is r1' }],
    });
    expect(problemJson(problem, 'id-1')).toEqual({
      type: 'urn:bandolier:problem:revision-mismatch',
      title: 'Revision mismatch',
      status: 412,
      detail: 'It is at r2.',
      code: 'revision-mismatch',
      suggestedFix: 'Read it again.',
      requestId: 'id-1',
      violations: [{ path: 'If-Match', message: 'is r1' }],
    });
  });

  it('says nothing of what was thrown by accident', () => {
    const shown = JSON.stringify(problemJson(asProblem(new TypeError('secret /etc/path')), 'x'));
    expect(shown).not.toMatch(/secret|TypeError|path/);
    expect(asProblem('thrown as text').code).toBe('internal');
  });

  it('knows stores that are away by their retryAfterSeconds', () => {
    const problem = asProblem(Object.assign(new Error('ENOSPC /data'), { retryAfterSeconds: 2.2 }));
    expect(problem.code).toBe('unavailable');
    expect(problem.message).not.toMatch(/data/);
    expect(problemHeaders(problem)).toMatchObject({ 'retry-after': '3' });
  });

  it('does not say that nothing was accepted when something may have been', () => {
    const away = asProblem(Object.assign(new Error('away'), { retryAfterSeconds: 1 }));
    expect(away.message).toContain('Nothing was accepted');
    const unknown = asProblem(new OutcomeUnknownError('Redis did not answer.'));
    expect(unknown).toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
    expect(unknown.message).toMatch(/may have been/);
    expect(unknown.suggestedFix).toMatch(/same Idempotency-Key/);
    expect(`${unknown.message} ${unknown.suggestedFix}`).not.toMatch(/nothing was accepted/i);
  });

  it('sends Retry-After with 429 and 503 only', () => {
    expect(problemHeaders(new Problem('too-many-requests', '', ''))).toHaveProperty('retry-after', '1');
    expect(problemHeaders(new Problem('decision-not-found', '', ''))).not.toHaveProperty('retry-after');
  });
});
