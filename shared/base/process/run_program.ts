import { linkedController } from "../time/linked_controller.ts";
import { toError } from "../errors/to_error.ts";

/** What a system's program answered. */
export interface ProgramAnswer {
  /** 127 when there is no such program. */
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a program of the system to its end. Never rejects.
 *
 * @param limitMs a program that takes longer is killed. Default: 3 minutes; a service may take its
 *   time to start.
 * @param signal gives the program up, too.
 */
export type RunProgram = (
  program: string,
  args: readonly string[],
  limitMs?: number,
  signal?: AbortSignal,
) => Promise<ProgramAnswer>;

const LIMIT_MS = 180_000;

export const runProgram: RunProgram = async (program, args, limitMs = LIMIT_MS, signal) => {
  const limit = linkedController(signal ?? new AbortController().signal, limitMs);
  try {
    const output = await new Deno.Command(program, {
      args: [...args],
      stdin: "null",
      signal: limit.signal,
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code: output.code, stdout: text(output.stdout), stderr: text(output.stderr) };
  } catch (error) {
    return { code: 127, stdout: "", stderr: toError(error).message };
  } finally {
    limit.abort();
  }
};
