import { Code } from "@connectrpc/connect";
import { dirname, isAbsolute, join } from "node:path";
import { RunFailedError } from "./run_failure.ts";

/** Libraries that pip installs for it: versions and hashes of everything. */
export const REQUIREMENTS_FILE = "requirements.txt";

/** The training script that comes with the cloud. */
export interface ManagedScript {
  /** Changes with the requirements; the environment is kept under it, for newer scripts too. */
  readonly key: string;
  /** Texts by path, `model/training.py` and perhaps {@link REQUIREMENTS_FILE} among them. */
  readonly files: Readonly<Record<string, string>>;
  /** Given to it as `--key=value` besides what its job gives; an absolute path names a file. */
  readonly arguments?: Readonly<Record<string, string>>;
}

/** Writes the script's files into a folder. */
export async function writeManagedScript(script: ManagedScript, folder: string): Promise<void> {
  for (const [path, text] of Object.entries(script.files)) {
    await Deno.mkdir(dirname(join(folder, path)), { recursive: true, mode: 0o700 });
    await Deno.writeTextFile(join(folder, path), text);
  }
}

/** The files that its own arguments name, by absolute paths. */
export function filesOf(script: ManagedScript | undefined): string[] {
  return Object.values(script?.arguments ?? {}).filter((value) => isAbsolute(value));
}

/** What pip gets to install a file of requirements, and nothing that is not in it. */
export function requirementsArguments(path: string): string[] {
  return ["--require-hashes", "--requirement", path];
}

/** @throws {RunFailedError} when this cloud has none. */
export function requireManaged(script: ManagedScript | undefined): ManagedScript {
  if (script) return script;
  throw new RunFailedError(
    Code.Unimplemented,
    "this cloud has no training script of its own; submit a custom training job",
  );
}
