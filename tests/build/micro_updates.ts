// What a machine-micro-server says of an update.

/**
 * Whether the lines of the last start say that `version` is kept or rolled back. A program that was killed
 * between its confirmation and the line about it says no more of it: it runs, and is not on trial.
 */
export function isSettled(lines: readonly string[], version: string): boolean {
  const since = lines.findLastIndex((line) => line.includes("machine-micro-server "));
  const last = lines.slice(Math.max(since, 0));
  const said = (text: string) => last.some((line) => line.includes(text));
  if (said(`${version} is confirmed`) || said(`${version} was tried and rolled back`)) return true;
  return said(`machine-micro-server ${version}`) && said("applied revision") && !said("on trial");
}
