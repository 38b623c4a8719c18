import { ownProgram, type SubprocessCommand } from "../../../shared/base/process/own_program.ts";

export type { SubprocessCommand } from "../../../shared/base/process/own_program.ts";

/**
 * The cloud's program in the form in which it runs.
 *
 * @param job its first argument, which `subprocesses.ts` knows.
 */
export function subprocessCommand(job: string): SubprocessCommand {
  return ownProgram(job, new URL("../../subprocess_main.ts", import.meta.url));
}
