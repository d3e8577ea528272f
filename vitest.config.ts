import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['tests/**/*.test.ts'],
    // Worker threads are started from dist/, so it has to be there and up to date.
    globalSetup: ['tests/set-up/build.ts'],
    setupFiles: ['tests/set-up/fail-on-leaks.ts'],
    // Processes, not threads: a test may start threads, children and native code of its own.
    pool: 'forks',
    maxWorkers: 2,
    // Generous, for slow machines: nothing here is a statement about speed.
    testTimeout: 60_000,
    hookTimeout: 120_000,
    teardownTimeout: 20_000,
    reporters: ['default'],
  },
});
