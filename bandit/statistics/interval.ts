/** What is still possible for a number, in its own unit of measure; an end may be infinite. */
export interface Interval {
  readonly lower: number;
  readonly upper: number;
}
