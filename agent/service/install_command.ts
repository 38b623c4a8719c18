import { join } from "node:path";
import { writeEnrollmentFile } from "../settings/enrollment_settings.ts";
import { buildInfo } from "../../shared/base/build_info/build_info.ts";
import { guardFiles } from "../updates/guard/trial_file.ts";
import { type InstallOptions, PROGRAM } from "../options/options.ts";
import { placeProgram, readScripts } from "./installed_program.ts";
import { runProgram } from "../../shared/base/process/run_program.ts";
import { InstallError } from "./install_error.ts";
import { installSystemd, uninstallSystemd } from "./systemd_install.ts";

export interface InstallFacts {
  readonly os: string;
  /** Number of the user; null where there are none. */
  readonly uid: number | null;
  /** File of the running program; undefined when it runs from its sources. */
  readonly ownPath: string | undefined;
  /** How long the agent takes at most to end. */
  readonly stopMs: number;
  readonly say: (line: string) => void;
}

/** `machine-agent --install`. @throws {InstallError | FileError} */
export async function runInstall(options: InstallOptions, facts: InstallFacts): Promise<void> {
  const { say, os } = facts;
  checkSystem(os, options);
  const program = options.program ?? facts.ownPath;
  if (program === undefined) {
    throw new InstallError(
      "--install needs a program in one file, and this one runs from its sources; make agent " +
        "compiles it into dist/",
    );
  }
  if (options.enrollment) {
    const folder = options.root === undefined ? options.dir : join(options.root, options.dir);
    if (!options.devMode) checkRoot(options, facts);
    await writeEnrollmentFile(folder, options.enrollment);
    say("the device becomes a machine when it starts");
  }
  const { version } = buildInfo;
  const scripts = await readScripts();
  if (options.devMode) {
    const { dir } = options;
    const { path } = await placeProgram({ dir, dirOnMachine: dir, program, version, scripts });
    say(`${path} is in place; start it with:`);
    return say(`${guardFiles(dir).launcher} --dev-mode --dir ${dir} -c ${options.credentialsFile}`);
  }
  checkRoot(options, facts);
  if (os === "windows") {
    const { installWindows } = await import("./windows_install.ts");
    const change = { ...options, program, version, scripts, say, run: runProgram };
    return await installWindows(change);
  }
  const { stopMs } = facts;
  const change = { ...options, ...place(options), program, version, scripts, stopMs, say };
  await installSystemd({ ...change, run: runProgram });
}

/** `machine-agent --uninstall`. @throws {InstallError | FileError} */
export async function runUninstall(
  options: InstallOptions,
  { purge }: { purge: boolean },
  facts: Pick<InstallFacts, "os" | "uid" | "say">,
): Promise<void> {
  checkSystem(facts.os, options);
  checkRoot(options, facts);
  const change = { ...options, ...place(options), say: facts.say, run: runProgram };
  if (facts.os === "windows") {
    const { uninstallWindows } = await import("./windows_install.ts");
    return await uninstallWindows(change, { purge });
  }
  await uninstallSystemd(change, { purge });
}

/** With `--dev-mode` and into a mounted image it installs from any system. */
function checkSystem(os: string, { root, devMode }: InstallOptions): void {
  if (os === "linux" || os === "windows" || root !== undefined || devMode) return;
  throw new InstallError(
    `--install makes a service of systemd or of Windows, and none on ${os}; run machine-server ` +
      "there with a service manager of the system (docs/download.md has one for launchd)",
  );
}

function place({ root }: InstallOptions): { root: string; isLive: boolean } {
  return root === undefined ? { root: "/", isLive: true } : { root, isLive: false };
}

function checkRoot({ root }: InstallOptions, { uid }: Pick<InstallFacts, "uid">): void {
  if (root !== undefined || uid === null || uid === 0) return;
  throw new InstallError(`${PROGRAM} must be run as root for this; start it with sudo`);
}
