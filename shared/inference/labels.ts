/** The labels of a file: one a line; a number in front, as some tools write it, is no part of it. */
export function labelsOf(text: Uint8Array): string[] {
  return new TextDecoder().decode(text).split(/\r?\n/).map((line) => line.trim())
    .filter((line) => line !== "").map((line) => line.replace(/^\d+[\s:]+(?=\S)/, ""));
}
