import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { OngoingCall } from '../../src/gateway/ongoing-call.ts';
import { type ParkedCall, ParkedCalls } from '../../src/gateway/parked-calls.ts';

const TARGET = { source: 'a', nameThere: 'echo' };

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** A call that its server never answers; `signal` tells when it is cancelled there. */
function calling(): { call: ParkedCall['call']; signal: AbortSignal } {
  let signal!: AbortSignal;
  const call: ParkedCall['call'] = new OngoingCall('', 1_000, {}, (_, given) => {
    signal = given;
    return new Promise(() => {});
  });
  return { call, signal };
}

it('a call is taken out once, by its own state alone, and goes on', () => {
  const parked = new ParkedCalls();
  const { call, signal } = calling();
  const state = parked.park(TARGET, call);
  expect(parked.take('another')).toBeNull();
  expect(parked.take(state)).toMatchObject({ target: TARGET, call });
  expect(parked.take(state)).toBeNull();
  vi.advanceTimersByTime(600_000);
  parked.close();
  expect(signal.aborted).toBe(false);
});

it('a call that nobody answers is cancelled at its server after ten minutes', () => {
  const parked = new ParkedCalls();
  const { call, signal } = calling();
  const state = parked.park(TARGET, call);
  vi.advanceTimersByTime(599_999);
  expect(signal.aborted).toBe(false);
  vi.advanceTimersByTime(1);
  expect(signal.aborted).toBe(true);
  expect(parked.take(state)).toBeNull();
});

it('the oldest of more than 1,000 calls is cancelled, and all of them at the end', () => {
  const parked = new ParkedCalls();
  const calls = Array.from({ length: 1_001 }, calling);
  const states = calls.map(({ call }) => parked.park(TARGET, call));
  expect(calls.filter(({ signal }) => signal.aborted)).toEqual([calls[0]]);
  expect(parked.take(states[0])).toBeNull();
  parked.close();
  expect(calls.every(({ signal }) => signal.aborted)).toBe(true);
  expect(vi.getTimerCount()).toBe(0);
});
