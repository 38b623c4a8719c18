import { buildInfo } from "../../shared/base/build_info/build_info.ts";
import { LinuxProcessTable } from "../../shared/base/process/process_table_linux.ts";
import { WindowsProcessTable } from "../../shared/base/process/process_table_windows.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import type { StatusOptions } from "../options/options.ts";
import { runProgram } from "../../shared/base/process/run_program.ts";
import { serviceState } from "../service/service_state.ts";
import { renderStatus } from "./render.ts";
import { gatherStatus } from "./status.ts";

/** What `machine-agent status` prints. @throws {FileError} */
export async function showStatus(options: StatusOptions, clock: Clock): Promise<string> {
  const table = Deno.build.os === "windows" ? new WindowsProcessTable() : new LinuxProcessTable();
  const status = await gatherStatus(options, {
    version: buildInfo.version,
    startOf: (pid) => table.startOf(pid),
    serviceState: () => serviceState(runProgram),
  });
  return options.json ? `${JSON.stringify(status, null, 2)}\n` : renderStatus(status, clock.now());
}
