import { compileLogPattern } from "../log/pattern.ts";

/** Why the pattern of a log rule does not compile; undefined when it does. */
export function logPatternError(pattern: string): string | undefined {
  try {
    compileLogPattern(pattern);
    return undefined;
  } catch (error) {
    // The engine's message repeats the expanded pattern; only the reason at its end is of use.
    return error instanceof Error ? error.message.split(": ").at(-1) : String(error);
  }
}
