/** A checkout of its own, in which programs and releases are made. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { binaryName } from "../../tools/compile/compile.ts";
import { hostTarget } from "../../tools/compile/targets.ts";
import { type Program, ROOT } from "../../tools/programs.ts";

const LIMIT_MS = 1_200_000;
/** Commits and tags need an author here, and no key of whoever runs the tests. */
const GIT_SETTINGS = {
  "user.name": "Somebody",
  "user.email": "somebody@example.com",
  "commit.gpgSign": "false",
  "tag.gpgSign": "false",
  "tag.forceSignAnnotated": "false",
};

export class Clone {
  private constructor(readonly folder: string) {}

  /**
   * Works in one, with the runtimes that are here already, so that they are not fetched again. What
   * is changed and not committed here is changed there, too.
   */
  static async use(work: (clone: Clone) => Promise<void>): Promise<void> {
    const folder = await Deno.makeTempDir({ dir: join(ROOT, ".tools"), prefix: "clone-" });
    const clone = new Clone(folder);
    try {
      await must("git", ["clone", "--quiet", ROOT, folder]);
      for (const [name, value] of Object.entries(GIT_SETTINGS)) {
        await clone.git("config", name, value);
      }
      const changed = await must("git", ["-C", ROOT, "diff", "HEAD", "--name-only"]);
      for (const name of changed.split("\n").filter(Boolean)) {
        await Deno.copyFile(join(ROOT, name), clone.path(name));
      }
      await Deno.mkdir(clone.path(".tools"));
      for await (const { name } of Deno.readDir(join(ROOT, ".tools"))) {
        if (!/^deno(rt)?-/.test(name)) continue;
        await Deno.symlink(join(ROOT, ".tools", name), clone.path(".tools", name));
      }
      // What is built there are programs without a console.
      await must("cp", ["-R", join(ROOT, ".tools", "console"), clone.path(".tools", "console")]);
      await Deno.writeTextFile(clone.path(".tools", "console.stamp"), "");
      await work(clone);
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  }

  path(...parts: string[]): string {
    return join(this.folder, ...parts);
  }

  async git(...args: string[]): Promise<string> {
    return await must("git", ["-C", this.folder, ...args]);
  }

  /** Compiles a program for this host. @returns its path */
  async make(program: Program): Promise<string> {
    await must("make", ["-C", this.folder, program.entry.split("/")[0]!]);
    return this.path("dist", binaryName(program, hostTarget()));
  }

  /** Runs `make release` for `machine` on this host. */
  async release(version: string, keyFile: string): Promise<{ code: number; said: string }> {
    return await run("make", [
      ...["-C", this.folder, "release", `VERSION=${version}`, `KEY=${keyFile}`],
      ...["URL=https://downloads.example", "PROGRAMS=cli", `TARGETS=${hostTarget().name}`],
    ]);
  }
}

async function run(
  command: string,
  args: string[],
): Promise<{ code: number; printed: string; said: string }> {
  const { code, stdout, stderr } = await new Deno.Command(command, {
    ...{ args, stdin: "null", signal: AbortSignal.timeout(LIMIT_MS) },
    // A runtime that was had for the other tests will do.
    env: { ALLOW_FALLBACK_RUNTIME: "1" },
  }).output();
  const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
  return { code, printed: text(stdout), said: text(stderr) + text(stdout) };
}

/** @returns what it printed, without its warnings. */
async function must(command: string, args: string[]): Promise<string> {
  const { code, printed, said } = await run(command, args);
  assert.equal(code, 0, said);
  return printed.trim();
}
