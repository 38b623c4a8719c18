import { removeIfExists } from "../../shared/base/files/atomic_write.ts";
import { readIfExists } from "../../shared/base/files/read_file.ts";
import { InstallError } from "./install_error.ts";
import { removeOwnFiles } from "./own_files.ts";
import { placeProgram } from "./installed_program.ts";
import type { RunProgram } from "../../shared/base/process/run_program.ts";
import { makeGuardedFolder } from "./windows_acl.ts";
import { WindowsServiceConfig } from "./windows_config.ts";

export interface WindowsInstallOptions {
  readonly root: string | undefined;
  readonly dir: string;
  readonly credentialsFile: string;
  readonly defaultsFile: string;
  readonly program: string;
  readonly version: string;
  readonly run: RunProgram;
  /** Makes the agent's folder what nobody else can change. Default: by the system's programs. */
  readonly guardFolder?: typeof makeGuardedFolder;
  readonly say: (line: string) => void;
}

/**
 * Installs this program as a service of Windows, or upgrades it. How the service starts is the
 * user's: it is set at the first install only.
 *
 * @throws {InstallError | FileError}
 */
export async function installWindows(options: WindowsInstallOptions): Promise<void> {
  const { root, dir, credentialsFile, run, say, guardFolder = makeGuardedFolder } = options;
  if (root !== undefined) throw new InstallError("--root is for Linux");
  const service = new WindowsServiceConfig(run);
  // Before anything lies in it: what the service starts must be nobody else's.
  await guardFolder({ dir, run, say });
  const placed = await placeProgram({
    ...options,
    dirOnMachine: dir,
    scripts: undefined,
    os: "windows",
  });
  say(placed.isChanged ? `${placed.path} is in place` : "the program is there already");
  const command = { ...options, program: placed.path };
  const isNew = !await service.exists();
  if (isNew) await service.create(command);
  else await service.pointTo(command);
  await service.setRescue(command);
  if (await readIfExists(credentialsFile) === undefined) {
    return say(
      `not started: ${credentialsFile} is missing; put it there, then: sc start machine-agent`,
    );
  }
  if (!isNew && placed.isChanged) await service.stop();
  await service.start();
  say(isNew ? "the service runs and starts with the host" : "the service runs");
}

/**
 * Removes the service and what it made.
 *
 * @throws {InstallError | FileError}
 */
export async function uninstallWindows(
  options: Pick<
    WindowsInstallOptions,
    "dir" | "credentialsFile" | "defaultsFile" | "run" | "say"
  >,
  { purge }: { purge: boolean },
): Promise<void> {
  const { dir, credentialsFile, defaultsFile, run, say } = options;
  const service = new WindowsServiceConfig(run);
  if (await service.exists()) {
    await service.stop();
    await service.remove();
    say("removed the service");
  } else say("there is no service of ours");
  await removeOwnFiles(dir);
  say(`removed the agent's files in ${dir}`);
  for (const file of [credentialsFile, defaultsFile]) {
    if (await readIfExists(file) === undefined) continue;
    if (purge) await removeIfExists(file);
    say(purge ? `removed ${file}` : `${file} stays; --purge removes it`);
  }
}
