import { join } from "node:path";
import { noPythonPackagesBecause } from "../../shared/test_tools/probes.ts";
import { ROOT } from "../../tools/programs.ts";

const EXAMPLE = join(ROOT, "docs", "examples", "tflite_model");
/** Changes with the example's requirements. */
const NAME = "tflite-module";

/**
 * A program that runs docs/examples/tflite_model with libraries that are installed once for this
 * clone.
 *
 * @returns its path; or why there is none, as no libraries can be installed here
 * @throws {Error} when only these cannot
 */
export async function tfliteModule(folder: string): Promise<{ path: string } | string> {
  const requirements = join(EXAMPLE, "requirements.txt");
  const text = new TextEncoder().encode(await Deno.readTextFile(requirements));
  const digest = new Uint8Array(await crypto.subtle.digest("SHA-256", text));
  const version = digest.toHex().slice(0, 12);
  const { success, stdout, stderr } = await new Deno.Command("sh", {
    args: [join(ROOT, "tools", "python_environment.sh"), NAME, version, requirements],
  }).output();
  if (!success) {
    const reason = await noPythonPackagesBecause();
    if (reason !== undefined) return reason;
    throw new Error(new TextDecoder().decode(stderr).trim());
  }
  const python = new TextDecoder().decode(stdout).trim();
  const path = join(folder, "tflite.sh");
  const script = `#!/bin/sh\nexec '${python}' '${join(EXAMPLE, "main.py")}' "$@"\n`;
  await Deno.writeTextFile(path, script, { mode: 0o755 });
  return { path };
}
