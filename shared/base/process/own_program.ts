import { fileURLToPath } from "node:url";
import { buildInfo } from "../build_info/build_info.ts";

/** How a process of this program is started. */
export interface SubprocessCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/**
 * This program in the form in which it runs: compiled, bundled or from its sources.
 *
 * @param job its first argument.
 * @param source what starts the job when the program runs from its sources.
 */
export function ownProgram(job: string, source: URL): SubprocessCommand {
  const command = Deno.execPath();
  if (buildInfo.compiled) return { command, args: [job] };
  const isBundled = buildInfo.nativeSqlite !== undefined;
  const main = isBundled ? Deno.mainModule : source.href;
  const config = isBundled ? ["--no-config", "--no-lock", "--no-code-cache"] : ["--no-check"];
  return { command, args: ["run", "-A", "--quiet", ...config, fileURLToPath(main), job] };
}
