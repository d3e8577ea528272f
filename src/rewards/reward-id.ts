import { createHash, randomUUID } from 'node:crypto';

const TAIL_DIGITS = 10;
const CHECK_DIGITS = 6;

/**
 * `<decisionId>.<10 hex digits><6 check digits>`: from the idempotency key if there is one, else drawn. The check digits
 * tell an id that was given out from one that was made up, without asking a store; they are no secret.
 */
export function rewardIdFor(decisionId: string, idempotencyKey?: string): string {
  const tail =
    idempotencyKey === undefined
      ? // Those digits of a UUID are random; Node draws them in stock.
        randomUUID().slice(-TAIL_DIGITS)
      : digest(idempotencyKey).slice(0, TAIL_DIGITS);
  return `${decisionId}.${tail}${checkOf(decisionId, tail)}`;
}

/** Whether this can be the id of a reward that was accepted. */
export function isRewardId(rewardId: string): boolean {
  const dot = rewardId.lastIndexOf('.');
  const [decisionId, digits] = [rewardId.slice(0, dot), rewardId.slice(dot + 1)];
  const tail = digits.slice(0, TAIL_DIGITS);
  return tail.length === TAIL_DIGITS && digits.slice(TAIL_DIGITS) === checkOf(decisionId, tail);
}

function checkOf(decisionId: string, tail: string): string {
  return digest(`reward/${decisionId}.${tail}`).slice(0, CHECK_DIGITS);
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
