import type { SignalMatch } from "./system_bus.ts";

/**
 * A match as AddMatch takes it (D-Bus specification, "Match Rules").
 *
 * @throws {Error} for a value with an apostrophe or comma, which no name on a bus has.
 */
export function matchRule(match: SignalMatch): string {
  const parts: [string, string | undefined][] = [
    ["sender", match.sender],
    ["path", match.path],
    ["path_namespace", match.pathNamespace],
    ["interface", match.interface],
    ["member", match.member],
    ["arg0", match.arg0],
  ];
  const given = parts.flatMap(([key, value]) => value === undefined ? [] : [rulePart(key, value)]);
  return ["type='signal'", ...given].join(",");
}

function rulePart(key: string, value: string): string {
  if (/['\\,]/.test(value)) throw new Error(`${key} of a D-Bus match must not contain ${value}`);
  return `${key}='${value}'`;
}

/** Whether a signal is one that `match` requests; senders are not compared (names change hands). */
export function matches(
  match: SignalMatch,
  signal: { path: string; interface: string; member: string; body: readonly unknown[] },
): boolean {
  const { path, pathNamespace, arg0 } = match;
  return (path === undefined || path === signal.path) &&
    (pathNamespace === undefined || pathNamespace === "/" || signal.path === pathNamespace ||
      signal.path.startsWith(`${pathNamespace}/`)) &&
    (match.interface === undefined || match.interface === signal.interface) &&
    (match.member === undefined || match.member === signal.member) &&
    (arg0 === undefined || signal.body[0] === arg0);
}
