/** The names that logging libraries use, in the product's words. */
const SAME: Readonly<Record<string, string>> = {
  warning: "warn",
  err: "error",
  critical: "error",
  dpanic: "error",
  panic: "error",
  fatal: "error",
  trace: "debug",
};

/** `Info`, `INFO` and `info` are one level; an unknown name stays, in lower case. */
export function normalLevel(level: string): string {
  const lower = level.trim().toLowerCase();
  if (lower === "") return "info";
  return SAME[lower] ?? lower;
}
