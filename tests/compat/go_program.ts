/** Programs in Go that tests are run against. */
import { fileURLToPath } from "node:url";
import { noGoModulesBecause } from "../../shared/test_tools/probes.ts";
import { LONG_MS, runToEnd } from "../e2e/run_to_end.ts";

const FINDER = fileURLToPath(new URL("../../tools/go.sh", import.meta.url));

export interface GoProgram {
  /** Name in `.tools/bin/`, and in what is reported when it cannot be had. */
  readonly name: string;
  /** Folder, from this file's, with a `go.mod` that pins everything. */
  readonly folder: string;
  /** What is built. Default: the folder's own package. */
  readonly package?: string;
  /** Of `go build`, beyond the output. */
  readonly flags?: readonly string[];
}

export interface BuiltGoProgram {
  readonly path: string;
  /** Why it cannot be had; undefined when it was built. */
  readonly missing: string | undefined;
}

/**
 * Builds a program, which takes a moment when it was built before, with `tools/go.sh`'s Go.
 *
 * @throws {Error} when Go and its modules can be had and it cannot be built
 */
export async function buildGoProgram(
  { name, folder, package: source = ".", flags = [] }: GoProgram,
): Promise<BuiltGoProgram> {
  const path = fileURLToPath(new URL(`../../.tools/bin/${name}`, import.meta.url));
  const args = ["build", ...flags, "-o", path, source];
  const missing = await build(path, args, fileURLToPath(new URL(folder, import.meta.url)));
  return { path, missing: missing === undefined ? undefined : `no ${name}: ${missing}` };
}

async function build(
  path: string,
  args: readonly string[],
  cwd: string,
): Promise<string | undefined> {
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
  const found = await runToEnd("sh", { args: [FINDER], limitMs: LONG_MS });
  if (!found.success) return text(found.stderr);
  const go = text(found.stdout);
  const { success, stderr } = await runToEnd(go, { args: [...args], cwd, limitMs: LONG_MS });
  if (success) return undefined;
  const reason = await noGoModulesBecause(go);
  if (reason !== undefined) return reason;
  throw new Error(`go cannot build ${path}: ${text(stderr)}`);
}
