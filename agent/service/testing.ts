/** A made-up computer with systemd, for tests of the installation. */
import { join } from "node:path";
import { type SystemdInstallOptions } from "./systemd_install.ts";
import type { ProgramAnswer } from "../../shared/base/process/run_program.ts";
import { SERVICE } from "./systemd_unit.ts";

const ok = (stdout = ""): ProgramAnswer => ({ code: 0, stdout, stderr: "" });

/** systemd as far as the installation requests it, over files in a folder. */
export class FakeSystem implements AsyncDisposable {
  /** Calls that change something, in order. */
  readonly calls: string[] = [];
  readonly said: string[] = [];
  searchPath = "/etc/systemd/system:/usr/local/lib/systemd/system:/usr/lib/systemd/system";
  /** As `is-enabled` says it. */
  enabled = "not-found";
  active = false;
  /** A call that begins with this fails. */
  fails: string | undefined;
  /** What `getenforce` says; undefined: it is not there. */
  selinux: string | undefined;
  readonly program: string;

  private constructor(readonly root: string) {
    this.program = join(root, "downloaded agent");
  }

  static async create(): Promise<FakeSystem> {
    const system = new FakeSystem(await Deno.makeTempDir({ prefix: "fake system " }));
    await system.write("/etc/machine.json", "{}");
    await Deno.writeTextFile(system.program, "#!/bin/sh\n# 1.0.0\n", { mode: 0o700 });
    return system;
  }

  options(change: Partial<SystemdInstallOptions> = {}): SystemdInstallOptions {
    return {
      root: this.root,
      isLive: true,
      dir: "/opt/machine",
      credentialsFile: "/etc/machine.json",
      defaultsFile: "/etc/machine-defaults.json",
      program: this.program,
      version: "1.0.0",
      scripts: { guard: "#!/bin/sh\n# guard\n", launcher: "#!/bin/sh\n# launcher\n" },
      stopMs: 80_000,
      run: (program, args) => Promise.resolve(this.#run(program, args)),
      say: (line) => this.said.push(line),
      ...change,
    };
  }

  /** Calls since the last time. */
  takeCalls(): string[] {
    return this.calls.splice(0);
  }

  path(path: string): string {
    return join(this.root, path);
  }

  async read(path: string): Promise<string | undefined> {
    return await Deno.readTextFile(this.path(path)).catch(() => undefined);
  }

  async write(path: string, text: string): Promise<void> {
    await Deno.mkdir(join(this.path(path), ".."), { recursive: true });
    await Deno.writeTextFile(this.path(path), text);
  }

  /** All files and links below a folder, by their paths in it. */
  async files(folder: string): Promise<string[]> {
    const found: string[] = [];
    const walk = async (at: string) => {
      for await (const entry of Deno.readDir(this.path(at))) {
        if (entry.isDirectory) await walk(`${at}/${entry.name}`);
        else found.push(`${at}/${entry.name}`);
      }
    };
    await walk(folder).catch(() => {});
    return found.sort();
  }

  #run(program: string, args: readonly string[]): ProgramAnswer {
    if (program === "systemd-path") return ok(`${this.searchPath}\n`);
    if (program === "getenforce" && this.selinux !== undefined) return ok(`${this.selinux}\n`);
    if (program !== "systemctl") return { code: 127, stdout: "", stderr: "no such program" };
    const line = args.join(" ");
    if (line === "--version") return ok("systemd 252");
    if (line === `is-enabled ${SERVICE}`) return { ...ok(`${this.enabled}\n`), code: 1 };
    if (line === `is-active --quiet ${SERVICE}`) return { ...ok(), code: this.active ? 0 : 3 };
    this.calls.push(line);
    if (this.fails !== undefined && line.startsWith(this.fails)) {
      return { code: 1, stdout: "", stderr: "Access denied\nmore" };
    }
    const [verb] = args.filter((arg) => !arg.startsWith("--"));
    if (verb === "enable" || verb === "disable") this.enabled = `${verb}d`;
    if (verb === "start" || verb === "restart") this.active = true;
    if (verb === "stop") this.active = false;
    return ok();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.root, { recursive: true });
  }
}
