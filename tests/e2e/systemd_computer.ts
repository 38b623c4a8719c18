/** A computer whose process 1 is systemd, in a container of systemd-nspawn. */
import assert from "node:assert/strict";
import { basename, dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { missingTools } from "../../shared/test_tools/skips.ts";
import { descendants, watchEnds } from "./process_tree.ts";
import { Program } from "./program.ts";
import { eventually } from "./rig.ts";
import { runToEnd } from "./run_to_end.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const BOOT_DEADLINE_MS = 120_000;
/** An installer of compiled programs takes a minute on a quiet host. */
const RUN_DEADLINE_MS = 600_000;
/** The agent has 80 s to end its server and itself. */
const OFF_DEADLINE_MS = 120_000;
const PASSWD = "root:x:0:0:root:/root:/bin/sh\nguest:x:1000:1000::/:/bin/sh\n" +
  "nobody:x:65534:65534::/:/bin/false\n";

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Why there can be no such computer here; undefined when there can. */
export function noSystemdBecause(): string | undefined {
  if (Deno.build.os !== "linux" || Deno.build.arch !== "x86_64") return "it is for Linux on x86-64";
  if (Deno.uid() !== 0) return "only root can start systemd-nspawn";
  const missing = missingTools("systemd-container", "curl", "unshare");
  if (missing !== undefined) return missing;
  return Deno.lstatSync("/bin").isSymlink ? undefined : "/bin is no link into /usr";
}

/**
 * It has this host's `/usr`, read-only, and everything else of its own. It shares the network,
 * so its programs reach what a test serves on 127.0.0.1, and the folder of these sources.
 */
export class SystemdComputer implements AsyncDisposable {
  #container: Program | undefined;

  private constructor(readonly dir: string, private readonly hasPackages: boolean) {}

  /**
   * @param packages it has its own view of `/usr`, and this host's packages, so that its apt can
   *   install some.
   */
  static async create({ packages = false } = {}): Promise<SystemdComputer> {
    const dir = await Deno.makeTempDir({ prefix: "machine-systemd-" });
    const computer = new SystemdComputer(dir, packages);
    if (packages) await computer.#givePackages();
    const root = computer.path("");
    for (const folder of ["etc/systemd/system-preset", "usr", "var", "opt", "root", "tmp", "mnt"]) {
      await Deno.mkdir(join(root, folder), { recursive: true });
    }
    await Deno.mkdir(computer.localPath("lib"), { recursive: true });
    for (const name of ["bin", "sbin", "lib", "lib32", "lib64"]) {
      const target = await Deno.readLink(`/${name}`).catch(() => undefined);
      if (target !== undefined) await Deno.symlink(target, join(root, name));
    }
    const write = (path: string, text: string) => Deno.writeTextFile(join(root, path), text);
    // Services of this host are none of that one.
    await write("etc/systemd/system-preset/00-none.preset", "disable *\n");
    await write("etc/machine-id", "");
    const others = async (file: string) =>
      packages ? (await Deno.readTextFile(file)).replace(/^(root|guest|nobody):.*\n/gm, "") : "";
    await write("etc/passwd", PASSWD + await others("/etc/passwd"));
    await write("etc/group", `root:x:0:\nguest:x:1000:\n${await others("/etc/group")}`);
    for (const name of ["os-release", "ld.so.cache"]) {
      await Deno.copyFile(`/etc/${name}`, join(root, "etc", name)).catch(() => {});
    }
    const copied = await runToEnd("cp", {
      args: ["-a", "/etc/alternatives", join(root, "etc")],
    });
    if (!copied.success) await Deno.mkdir(join(root, "etc", "alternatives"), { recursive: true });
    return computer;
  }

  /** A path of that host, as this one sees it. `/usr/local` is in {@link localPath}. */
  path(name: string): string {
    return join(this.dir, "root", name);
  }

  /** A path below its `/usr/local`. */
  localPath(name: string): string {
    return join(this.dir, "local", name);
  }

  /** Where it finds the programs that the tests run from their sources. */
  get searchPath(): string {
    return `${dirname(Deno.execPath())}:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin`;
  }

  /** @throws {Error} when systemd does not come up: a host that lets no container do that. */
  async boot(): Promise<void> {
    const deno = dirname(Deno.execPath());
    this.#container = Program.start({
      name: "systemd",
      command: "systemd-nspawn",
      args: [
        ...["--quiet", "--boot", "--register=no", "--keep-unit", "--console=read-only"],
        ...["--directory", this.path(""), "--machine", basename(this.dir)],
        this.hasPackages ? `--overlay=/usr:${join(this.dir, "usr")}:/usr` : "--bind-ro=/usr",
        ...[`--bind=${this.localPath("")}:/usr/local`, `--bind=${ROOT}`, `--bind-ro=${deno}`],
        "systemd.show_status=no",
      ],
      env: { SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: "1" },
    });
    const container = this.#container;
    await eventually("systemd is up", async () => {
      if (container.hasExited) return true;
      const { stdout } = await this.run("systemctl is-system-running");
      return /^(running|degraded)/.test(stdout);
    }, BOOT_DEADLINE_MS);
    if (container.hasExited) throw container.endedError();
  }

  /** Everything on it ends at once, as when the power goes; what was written is there. */
  async cutPower(): Promise<void> {
    const container = this.#container;
    assert(container);
    const below = watchEnds(await descendants(container.pid));
    // With process 1 everything else of its process namespace is killed.
    const leader = await this.#leader().catch(() => undefined);
    if (leader !== undefined) Deno.kill(leader, "SIGKILL");
    container.signal("SIGKILL");
    await container.waitForEnd();
    await eventually(
      "all its processes are gone",
      () => Promise.resolve(below.running().length === 0),
    );
    this.#container = undefined;
  }

  /** Switched off in order. */
  async powerOff(): Promise<void> {
    await this.run("systemctl poweroff");
    await eventually(
      "it is off",
      () => Promise.resolve(this.#container?.hasExited ?? true),
      OFF_DEADLINE_MS,
    );
    this.#container = undefined;
  }

  /** Runs a shell command on it. */
  async run(command: string, env: Record<string, string> = {}, user = "root"): Promise<Ran> {
    const leader = await this.#leader();
    const other = ["setpriv", "--reuid", user, "--regid", user, "--clear-groups", "--"];
    const { code, stdout, stderr } = await runToEnd("nsenter", {
      cwd: "/",
      args: [
        ...["-t", `${leader}`, "-m", "-p", "-u", "-i", "-C", "-r", "-w", "--"],
        ...["env", "-i", "HOME=/root", `PATH=${this.searchPath}`],
        ...Object.entries(env).map(([name, value]) => `${name}=${value}`),
        ...(user === "root" ? [] : other),
        ...["sh", "-c", command],
      ],
      limitMs: RUN_DEADLINE_MS,
    });
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    return { code, stdout: text(stdout), stderr: text(stderr) };
  }

  /** Likewise; gives what it printed. @throws when it fails. */
  async ask(command: string, env: Record<string, string> = {}): Promise<string> {
    const { code, stdout, stderr } = await this.run(command, env);
    assert.equal(code, 0, `${command}: ${stdout}${stderr}`);
    return stdout.trim();
  }

  /** Everything below some folders in {@link dir}. */
  async files(folders: readonly string[]): Promise<string[]> {
    const found: string[] = [];
    const walk = async (at: string) => {
      for await (const { name, isDirectory } of Deno.readDir(at)) {
        found.push(join(at, name));
        if (isDirectory) await walk(join(at, name));
      }
    };
    for (const folder of folders) await walk(join(this.dir, folder));
    return found.map((path) => path.slice(this.dir.length + 1)).sort();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#container) await this.cutPower();
    await Deno.remove(this.dir, { recursive: true });
  }

  async #givePackages(): Promise<void> {
    const copied = ["etc/apt", "etc/ssl", "etc/ucf.conf", "etc/debconf.conf", "var/lib/dpkg"];
    await Deno.mkdir(join(this.dir, "usr"));
    for (const folder of ["etc", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial"]) {
      await Deno.mkdir(this.path(folder), { recursive: true });
    }
    for (const folder of ["var/cache/debconf", "var/log/apt", "var/lib/ucf"]) {
      await Deno.mkdir(this.path(folder), { recursive: true });
    }
    for (const name of copied) {
      await runToEnd("cp", { args: ["-a", `/${name}`, this.path(dirname(name))] });
    }
  }

  /** Its process 1, by the number that it has here. */
  async #leader(): Promise<number> {
    const pid = this.#container?.pid;
    const text = await Deno.readTextFile(`/proc/${pid}/task/${pid}/children`);
    const [child] = text.split(" ");
    if (!child) throw new Error("systemd has not started yet");
    return Number(child);
  }
}
