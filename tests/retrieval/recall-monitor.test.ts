import { describe, expect, it } from 'vitest';
import { RecallMonitor, recallOf } from '../../src/retrieval/vectors/recall-monitor.ts';

function watched() {
  const alarms: [alarmed: boolean, recall: number][] = [];
  const monitor = new RecallMonitor((alarmed, recall) => alarms.push([alarmed, recall]));
  const observe = (recall: number, times: number): void => {
    for (let time = 0; time < times; time++) monitor.observe(recall);
  };
  return { monitor, alarms, observe };
}

describe('RecallMonitor', () => {
  it('picks one search in a hundred, the first among them', () => {
    const { monitor } = watched();
    const due = Array.from({ length: 301 }, () => monitor.isDue());
    expect(due.flatMap((is, at) => (is ? [at] : []))).toEqual([0, 100, 200, 300]);
  });

  it('raises one alarm when too little is found, and takes it back when enough is', () => {
    const { monitor, alarms, observe } = watched();
    observe(0.5, 9);
    expect(alarms).toEqual([]);
    observe(0.5, 1);
    expect(alarms).toEqual([[true, 0.5]]);
    expect(monitor.recall).toBe(0.5);
    observe(0.5, 100);
    expect(alarms).toHaveLength(1);
    observe(1, 50);
    expect(alarms.map(([alarmed]) => alarmed)).toEqual([true, false]);
    expect(alarms[1][1]).toBeGreaterThanOrEqual(0.97);
  });

  it('begins again with another index', () => {
    const { monitor, alarms, observe } = watched();
    observe(0.5, 10);
    monitor.restart();
    expect(monitor.recall).toBeNull();
    expect(monitor.alarmed).toBe(false);
    expect(alarms.map(([alarmed]) => alarmed)).toEqual([true, false]);
    monitor.restart();
    expect(alarms).toHaveLength(2);
  });
});

describe('recallOf', () => {
  const all = Int32Array.from({ length: 200 }, (_, slot) => slot);

  it('is the share of the 50 nearest that was found', () => {
    const cosine = (slot: number): number => 1 - slot / 1000;
    expect(recallOf([...all].slice(0, 50), all, cosine)).toBe(1);
    expect(recallOf([...all].slice(5, 100), all, cosine)).toBe(0.9);
    expect(recallOf([], all, cosine)).toBe(0);
    expect(recallOf([3], Int32Array.of(3, 4), cosine)).toBe(0.5);
    expect(recallOf([], new Int32Array(0), cosine)).toBe(1);
  });

  it('does not care which of equally near ones were found', () => {
    expect(recallOf([...all].slice(120, 180), all, () => 0.5)).toBe(1);
  });
});
