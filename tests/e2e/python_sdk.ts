import { fileURLToPath } from "node:url";
import { LONG_MS, runToEnd } from "./run_to_end.ts";

const REQUIREMENTS = new URL("../../tools/python_sdk_requirements.txt", import.meta.url);
const INSTALLER = new URL("../../tools/python_sdk.sh", import.meta.url);

/** The published Python SDK the tests run against. */
export const pythonSdk = {
  /** Pinned release, for example `0.85.1`. */
  get version(): string {
    const line = /^viam-sdk==(\S+)/m.exec(Deno.readTextFileSync(REQUIREMENTS));
    if (line?.[1] === undefined) throw new Error(`no viam-sdk== line in ${REQUIREMENTS.pathname}`);
    return line[1];
  },
};

/** What a Python program wrote. */
export interface PythonOutput {
  stdout: Uint8Array<ArrayBuffer>;
  stderr: string;
}

/** Installs the SDK where it is not yet, and returns the path of its interpreter. */
export async function ensurePythonSdk(): Promise<string> {
  const { success, stdout, stderr } = await runToEnd("sh", {
    args: [fileURLToPath(INSTALLER)],
    limitMs: LONG_MS,
  });
  if (!success) throw new Error(new TextDecoder().decode(stderr).trim());
  return new TextDecoder().decode(stdout).trim();
}

/**
 * Runs a Python program with the SDK at hand.
 * @param patienceMs how long it may take; a quarter of an hour, as a busy host is a tenth as fast
 * @throws Error with what the program wrote when it fails or takes longer
 */
export async function runPython(
  program: URL,
  args: string[],
  env: Record<string, string> = {},
  patienceMs = 900_000,
): Promise<PythonOutput> {
  const python = await ensurePythonSdk();
  const { code, stdout, stderr } = await runToEnd(python, {
    args: [fileURLToPath(program), ...args],
    env: { ...env, PYTHONDONTWRITEBYTECODE: "1" },
    limitMs: patienceMs,
  });
  const errors = new TextDecoder().decode(stderr);
  if (code !== 0) {
    throw new Error(
      `${program.pathname} exited with code ${code}\n${errors}${new TextDecoder().decode(stdout)}`,
    );
  }
  return { stdout, stderr: errors };
}
