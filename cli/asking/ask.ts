import { UsageError } from "../../shared/base/flags/flags.ts";

/**
 * Asks on standard error and reads a line of standard input.
 *
 * @returns what was typed, without spaces around it unless it was hidden
 * @throws {UsageError} when standard input has ended
 */
export async function ask(
  question: string,
  { hidden = false }: { readonly hidden?: boolean } = {},
): Promise<string> {
  const isTerminal = Deno.stdin.isTerminal();
  if (isTerminal) Deno.stderr.writeSync(new TextEncoder().encode(question));
  const raw = hidden && isTerminal;
  if (raw) Deno.stdin.setRaw(true);
  try {
    const line = await readLine(raw, question);
    // A password may begin or end with a space.
    return hidden ? line : line.trim();
  } finally {
    if (raw) {
      Deno.stdin.setRaw(false);
      Deno.stderr.writeSync(new TextEncoder().encode("\n"));
    }
  }
}

/** Byte by byte: what comes after the line belongs to the next question. */
async function readLine(raw: boolean, question: string): Promise<string> {
  const bytes: number[] = [];
  const one = new Uint8Array(1);
  for (;;) {
    const count = await Deno.stdin.read(one);
    const [byte = 0] = one;
    if (count === null) {
      if (bytes.length > 0) break;
      const asked = question.trim().replace(/[:?]$/, "");
      throw new UsageError(
        `standard input has ended and ${
          JSON.stringify(asked)
        } is not answered; without a terminal ` +
          "give it as an option, or as a line of standard input",
      );
    }
    if (byte === 0x0a || (raw && byte === 0x0d)) break;
    if (raw && byte === 0x03) throw new UsageError("interrupted");
    if (raw && (byte === 0x7f || byte === 0x08)) bytes.pop();
    else bytes.push(byte);
  }
  return new TextDecoder().decode(new Uint8Array(bytes)).replace(/\r$/, "");
}
