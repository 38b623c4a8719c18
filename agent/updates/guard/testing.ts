/** A folder as the agent's, with the real scripts in it, for tests of the start guard. */
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { guardFiles } from "./trial_file.ts";

const SCRIPTS = fileURLToPath(new URL(".", import.meta.url));

/** A shell to run the scripts with: a program and what goes before the script. */
export interface Shell {
  readonly name: string;
  readonly command: readonly string[];
}

const SHELLS: readonly Shell[] = [
  { name: "sh", command: ["sh"] },
  { name: "busybox sh", command: ["busybox", "sh"] },
  { name: "bash --posix", command: ["bash", "--posix"] },
];

/** The shells of this host. */
export async function shells(): Promise<Shell[]> {
  const found: Shell[] = [];
  for (const shell of SHELLS) {
    const [program = "", ...args] = shell.command;
    try {
      const { success } = await new Deno.Command(program, { args: [...args, "-c", ":"] }).output();
      if (success) found.push(shell);
    } catch {
      // It is not there.
    }
  }
  return found;
}

export interface GuardRun {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** The agent's folder with two versions of it, the newer one in use. */
export class GuardRig implements AsyncDisposable {
  readonly oldVersion: string;
  readonly newVersion: string;
  readonly files: ReturnType<typeof guardFiles>;

  private constructor(readonly dir: string, readonly shell: Shell) {
    this.files = guardFiles(dir);
    this.oldVersion = join(dir, "cache", "machine-agent-1.0.0-aaaaaaaaaaaa");
    this.newVersion = join(dir, "cache", "machine-agent-1.1.0-bbbbbbbbbbbb");
  }

  static async create(shell: Shell): Promise<GuardRig> {
    // A blank in the name: every path of the scripts has to be quoted.
    const dir = await Deno.makeTempDir({ prefix: "start guard " });
    const rig = new GuardRig(await Deno.realPath(dir), shell);
    for (const name of ["bin", "cache", "etc", "proc/sys/kernel/random", "path"]) {
      await Deno.mkdir(join(dir, name), { recursive: true });
    }
    for (const version of [rig.oldVersion, rig.newVersion]) {
      await Deno.writeTextFile(version, "#!/bin/sh\n", { mode: 0o755 });
    }
    await Deno.copyFile(join(SCRIPTS, "start_guard.sh"), rig.files.guard);
    await Deno.copyFile(join(SCRIPTS, "launcher.sh"), rig.files.launcher);
    await Deno.symlink(rig.newVersion, rig.files.link);
    await rig.boot("boot-1", 100);
    return rig;
  }

  /** The host was rebooted, or time has passed. */
  async boot(id: string, uptimeS: number): Promise<void> {
    await Deno.writeTextFile(join(this.dir, "proc/uptime"), `${uptimeS}.25 7.00\n`);
    await Deno.writeTextFile(join(this.dir, "proc/sys/kernel/random/boot_id"), `${id}\n`);
  }

  /** Where a running guard leaves its number. */
  get pidFile(): string {
    return join(this.dir, "pid");
  }

  /** Runs the guard as before a start. */
  async guard(args: readonly string[] = [], env: Record<string, string> = {}): Promise<GuardRun> {
    const output = await new Deno.Command("sh", {
      args: [
        ...["-c", 'echo "$$" >"$1"; shift; exec "$@"', "sh", this.pidFile],
        ...[...this.shell.command, this.files.guard, ...args],
      ],
      env: { ...this.environment(), ...env },
      clearEnv: true,
      stdin: "null",
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code: output.code, stdout: text(output.stdout), stderr: text(output.stderr) };
  }

  /** Programs in `path/` come before those of the system. */
  environment(): Record<string, string> {
    return {
      PATH: `${join(this.dir, "path")}:/usr/bin:/bin`,
      MACHINE_GUARD_PROC: join(this.dir, "proc"),
    };
  }

  /** Puts a program of the test before that of the system. */
  async fakeProgram(name: string, script: string): Promise<void> {
    await Deno.writeTextFile(join(this.dir, "path", name), `#!/bin/sh\n${script}`, { mode: 0o755 });
  }

  /** `old`, `new`, or whatever else the link leads to. */
  async inUse(): Promise<string> {
    return this.nameOf(await Deno.readLink(this.files.link).catch(() => "nothing"));
  }

  nameOf(path: string): string {
    return path === this.oldVersion ? "old" : path === this.newVersion ? "new" : path;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.dir, { recursive: true });
  }
}
