import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { Reporter } from "./report.ts";

const MODULE = "github.com/bojand/ghz/cmd/ghz@v0.120.0";
const BIN = fileURLToPath(new URL("../../.tools/bin/", import.meta.url));

/**
 * Path of the load generator ghz, built with Go into .tools/bin where it is not there yet.
 * Undefined where there is no Go, or the build fails.
 */
export async function findGhz(reporter: Reporter): Promise<string | undefined> {
  const path = join(BIN, Deno.build.os === "windows" ? "ghz.exe" : "ghz");
  if (await exists(path)) return path;
  reporter.note(`building ${MODULE} …`);
  try {
    const { success, stderr } = await new Deno.Command("go", {
      args: ["install", MODULE],
      env: { GOBIN: BIN },
    }).output();
    if (success) return path;
    reporter.note(`go could not build ghz: ${new TextDecoder().decode(stderr).trim()}`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    reporter.note("there is no Go to build ghz with");
  }
  return undefined;
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch {
    return false;
  }
}
