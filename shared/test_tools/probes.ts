/**
 * Tries, when something of ours failed, whether this host is the cause. None starts anything of
 * ours: what is broken may not decide that its test is skipped.
 */
import { programPath } from "./tools.ts";

/** Longest time of a probe. */
const PROBE_MS = 60_000;

/** Why no Python packages can be had from an index here; undefined when they can. */
export async function noPythonPackagesBecause(): Promise<string | undefined> {
  return await inFolder("no Python packages can be installed here", async (folder) => {
    await run("python3", ["-m", "venv", folder]);
    await run(`${folder}/bin/python`, [
      ...["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-cache-dir"],
      ...["--no-deps", "--dest", folder, "six==1.17.0"],
    ]);
  });
}

/**
 * Why no Go modules can be had here; undefined when they can.
 *
 * @param go path of the program
 */
export async function noGoModulesBecause(go: string): Promise<string | undefined> {
  return await inFolder("no Go modules can be had here", async (folder) => {
    await run(go, ["mod", "download", "golang.org/x/text@v0.21.0"], {
      cwd: folder,
      env: { GOMODCACHE: `${folder}/cache`, GOFLAGS: "-modcacherw" },
    });
  });
}

/** Why systemd cannot be process 1 of a container here; undefined when it can. For root. */
export async function noSystemdBootBecause(): Promise<string | undefined> {
  return await because("systemd does not start in a container here", () =>
    run("systemd-nspawn", [
      ...["--quiet", "--boot", "--register=no", "--keep-unit", "--console=pipe"],
      ...["--directory=/", "--volatile=yes", "systemd.unit=poweroff.target"],
    ], { env: { SYSTEMD_NSPAWN_UNIFIED_HIERARCHY: "1" } }));
}

/** Why there can be no network namespaces joined by a cable here; undefined when there can. For root. */
export async function noCablesBecause(): Promise<string | undefined> {
  const ip = programPath("ip") ?? "ip";
  return await because("this host allows no networks of one's own", () =>
    run("unshare", [
      ...["--net", "--mount", "sh", "-c"],
      ...['mount -t sysfs sysfs /sys && "$1" link add a0 type veth peer name b0', "sh", ip],
    ]));
}

async function inFolder(
  what: string,
  trial: (folder: string) => Promise<void>,
): Promise<string | undefined> {
  const folder = await Deno.makeTempDir({ prefix: "machine-probe-" });
  try {
    return await because(what, () => trial(folder));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function because(what: string, trial: () => Promise<void>): Promise<string | undefined> {
  try {
    await trial();
  } catch (error) {
    return `${what}: ${(error as Error).message}`;
  }
}

async function run(
  program: string,
  args: string[],
  options: Pick<Deno.CommandOptions, "cwd" | "env"> = {},
): Promise<void> {
  const signal = AbortSignal.timeout(PROBE_MS);
  const { success, stdout, stderr } = await new Deno.Command(program, {
    ...{ args, stdin: "null", signal },
    ...options,
  }).output();
  const said = [stderr, stdout].map((bytes) => new TextDecoder().decode(bytes)).join("\n").trim();
  if (!success) throw new Error(`${program}: ${said.split("\n").at(-1)}`);
}
