/** A version that says when: `2026-11-22T11-46-40`, in UTC. */
export function versionOf(now: Date): string {
  return now.toISOString().slice(0, 19).replaceAll(":", "-");
}

const ARGUMENT = /^([\w-]{1,100})=(.*)$/;

/** Arguments typed as `KEY=VALUE`, one a line; what is no argument is left out. */
export function argumentsOf(lines: string): Record<string, string> {
  return Object.fromEntries(
    linesOf(lines).flatMap((line) => {
      const [, key, value] = ARGUMENT.exec(line) ?? [];
      return key === undefined || value === undefined ? [] : [[key, value]];
    }),
  );
}

/** The first line that is no argument. */
export function wrongArgument(lines: string): string | undefined {
  return linesOf(lines).find((line) => !ARGUMENT.test(line));
}

function linesOf(lines: string): string[] {
  return lines.split("\n").map((line) => line.trim()).filter((line) => line !== "");
}
