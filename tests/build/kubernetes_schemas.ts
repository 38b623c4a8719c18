/** Published schemas of Kubernetes, by which objects are checked. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { noPythonPackagesBecause } from "../../shared/test_tools/probes.ts";
import { ROOT } from "../../tools/programs.ts";

export const OLDEST = "1.27";
export const NEWEST = "1.37";
const REQUIREMENTS = join(ROOT, "tools", "kubernetes_requirements.txt");

export async function run(command: string, ...args: string[]) {
  const { success, stdout, stderr } = await new Deno.Command(command, { args }).output();
  const [out, err] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { success, out: out ?? "", err: err ?? "" };
}

/** Python with the schemas of many versions; or why there is none. */
async function validator(): Promise<{ path: string } | string> {
  const version = /^kubernetes-validate==([\d.]+)/m.exec(await Deno.readTextFile(REQUIREMENTS))
    ?.[1] ?? "";
  const script = join(ROOT, "tools", "python_environment.sh");
  const { success, out, err } = await run("sh", script, "kubernetes", version, REQUIREMENTS);
  if (success) return { path: out.trim() };
  const reason = await noPythonPackagesBecause();
  if (reason !== undefined) return reason;
  throw new Error(err.trim());
}

const python = await validator();

/** Undefined: they are there. */
export const noSchemas = typeof python === "string"
  ? `no schemas of Kubernetes: ${python}`
  : undefined;

/** Strict: a field that the schema does not know is an error. */
export async function validate(text: string, version: string) {
  assert.ok(typeof python !== "string");
  const file = await Deno.makeTempFile({ prefix: "machine-manifest-", suffix: ".yaml" });
  try {
    await Deno.writeTextFile(file, text);
    return await run(python.path, "-m", "kubernetes_validate", "--strict", "-k", version, file);
  } finally {
    await Deno.remove(file);
  }
}

/** What is wrong with an object, in one of these versions; undefined: nothing. */
export async function wrongWith(
  text: string,
  versions: readonly string[] = [OLDEST, NEWEST],
): Promise<string | undefined> {
  for (const version of versions) {
    const { success, out, err } = await validate(text, version);
    if (!success) return `${version}: ${out}${err}`;
  }
}
