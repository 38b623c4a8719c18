import { dirname, join } from "node:path";
import { removeIfExists, writeFileAtomic } from "../../shared/base/files/atomic_write.ts";
import { toFileError } from "../../shared/base/files/fs_error.ts";
import { readIfExists } from "../../shared/base/files/read_file.ts";
import { putSystemBack } from "../system/undo/put_system_back.ts";
import { InstallError } from "./install_error.ts";
import { removeOwnFiles, UNFINISHED } from "./own_files.ts";
import { placeProgram, type Scripts } from "./installed_program.ts";
import type { ProgramAnswer, RunProgram } from "../../shared/base/process/run_program.ts";
import { MADE_BY, SERVICE, systemdUnit } from "./systemd_unit.ts";

export interface SystemdInstallOptions {
  /** Root of the file system: `/`, or a folder that holds another one, such as a mounted image. */
  readonly root: string;
  /** Whether the system of that root runs; else only its files are changed. */
  readonly isLive: boolean;
  /** Paths as the machine sees them. */
  readonly dir: string;
  readonly credentialsFile: string;
  readonly defaultsFile: string;
  /** The program that is installed. */
  readonly program: string;
  readonly version: string;
  readonly scripts: Scripts;
  /** How long the agent takes at most to end. */
  readonly stopMs: number;
  readonly run: RunProgram;
  /** Gets one line for each thing done. */
  readonly say: (line: string) => void;
}

const FALLBACK_FOLDER = "/etc/systemd/system";
/** For administrators' own programs; distributions and packages write elsewhere. */
const OWN_FOLDER = "/usr/local/lib/systemd/system";
/** Made by start_guard.sh for each trial. */
const GUARD_TIMERS = "machine-agent-trial-*.timer";
const GUARD_UNITS = "machine-agent-trial-*";

/**
 * Installs this program as a service that starts with the host, or upgrades one that is there.
 * Drop-ins, a unit of the user's own and a service that was switched off stay as they are.
 *
 * @throws {InstallError | FileError}
 */
export async function installSystemd(options: SystemdInstallOptions): Promise<void> {
  const { root, isLive, dir, say } = options;
  const systemctl = systemctlOf(options);
  await requireSystemd(options);
  const placed = await placeProgram({ ...options, dir: join(root, dir), dirOnMachine: dir });
  say(
    placed.isChanged
      ? `${dir}/bin/machine-agent leads to ${placed.path}`
      : "the program is there already",
  );
  // Cut off between the unit and this, the next run would take the service for one that was
  // switched off.
  const unfinished = join(root, dir, UNFINISHED);
  const isNew = (await ownUnits(root)).length === 0;
  if (isNew) await writeFileAtomic(unfinished, "", { mode: 0o644 });
  const unit = await writeUnit(options);
  if (unit.isChanged && isLive) await systemctl("daemon-reload");
  if (isNew || await readIfExists(unfinished) !== undefined) {
    await systemctl("enable", SERVICE);
    await removeIfExists(unfinished);
    say("it starts with the host");
  }
  await start(options, placed.isChanged || unit.isChanged);
}

/**
 * Removes the service and what {@link installSystemd} and the agent made. What users wrote (drop-ins,
 * credentials, the defaults) stays.
 *
 * @param purge removes the credentials and the defaults, too.
 * @throws {InstallError | FileError}
 */
export async function uninstallSystemd(
  options: Pick<
    SystemdInstallOptions,
    "root" | "isLive" | "dir" | "credentialsFile" | "defaultsFile" | "run" | "say"
  >,
  { purge }: { purge: boolean },
): Promise<void> {
  const { root, isLive, dir, credentialsFile, defaultsFile, say } = options;
  const systemctl = systemctlOf(options);
  const units = await ownUnits(root);
  if (units.length > 0) {
    // The server must have ended before its files go. The timers are those of the start guard.
    if (isLive) await systemctl("stop", SERVICE, GUARD_TIMERS);
    await systemctl("disable", SERVICE);
    for (const unit of units) {
      await removeIfExists(unit);
      say(`removed ${unit}`);
    }
    await removeEmpty(join(root, OWN_FOLDER));
    await removeEmpty(join(root, dirname(OWN_FOLDER)));
    if (isLive) {
      await systemctl("daemon-reload");
      // A unit that failed stays in systemd's lists until then; none of them is no error here.
      await options.run("systemctl", ["reset-failed", SERVICE, GUARD_UNITS]);
    }
  } else say("there is no service of ours");
  await putSystemBack({ root, dir, isLive, run: options.run, say });
  await removeOwnFiles(join(root, dir));
  say(`removed the agent's files in ${dir}`);
  for (const file of [credentialsFile, defaultsFile]) {
    const path = join(root, file);
    if (await readIfExists(path) === undefined) continue;
    if (purge) await removeIfExists(path);
    say(purge ? `removed ${file}` : `${file} stays; --purge removes it`);
  }
}

async function requireSystemd({ run }: SystemdInstallOptions): Promise<void> {
  if ((await run("systemctl", ["--version"])).code !== 0) {
    throw new InstallError(
      "this host has no systemd; let your service manager start " +
        "machine-agent -c FILE after machine-agent-guard",
    );
  }
}

/** Runs systemctl. @throws {InstallError} with what it said. */
function systemctlOf(
  { root, isLive, run }: Pick<SystemdInstallOptions, "root" | "isLive" | "run">,
) {
  return async (...args: string[]): Promise<ProgramAnswer> => {
    const all = isLive ? args : [`--root=${root}`, ...args];
    const answer = await run("systemctl", all);
    if (answer.code === 0) return answer;
    const said = answer.stderr.trim().split("\n")[0] ?? "";
    throw new InstallError(`systemctl ${all.join(" ")} failed with ${answer.code}: ${said}`);
  };
}

/** Writes the unit; one of the user's own under its name stays and counts. */
async function writeUnit(options: SystemdInstallOptions): Promise<{ isChanged: boolean }> {
  const { root, say } = options;
  const path = join(root, await unitFolder(options), SERVICE);
  const foreign = join(root, FALLBACK_FOLDER, SERVICE);
  if (await isForeign(foreign)) {
    say(`${foreign} is not of ours and stays; it counts in place of what --install writes`);
    if (path === foreign) return { isChanged: false };
  }
  const text = systemdUnit(options);
  const old = await readIfExists(path);
  if (old !== text) {
    await makeFolder(dirname(path));
    await writeFileAtomic(path, text, { mode: 0o644 });
    say(`${old === undefined ? "wrote" : "renewed"} ${path}`);
  }
  const stale = (await ownUnits(root)).filter((unit) => unit !== path);
  for (const unit of stale) {
    // It would hide the one that was written.
    await removeIfExists(unit);
    say(`removed ${unit}, which is in the way`);
  }
  return { isChanged: old !== text || stale.length > 0 };
}

async function unitFolder({ run }: SystemdInstallOptions): Promise<string> {
  const { code, stdout } = await run("systemd-path", ["systemd-search-system-unit"]);
  const searched = code === 0 ? stdout.trim().split(":") : [];
  return searched.includes(OWN_FOLDER) ? OWN_FOLDER : FALLBACK_FOLDER;
}

/** Units that we wrote, wherever an install put them. */
async function ownUnits(root: string): Promise<string[]> {
  const found: string[] = [];
  for (const folder of [OWN_FOLDER, FALLBACK_FOLDER]) {
    const path = join(root, folder, SERVICE);
    if ((await readUnit(path))?.startsWith(MADE_BY)) found.push(path);
  }
  return found;
}

async function isForeign(path: string): Promise<boolean> {
  const text = await readUnit(path);
  return text !== undefined && !text.startsWith(MADE_BY);
}

/** A masked unit is a link to /dev/null: a user's choice, and the text is empty. */
const readUnit = readIfExists;

/** Starts the service, or restarts it when something changed; one that is switched off stays so. */
async function start(options: SystemdInstallOptions, isChanged: boolean): Promise<void> {
  const { root, isLive, credentialsFile, run, say } = options;
  if (!isLive) return;
  const enabled = (await run("systemctl", ["is-enabled", SERVICE])).stdout.trim();
  if (enabled === "disabled" || enabled.startsWith("masked")) {
    return say(
      `the service is ${enabled}, so it is not started; systemctl enable --now ${SERVICE}`,
    );
  }
  if (await readIfExists(join(root, credentialsFile)) === undefined) {
    return say(
      `not started: ${credentialsFile} is missing; put it there, then: systemctl start ${SERVICE}`,
    );
  }
  const isActive = (await run("systemctl", ["is-active", "--quiet", SERVICE])).code === 0;
  if (isActive && !isChanged) return say("the service runs");
  const { code } = await run("systemctl", [isActive ? "restart" : "start", SERVICE]);
  if (code !== 0) {
    throw new InstallError(
      `it is installed, but the service does not start; see: journalctl -u ${SERVICE} -n 50` +
        await aboutSelinux(options),
    );
  }
  say(isActive ? "the service was restarted" : "the service runs");
}

/** SELinux keeps a service from programs whose labels are another folder's. */
async function aboutSelinux({ dir, run }: SystemdInstallOptions): Promise<string> {
  const { stdout } = await run("getenforce", []);
  if (stdout.trim() !== "Enforcing") return "";
  return `; SELinux is enforcing here, and may forbid it: restorecon -R ${dir}, and then ` +
    `systemctl restart ${SERVICE}`;
}

/** An install makes the folder where it is missing; one that others use stays. */
async function removeEmpty(folder: string): Promise<void> {
  await Deno.remove(folder).catch(() => {});
}

async function makeFolder(path: string): Promise<void> {
  try {
    await Deno.mkdir(path, { recursive: true, mode: 0o755 });
  } catch (error) {
    throw toFileError(error, "create the folder", path);
  }
}
