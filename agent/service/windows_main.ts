import { join } from "node:path";
import { formatLine, type LogSink } from "../../shared/log/line.ts";
import { systemClock } from "../../shared/base/time/clock.ts";
import { readTrial } from "../updates/guard/trial_file.ts";
import type { AgentOptions } from "../options/options.ts";
import type { AgentEnd } from "./agent_end.ts";
import type { StopSignals } from "./stop_signals.ts";
import { programLink } from "../updates/updater/program_link.ts";
import { runProgram } from "../../shared/base/process/run_program.ts";
import type { ServiceManager } from "./service_manager.ts";
import type { EventKind, EventLog } from "./windows_api.ts";
import { checkGuardedFolder } from "./windows_acl.ts";
import { WindowsServiceConfig } from "./windows_config.ts";
import { windowsEventLog, windowsServiceControl } from "./windows_ffi.ts";
import { runWindowsService, WINDOWS_SERVICE } from "./windows_service.ts";

export type Work = (
  manager: ServiceManager,
  stop: StopSignals,
  sinks: readonly LogSink[],
) => Promise<AgentEnd>;

/** Runs the agent as a service of Windows, with its log in the Application event log. */
export async function runAsWindowsService(options: AgentOptions, work: Work): Promise<AgentEnd> {
  const events = windowsEventLog(WINDOWS_SERVICE);
  const sink = eventSink(events);
  try {
    return await runWindowsService({
      control: windowsServiceControl(),
      clock: systemClock,
      work: async (manager, stop) => {
        const say = (text: string) => events.write("warning", text);
        await checkGuardedFolder({ dir: options.dir, run: runProgram, say });
        await keepServiceInStep(options, new WindowsServiceConfig(runProgram));
        return await work(manager, stop, [sink]);
      },
      beforeStopped: async (end) => {
        if (end instanceof Error) events.write("error", end.message);
        else if (end === "update") {
          await keepServiceInStep(options, new WindowsServiceConfig(runProgram));
        }
      },
    });
  } finally {
    events.close();
  }
}

/**
 * Lets the service manager start what the link names, and rescue with a version that worked: this
 * one, unless a trial is on; then the one before it, which set it so.
 */
export async function keepServiceInStep(
  options: Pick<AgentOptions, "dir" | "credentialsFile" | "defaultsFile">,
  service: Pick<WindowsServiceConfig, "pointTo" | "setRescue">,
  os?: string,
): Promise<void> {
  const { dir } = options;
  const program = await programLink(join(dir, "bin"), "machine-agent", os).read();
  if (program === undefined) return;
  await service.pointTo({ ...options, program });
  if (await readTrial(dir) === undefined) await service.setRescue({ ...options, program });
}

/** Lines of the log as events. Debug lines would fill the event log. */
export function eventSink(events: EventLog): LogSink {
  return (line) => {
    const kind = KINDS[line.level];
    if (kind) events.write(kind, formatLine(line));
  };
}

const KINDS: Readonly<Record<string, EventKind>> = {
  info: "information",
  warn: "warning",
  error: "error",
};
