/**
 * The source map inside a bundle. The runtime reads it as a whole at the first stack trace, and
 * every log line takes one for its `file:line`. esbuild's map of a bundle is 1.7 MB, nine tenths of
 * it about packages, and costs 20 MB of memory then; cut to our own lines it costs next to nothing.
 */

/** A source map as the format's version 3 has it. */
export interface SourceMap {
  version: number;
  sources: string[];
  /** Lines separated by `;`, segments by `,`, each segment one to five base64-VLQ numbers. */
  mappings: string;
}

/**
 * Keeps the sources that `rename` gives a name, and of their positions one for each source line.
 * Names, columns and source text are dropped; the rest is marked as not mapped.
 *
 * @param rename new name of a source, or undefined to drop it.
 * @param columnOf where a column of a generated line has come to lie. Default: where it was.
 */
export function cutSourceMap(
  map: SourceMap,
  rename: (source: string) => string | undefined,
  columnOf: (line: number, column: number) => number = (_, column) => column,
): SourceMap {
  const sources: string[] = [];
  const kept = map.sources.map((source) => {
    const name = rename(source);
    return name === undefined ? -1 : sources.push(name) - 1;
  });
  const read = { source: 0, line: 0 };
  const written = { source: 0, line: 0 };
  // The place the last kept segment stands for; -1 while in what is not mapped.
  const now = { source: -1, line: -1 };

  const lines = map.mappings.split(";").map((text, generatedLine) => {
    const segments: string[] = [];
    let column = 0;
    let writtenColumn = 0;
    for (const segment of text.split(",")) {
      if (segment === "") continue;
      const [columnStep = 0, sourceStep, lineStep] = decodeVlq(segment);
      column += columnStep;
      let source = -1;
      if (sourceStep !== undefined && lineStep !== undefined) {
        read.source += sourceStep;
        read.line += lineStep;
        source = kept[read.source] ?? -1;
      }
      const line = source === -1 ? -1 : read.line;
      if (source === now.source && line === now.line) continue;
      now.source = source;
      now.line = line;
      const moved = columnOf(generatedLine, column);
      const fields = [moved - writtenColumn];
      writtenColumn = moved;
      if (source !== -1) {
        fields.push(source - written.source, line - written.line, 0);
        written.source = source;
        written.line = line;
      }
      segments.push(encodeVlq(fields));
    }
    // A generated line starts unmapped whatever the last one ended with.
    now.source = now.line = -1;
    return segments.join(",");
  });
  return { version: 3, sources, mappings: lines.join(";").replace(/;+$/, "") };
}

/** The comment that carries a map inside the module itself. */
export function inlineComment(map: SourceMap): string {
  return `//# sourceMappingURL=data:application/json;base64,${btoa(JSON.stringify(map))}\n`;
}

const DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/** Numbers of one segment. @throws Error when a character is not base64. */
export function decodeVlq(text: string): number[] {
  const numbers: number[] = [];
  let value = 0;
  let shift = 0;
  for (const char of text) {
    const digit = DIGITS.indexOf(char);
    if (digit < 0) throw new Error(`"${char}" in a source map is not base64`);
    value += (digit & 31) << shift;
    if (digit & 32) {
      shift += 5;
      continue;
    }
    numbers.push(value & 1 ? -(value >> 1) : value >> 1);
    value = shift = 0;
  }
  return numbers;
}

/** The reverse of {@link decodeVlq}. */
export function encodeVlq(numbers: readonly number[]): string {
  let text = "";
  for (const number of numbers) {
    let rest = number < 0 ? (-number << 1) | 1 : number << 1;
    do {
      const more = rest > 31 ? 32 : 0;
      text += DIGITS[(rest & 31) | more];
      rest >>= 5;
    } while (rest > 0);
  }
  return text;
}
