/** For tests: a version before this one, from the history of this clone. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { ROOT } from "../../tools/programs.ts";

/** The first start of a version before fetches its packages. */
const SETUP_MS = 600_000;

/** What git prints; undefined: it failed, as in a clone without history. */
export async function git(...args: string[]): Promise<string | undefined> {
  const { success, stdout } = await new Deno.Command("git", { args, cwd: ROOT, stderr: "null" })
    .output();
  return success ? new TextDecoder().decode(stdout).trim() : undefined;
}

/** A commit that this clone has; undefined: it has not. */
export async function commitOf(name: string): Promise<string | undefined> {
  return await git("rev-parse", "--quiet", "--verify", `${name}^{commit}`);
}

/** The newest version before this commit. */
export async function lastTag(): Promise<string | undefined> {
  return await git("describe", "--tags", "--abbrev=0", "--match", "v[0-9]*", "HEAD^");
}

/** A checkout of a version before, ready to run. */
export async function checkout(version: string, folder: string): Promise<void> {
  const must = async (command: string, args: string[], cwd: string) => {
    const signal = AbortSignal.timeout(SETUP_MS);
    const { success, stderr } = await new Deno.Command(command, { args, cwd, signal }).output();
    assert.ok(success, `${command} ${args.join(" ")}: ${new TextDecoder().decode(stderr)}`);
  };
  await must("git", ["clone", "--quiet", "--shared", "--no-checkout", ROOT, folder], ROOT);
  const commit = await commitOf(version);
  await must("git", ["checkout", "--quiet", "--detach", commit ?? version], folder);
  // The same Deno need not be fetched once more.
  const tools = join(folder, ".tools");
  await Deno.mkdir(tools, { recursive: true });
  for await (const { name } of Deno.readDir(join(ROOT, ".tools"))) {
    if (!name.startsWith("deno-")) continue;
    await must("cp", ["-R", join(ROOT, ".tools", name), tools], folder);
  }
  await must("sh", ["tools/setup.sh"], folder);
}
