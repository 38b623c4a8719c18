/** Skips tests that cannot run on this host, and says why, once. */
import process from "node:process";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { isThere, type ToolName, TOOLS } from "./tools.ts";

/** `make test` names a file by it, to which reasons are added; elsewhere they are printed. */
export const SKIPS_FILE = "MACHINE_TEST_SKIPS";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));

/** Why some tests of a file did not run. */
export interface Skip {
  readonly reason: string;
  /** Path of the tests, from the root of the sources. */
  readonly file: string;
}

/**
 * For `ignore` of tests that need tools: true when one is missing, which is reported with what to
 * install.
 *
 * @param url `import.meta.url` of the tests.
 */
export function ignoreWithout(url: string, ...names: readonly ToolName[]): boolean {
  return ignoreBecause(url, missingTools(...names));
}

/** Which tools are missing and what to install, in one line; undefined when all are there. */
export function missingTools(...names: readonly ToolName[]): string | undefined {
  const missing = names.filter((name) => !isThere(TOOLS[name]));
  if (missing.length === 0) return undefined;
  const packages = missing.flatMap((name) => TOOLS[name].packages);
  return `no ${missing.join(", no ")} here (Debian: apt-get install ${packages.join(" ")})`;
}

/** For `ignore` of tests: true when there is a reason, which is reported. */
export function ignoreBecause(url: string, reason: string | undefined): boolean {
  if (reason === undefined) return false;
  tellSkip(url, reason);
  return true;
}

/**
 * Reports that tests of a file do not run, or, for one that finds out on its way, that it ends
 * early.
 */
export function tellSkip(url: string, reason: string): void {
  const line = reason.replaceAll(/\s+/g, " ").trim();
  const skip: Skip = { reason: line, file: relative(ROOT, fileURLToPath(url)) };
  const file = process.env[SKIPS_FILE];
  if (file === undefined) process.stderr.write(`skipped: ${skip.reason}: ${skip.file}\n`);
  else Deno.writeTextFileSync(file, `${JSON.stringify(skip)}\n`, { append: true });
}
