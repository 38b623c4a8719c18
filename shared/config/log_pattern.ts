/**
 * The pattern of a log rule as a regular expression.
 *
 * It is anchored at both ends. A `*` that follows nothing it could repeat (anything but `.`, `)` or
 * `]`) is read as `.*`, because people write `rdk:component:*`.
 *
 * @throws {SyntaxError} when it is no regular expression
 */
export function compileLogPattern(pattern: string): RegExp {
  let source = "";
  let inClass = false;
  for (let at = 0; at < pattern.length; at++) {
    const letter = pattern.charAt(at);
    if (letter === "\\") {
      source += letter + pattern.charAt(at + 1);
      at++;
      continue;
    }
    if (letter === "[") inClass = true;
    if (letter === "]") inClass = false;
    const before = pattern.charAt(at - 1);
    const isLone = letter === "*" && !inClass && !(before !== "" && ".)]".includes(before));
    source += isLone ? ".*" : letter;
  }
  return new RegExp(`^(?:${source})$`);
}

/** Why a pattern does not compile; undefined when it does. */
export function logPatternError(pattern: string): string | undefined {
  try {
    compileLogPattern(pattern);
    return undefined;
  } catch (error) {
    // The engine's message repeats the expanded pattern; only the reason at its end is of use.
    return error instanceof Error ? error.message.split(": ").at(-1) : String(error);
  }
}
