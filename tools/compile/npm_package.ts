import { join } from "node:path";
import { digest, type Pins, requireDigest } from "./pins.ts";

/** Brings the tarball of a package into a folder and returns its path. */
export type Pack = (name: string, version: string, dir: string) => Promise<string>;

/** {@link Pack} by the npm client, which knows the user's registry and proxy. */
const npmPack: Pack = async (name, version, dir) => {
  const output = await run(
    "npm",
    ["pack", `${name}@${version}`, "--silent", "--ignore-scripts"],
    dir,
  )
    .catch((error: unknown) => {
      if (!(error instanceof Deno.errors.NotFound)) throw error;
      throw new Error(`${name} comes from npm, and there is no npm on PATH. Install it`);
    });
  const file = output.trim().split("\n").at(-1);
  if (!file) throw new Error(`npm pack ${name}@${version} named no file`);
  return join(dir, file);
};

/**
 * Fetches a package, checks the tarball against its pin and unpacks it.
 *
 * @param dir empty folder to work in; the package's files are then in `<dir>/package`.
 * @throws Error when it cannot be had or is not what is pinned.
 */
export async function fetchPackage(
  pins: Pins,
  name: string,
  version: string,
  dir: string,
  pack: Pack = npmPack,
): Promise<string> {
  const want = pins.tarball(name, version);
  const tarball = await pack(name, version, dir);
  requireDigest(
    `${name}@${version}`,
    await digest("SHA-512", await Deno.readFile(tarball)),
    want,
  );
  await run("tar", ["-xzf", tarball], dir);
  await Deno.remove(tarball);
  return join(dir, "package");
}

async function run(command: string, args: string[], cwd: string): Promise<string> {
  const output = await new Deno.Command(command, { args, cwd, stdin: "null" }).output();
  const text = new TextDecoder();
  if (output.success) return text.decode(output.stdout);
  const said = text.decode(output.stderr).split("\n").filter((l) => /error/i.test(l))[0];
  throw new Error(`${command} ${args.join(" ")} failed: ${said ?? `exit code ${output.code}`}`);
}
