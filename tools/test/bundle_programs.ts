import { join } from "node:path";
import process from "node:process";
import { PROGRAMS, ROOT } from "../programs.ts";

/** What `tools/launch.sh` asks. */
const BUNDLED = "MACHINE_TEST_BUNDLED";

/**
 * Bundles the programs whose sources have changed, as long as that takes: it is not to count for the
 * first test that starts one, and several tests at a time would each do it. What this process starts
 * later uses the bundles as they are, without looking at the sources again.
 */
export async function bundlePrograms(): Promise<void> {
  if (Deno.build.os === "windows" || process.env[BUNDLED] === "true") return;
  for (const { name } of PROGRAMS) {
    const program = new Deno.Command(join(ROOT, "bin", name), { args: ["--help"], stdout: "null" });
    await program.output(); // the tests say what is wrong with one that does not start
  }
  process.env[BUNDLED] = "true";
}
