import { fileURLToPath } from "node:url";
import { runToEnd } from "../e2e/run_to_end.ts";

const FOLDER = new URL("typescript_sdk/", import.meta.url);

/**
 * Runs a program of the folder `typescript_sdk` and reads the JSON it writes. It runs in a process
 * of its own: the SDK's libraries are older majors of ours.
 *
 * @param patienceMs how long it may take; a quarter of an hour, as a busy host is a tenth as fast
 * @throws Error with what the program wrote when it fails or takes longer
 */
export async function runTypescriptSdk<T>(
  program: string,
  args: string[],
  patienceMs = 900_000,
): Promise<T> {
  const { success, stdout, stderr } = await runToEnd(Deno.execPath(), {
    args: [
      ...["run", "-A", "--no-check", "--frozen"],
      ...["--config", fileURLToPath(new URL("deno.json", FOLDER))],
      fileURLToPath(new URL(program, FOLDER)),
      ...args,
    ],
    cwd: FOLDER,
    limitMs: patienceMs,
  });
  if (!success) throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(new TextDecoder().decode(stdout)) as T;
}
