import { isAbsolute, join, resolve } from "node:path";

export const PROGRAM = "machine-agent";

export const DIR = (os: string) => ({
  type: "string",
  placeholder: "DIR",
  doc: "The agent's own folder.",
  default: os === "windows" ? "c:\\opt\\machine" : "/opt/machine",
} as const);

/** As seen from the folder that this process was started in. */
export function absolute(path: string): string {
  return isAbsolute(path) ? path : resolve(join(".", path));
}
