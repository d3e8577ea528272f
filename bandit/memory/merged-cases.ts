/** Corrections come within a reward window; older merges can be forgotten. */
const REMEMBERED_MERGES = 1000;

/** Where cases went that merged into others, by id, so that a late correction finds them. */
export class MergedCases {
  private readonly into = new Map<number, number>();

  add(caseId: number, into: number): void {
    this.into.set(caseId, into);
    if (this.into.size <= REMEMBERED_MERGES) return;
    for (const oldest of this.into.keys()) {
      this.into.delete(oldest);
      return;
    }
  }

  /** The id under which this case goes on; its own if it never merged, or too long ago. */
  resolve(caseId: number): number {
    let id = caseId;
    for (let next = this.into.get(id); next !== undefined; next = this.into.get(id)) id = next;
    return id;
  }

  /** Pairs of ids, from and into, oldest first. */
  save(): Float64Array {
    return Float64Array.from([...this.into].flat());
  }

  static load(saved: Float64Array): MergedCases {
    const merged = new MergedCases();
    for (let i = 0; i < saved.length; i += 2) merged.into.set(saved[i], saved[i + 1]);
    return merged;
  }
}
