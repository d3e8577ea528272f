/** A queue of commands for each name: those of one name run one after the other, those of different names at the same time. */
export class CommandQueues {
  /** By name: settles with its last command. */
  readonly #ends = new Map<string, Promise<void>>();

  /** Runs a command after those that came before it, whether or not they failed. Returns or throws what it does. */
  run<T>(name: string, command: () => Promise<T>): Promise<T> {
    const run = (this.#ends.get(name) ?? Promise.resolve()).then(command);
    const end = run.then(
      () => {},
      () => {},
    );
    this.#ends.set(name, end);
    void end.then(() => {
      if (this.#ends.get(name) === end) this.#ends.delete(name);
    });
    return run;
  }

  /** Resolves when every command that was given until now has ended. */
  async idle(): Promise<void> {
    await Promise.all(this.#ends.values());
  }
}
