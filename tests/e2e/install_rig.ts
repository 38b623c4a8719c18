// A file system to install into, for the tests of install.sh and uninstall.sh.
import assert from "node:assert/strict";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { ignoreWithout } from "../../shared/test_tools/skips.ts";
import type { ToolName } from "../../shared/test_tools/tools.ts";
import { runToEnd } from "./run_to_end.ts";

export const ROOT = fileURLToPath(new URL("../../", import.meta.url));
export const UNIT = "usr/local/lib/systemd/system/machine-agent.service";
/** What install.sh requests here. */
export const PLATFORM = Deno.build.arch === "aarch64" ? "linux/arm64" : "linux/amd64";

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** A file system to install into, and the tools of a host that has systemd. */
export class Computer implements AsyncDisposable {
  private constructor(readonly dir: string) {}

  static async create(): Promise<Computer> {
    const computer = new Computer(await Deno.makeTempDir({ prefix: "install " }));
    await Deno.mkdir(join(computer.dir, "tools"));
    await Deno.mkdir(join(computer.dir, "tmp"));
    await computer.tool("systemctl", `printf '%s\\n' "$*" >>"${computer.path("calls")}"\n`);
    await computer.tool("systemd-path", `echo "/etc/systemd/system:/${dirname(UNIT)}"\n`);
    return computer;
  }

  path(name: string): string {
    return join(this.dir, name);
  }

  /** A path of the installed system. */
  root(name: string): string {
    return join(this.dir, "root", name);
  }

  async tool(name: string, script: string): Promise<void> {
    await Deno.writeTextFile(this.path(`tools/${name}`), `#!/bin/sh\n${script}`, { mode: 0o755 });
  }

  /**
   * @param shell what runs it, a program of {@link tool} for example
   * @param isKilled it may leave something in the temporary folder, which is removed
   */
  async run(
    script: "install.sh" | "uninstall.sh",
    env: Record<string, string> = {},
    args: string[] = [],
    { shell = "sh", isKilled = false } = {},
  ): Promise<Ran> {
    const program = shell === "sh" ? shell : this.path(`tools/${shell}`);
    const { code, stdout, stderr } = await runToEnd(program, {
      args: [join(ROOT, "install", script), ...args],
      env: {
        PATH: `${this.path("tools")}:${Deno.env.get("PATH")}`,
        TMPDIR: this.path("tmp"),
        MACHINE_INSTALL_ROOT: this.path("root"),
        ...env,
      },
      limitMs: 120_000,
    });
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    if (isKilled) {
      await Deno.remove(this.path("tmp"), { recursive: true });
      await Deno.mkdir(this.path("tmp"));
    }
    const left = [...Deno.readDirSync(this.path("tmp"))].map(({ name }) => name);
    assert.deepEqual(left, [], "nothing is left in the temporary folder");
    return { code, stdout: text(stdout), stderr: text(stderr) };
  }

  async calls(): Promise<string> {
    return await Deno.readTextFile(this.path("calls")).catch(() => "");
  }

  async exists(name: string): Promise<boolean> {
    return await Deno.lstat(this.root(name)).then(() => true, () => false);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.dir, { recursive: true });
  }
}

/**
 * A test on a {@link Computer}; skipped where a tool is missing.
 *
 * @param file `import.meta.url` of the test
 */
export function installTest(
  file: string,
  name: string,
  body: (computer: Computer) => Promise<void>,
  tools: readonly ToolName[] = [],
): void {
  Deno.test({
    name,
    ignore: Deno.build.os !== "linux" || ignoreWithout(file, "curl", ...tools),
    fn: async () => {
      await using computer = await Computer.create();
      await body(computer);
    },
  });
}

/** A folder of `PATH` with everything of this host but one program. */
export async function everythingBut(computer: Computer, program: string): Promise<string> {
  for (const folder of ["/usr/bin", "/bin"]) {
    for await (const { name } of Deno.readDir(folder)) {
      if (name === program || name === "systemctl") continue;
      await Deno.symlink(join(folder, name), computer.path(`tools/${name}`)).catch(() => {});
    }
  }
  return computer.path("tools");
}
