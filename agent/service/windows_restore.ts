import { join } from "node:path";
import { endTrial, readTrial, writeRollback } from "../updates/guard/trial_file.ts";
import { programLink } from "../updates/updater/program_link.ts";
import { runProgram } from "../../shared/base/process/run_program.ts";
import { type ServiceCommand, WindowsServiceConfig } from "./windows_config.ts";

export interface RestoreOptions {
  readonly dir: string;
  readonly service: Pick<WindowsServiceConfig, "pointTo" | "start">;
  /** What the service is started with, for a program. */
  readonly command: (program: string) => ServiceCommand;
  readonly now: () => Date;
  readonly os?: string;
}

/**
 * The start guard of Windows: the service ended three times, and the service manager runs the
 * version that worked before with `--restore`. A version on trial is taken back, like the guard's
 * script does it elsewhere; then the service is started.
 */
export async function restore(
  { dir, service, command, now, os }: RestoreOptions,
): Promise<"back" | "same"> {
  const link = programLink(join(dir, "bin"), "machine-agent", os);
  const trial = await readTrial(dir);
  const isOnTrial = typeof trial === "object" && await link.read() === trial.trial;
  if (isOnTrial) {
    const { trial: from, previous: to } = trial;
    const reason = "the service crashed repeatedly while the new version was on trial";
    await writeRollback(dir, { from, to, reason, at: now() });
    await link.turn(to);
    await service.pointTo(command(to));
    await endTrial(dir);
  }
  await service.start();
  return isOnTrial ? "back" : "same";
}

/** `machine-agent --restore`. */
export async function restorePrevious(
  options: Omit<ServiceCommand, "program">,
  say: (line: string) => void,
): Promise<void> {
  const done = await restore({
    dir: options.dir,
    service: new WindowsServiceConfig(runProgram),
    command: (program) => ({ ...options, program }),
    now: () => new Date(),
  });
  say(done === "back" ? "the version before the trial is in use again" : "the service was started");
}
