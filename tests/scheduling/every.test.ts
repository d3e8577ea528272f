import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { every, type Repeated } from '../../src/scheduling/every.ts';

const MS = 1_000;

describe('every', () => {
  let repeated: Repeated;
  const errors: unknown[] = [];
  const onError = (error: unknown) => void errors.push(error);
  /** Ends the run that is in flight. */
  let end = (): void => {};
  const slow = vi.fn((_: AbortSignal) => new Promise<void>((resolve) => (end = resolve)));

  beforeEach(() => {
    vi.useFakeTimers();
    slow.mockClear();
    errors.length = 0;
  });
  afterEach(async () => {
    end();
    await repeated.close();
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
  });

  it('runs after each interval, and not before', async () => {
    const work = vi.fn();
    repeated = every(MS, work, { onError });
    await vi.advanceTimersByTimeAsync(MS - 1);
    expect(work).not.toHaveBeenCalled();
    await vi.advanceTimersByTimeAsync(2 * MS + 1);
    expect(work).toHaveBeenCalledTimes(3);
  });

  it('runs for the first time when it is asked to', async () => {
    const work = vi.fn();
    repeated = every(MS, work, { onError, firstMs: 10 });
    await vi.advanceTimersByTimeAsync(10);
    expect(work).toHaveBeenCalledOnce();
    await vi.advanceTimersByTimeAsync(MS - 1);
    expect(work).toHaveBeenCalledOnce();
    await vi.advanceTimersByTimeAsync(1);
    expect(work).toHaveBeenCalledTimes(2);
  });

  it('skips a run while another is in flight, and joins it if asked to run now', async () => {
    repeated = every(MS, slow, { onError });
    await vi.advanceTimersByTimeAsync(3 * MS);
    expect(slow).toHaveBeenCalledOnce();
    const joined = repeated.now();
    expect(slow).toHaveBeenCalledOnce();
    end();
    await joined;
    await vi.advanceTimersByTimeAsync(MS);
    expect(slow).toHaveBeenCalledTimes(2);
  });

  it.each([
    ['throws', () => expect.fail('of work')],
    ['rejects', async () => expect.fail('of work')],
  ])('goes on after work that %s', async (_, work) => {
    repeated = every(MS, work, { onError });
    await repeated.now();
    await vi.advanceTimersByTimeAsync(2 * MS);
    expect(errors.map((error) => (error as Error).message)).toEqual(['of work', 'of work', 'of work']);
  });

  it('waits for the run in flight when it is closed, aborts its signal, and runs no more', async () => {
    repeated = every(MS, slow, { onError });
    await vi.advanceTimersByTimeAsync(MS);
    const [signal] = slow.mock.calls[0];
    let isClosed = false;
    const closing = repeated.close().then(() => {
      isClosed = true;
    });
    await vi.advanceTimersByTimeAsync(5 * MS);
    expect([signal.aborted, isClosed]).toEqual([true, false]);
    end();
    await closing;
    await repeated.now();
    expect(slow).toHaveBeenCalledOnce();
  });

  it('is idle as soon as no run is in flight', async () => {
    repeated = every(MS, slow, { onError });
    await repeated.idle();
    const running = repeated.now();
    const order: string[] = [];
    const idle = repeated.idle().then(() => order.push('idle'));
    order.push('end');
    end();
    await Promise.all([running, idle]);
    expect(order).toEqual(['end', 'idle']);
  });
});
