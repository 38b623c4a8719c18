import { join } from "node:path";
import { run } from "./run.ts";

/** Path of the pinned Zig, which is installed where it is not there yet. */
export async function findZig(root: string): Promise<string> {
  const requirements = join(root, "tools", "zig_requirements.txt");
  const version = (await Deno.readTextFile(requirements)).match(/^ziglang==([\d.]+)/m)?.[1] ?? "";
  const environment = join(root, "tools", "python_environment.sh");
  const python = (await run("sh", [environment, "zig", version, requirements])).trim();
  const folder = await run(python, [
    "-c",
    "import os, ziglang; print(os.path.dirname(ziglang.__file__))",
  ]);
  return join(folder.trim(), "zig");
}
