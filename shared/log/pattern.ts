/** A `log` rule of the machine configuration. */
export interface LogPattern {
  /** An anchored regular expression over logger names, see {@link compileLogPattern}. */
  pattern: string;
  level: string;
}

// Names are short; a longer pattern is an accident.
const LONGEST_PATTERN = 1_000;

/**
 * Compiles the pattern of a `log` rule. It is a regular expression that must match the whole
 * name. Because users write `rdk:component:*`, a `*` that follows anything but `.`, `)`, `]` or
 * an escape is read as `.*`.
 *
 * @throws {SyntaxError} with the compiler's reason.
 */
export function compileLogPattern(pattern: string): RegExp {
  if (pattern.length > LONGEST_PATTERN) {
    throw new SyntaxError(`longer than ${LONGEST_PATTERN} characters`);
  }
  return new RegExp(`^(?:${expandStars(pattern)})$`);
}

function expandStars(pattern: string): string {
  let result = "";
  let previous = "";
  let inClass = false;
  for (let index = 0; index < pattern.length; index++) {
    const char = pattern[index] ?? "";
    if (char === "\\") {
      result += char + (pattern[++index] ?? "");
      previous = "escape";
      continue;
    }
    if (char === "[") inClass = true;
    if (char === "]") inClass = false;
    const isGlobStar = char === "*" && !inClass && ![".", ")", "]", "escape"].includes(previous);
    result += isGlobStar ? ".*" : char;
    previous = char;
  }
  return result;
}
