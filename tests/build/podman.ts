/** Containers of podman, with a store of their own. */
import assert from "node:assert/strict";
import { join } from "node:path";
import { missingTools } from "../../shared/test_tools/skips.ts";
import { USER_ID } from "../../tools/release/images/debian_root.ts";
import { Program } from "../e2e/program.ts";

const LIMIT_MS = 300_000;
/**
 * Control groups are mounted as crun takes them, for this process alone; the containers get none of
 * their own.
 */
const START = "{ umount -l /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; } 2>/dev/null\n" +
  'exec podman "$@"';
/** As docs/containers.md starts a container, but in this host's network. */
const LOCKED_UP = [
  ...["--cgroups", "disabled", "--network", "host", "--read-only"],
  ...["--tmpfs", "/tmp:size=512m", "--cap-drop", "all", "--security-opt", "no-new-privileges"],
];
/** In Debian it needs no library. */
const STATIC_PROGRAM = "/usr/sbin/ldconfig";

export class Podman implements AsyncDisposable {
  readonly #running: Program[] = [];

  private constructor(private readonly dir: string, private readonly runDir: string) {}

  /** @param dir an empty folder, not in memory: the store of images */
  static async create(dir: string): Promise<Podman> {
    // Limits higher than this host's may not be set everywhere.
    await Deno.writeTextFile(
      join(dir, "containers.conf"),
      "[containers]\ndefault_ulimits = []\n",
    );
    // It has to be short.
    return new Podman(dir, await Deno.makeTempDir({ dir: "/tmp", prefix: "podman-" }));
  }

  /** Why containers cannot run here; undefined when they can. */
  async cannotRun(): Promise<string | undefined> {
    if (Deno.uid() !== 0) return "only root can mount what containers need";
    const missing = missingTools("podman", "unshare");
    if (missing !== undefined) return missing;
    const root = join(this.dir, "probe");
    await Deno.mkdir(root);
    await Deno.copyFile(STATIC_PROGRAM, join(root, "probe"));
    const tried = await this.run("run", "--rm", ...LOCKED_UP, "--rootfs", root, "/probe", "-V");
    return tried.code === 0 ? undefined : `podman runs no container here: ${tried.stderr}`;
  }

  async run(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
    const { command, args: all, env } = this.#command(args);
    const signal = AbortSignal.timeout(LIMIT_MS);
    const ran = await new Deno.Command(command, { args: all, env, signal, stdin: "null" }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes).trim();
    return { code: ran.code, stdout: text(ran.stdout), stderr: text(ran.stderr) };
  }

  async must(...args: string[]): Promise<string> {
    const { code, stdout, stderr } = await this.run(...args);
    assert.equal(code, 0, `podman ${args.join(" ")}: ${stdout}${stderr}`);
    return stdout;
  }

  /** Runs a container to its end. @param folders of this host, by where they are in it */
  async once(folders: Readonly<Record<string, string>>, ...args: string[]): Promise<string> {
    return await this.must("run", "--rm", ...LOCKED_UP, ...volumes(folders), ...args);
  }

  /** Runs a container until {@link Program.stop}. */
  start(name: string, folders: Readonly<Record<string, string>>, ...args: string[]): Program {
    const { command, args: all, env } = this.#command([
      ...["run", "--name", name, ...LOCKED_UP, ...volumes(folders), ...args],
    ]);
    const program = Program.start({ name, command, args: all, env });
    this.#running.push(program);
    return program;
  }

  /**
   * Runs a command in a container that runs, as its user. `podman exec` does not find the root of a
   * container where that was made without `pivot_root`, as in a host that is a chroot itself.
   */
  async enter(name: string, ...command: string[]): Promise<void> {
    const pid = await this.pidOf(name);
    const environment = await Deno.readTextFile(`/proc/${pid}/environ`);
    const { success, stdout, stderr } = await new Deno.Command("nsenter", {
      args: [
        ...["--target", pid, "--mount", "--pid", "--root", "--wd"],
        ...["--setuid", `${USER_ID}`, "--setgid", `${USER_ID}`, "--", ...command],
      ],
      clearEnv: true,
      env: Object.fromEntries(
        environment.split("\0").filter((line) => line.includes("=")).map((line) => {
          const at = line.indexOf("=");
          return [line.slice(0, at), line.slice(at + 1)];
        }),
      ),
      signal: AbortSignal.timeout(LIMIT_MS),
      stdin: "null",
    }).output();
    const said = new TextDecoder().decode(stdout) + new TextDecoder().decode(stderr);
    assert.ok(success, `${command.join(" ")} in ${name}: ${said}`);
  }

  /** Number of a container's program, on this host. */
  async pidOf(name: string): Promise<string> {
    return await this.must("inspect", "--format", "{{.State.Pid}}", name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const program of this.#running) await program.stop(30_000);
    await this.run("rm", "--force", "--all");
    // What keeps overlay folders mounted here.
    await this.run("unmount", "--force", "--all");
    await Deno.remove(this.runDir, { recursive: true });
  }

  #command(args: readonly string[]) {
    const store = [
      ...["--root", join(this.dir, "store"), "--runroot", this.runDir],
      // Otherwise it is one for all of root's stores, and another process would hold its locks.
      ...["--tmpdir", join(this.runDir, "libpod")],
    ];
    return {
      command: "unshare",
      args: [
        ...["--mount", "sh", "-c", START, "podman", ...store],
        ...["--cgroup-manager", "cgroupfs", ...args],
      ],
      env: { CONTAINERS_CONF: join(this.dir, "containers.conf") },
    };
  }
}

const volumes = (folders: Readonly<Record<string, string>>): string[] =>
  Object.entries(folders).flatMap(([place, folder]) => ["--volume", `${folder}:${place}`]);
