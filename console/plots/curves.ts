/** Lines of one plot over the same axis. */
export interface Curves {
  /** What each line is of. */
  readonly names: readonly string[];
  /** The first column holds times in seconds, numbers, or places in a list of names. */
  readonly axis: "time" | "number" | readonly string[];
  /** Where the values stand, in order; then the values of each line, null where it has none. */
  readonly columns: [number[], ...(number | null)[][]];
}
