/** `1 file`, `2 files`: a number with what it counts, whose plural has an `s`. */
export function counted(number: number | bigint, word: string): string {
  return `${number} ${word}${Number(number) === 1 ? "" : "s"}`;
}

/** `17 B`, `48.2 KiB`, or MiB from one on. */
export function sizeText(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  return bytes < 1_048_576
    ? `${(bytes / 1024).toFixed(1)} KiB`
    : `${(bytes / 1_048_576).toFixed(1)} MiB`;
}
