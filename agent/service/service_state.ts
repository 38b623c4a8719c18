import type { RunProgram } from "../../shared/base/process/run_program.ts";
import { SERVICE } from "./systemd_unit.ts";

/** What the service manager says of the agent. */
export interface ServiceState {
  /** `systemd` or `windows`. */
  readonly manager: string;
  /** In its own words: `active`, `failed`, `inactive`, `RUNNING`. */
  readonly state: string;
  /** Whether it starts with the host: `enabled`, `disabled`, `masked`; empty when unknown. */
  readonly startup: string;
  /** How often it was restarted automatically since it was started by hand. */
  readonly restarts: number;
  /** How it ended last, `success` or why not; empty when unknown. */
  readonly result: string;
}

const WINDOWS_NAME = "machine-agent";

/** Asks the service manager; undefined when it knows of no such service, or there is none. */
export async function serviceState(
  run: RunProgram,
  os: string = Deno.build.os,
): Promise<ServiceState | undefined> {
  return os === "windows" ? await windowsState(run) : await systemdState(run);
}

async function systemdState(run: RunProgram): Promise<ServiceState | undefined> {
  const properties = ["LoadState", "ActiveState", "UnitFileState", "NRestarts", "Result"];
  const { code, stdout } = await run("systemctl", [
    "show",
    SERVICE,
    `--property=${properties.join(",")}`,
  ]);
  if (code !== 0) return undefined;
  const value = (name: string) => new RegExp(`^${name}=(.*)$`, "m").exec(stdout)?.[1] ?? "";
  if (["", "not-found"].includes(value("LoadState"))) return undefined;
  return {
    manager: "systemd",
    state: value("ActiveState"),
    startup: value("UnitFileState"),
    restarts: Number(value("NRestarts")) || 0,
    result: value("Result"),
  };
}

async function windowsState(run: RunProgram): Promise<ServiceState | undefined> {
  const { code, stdout } = await run("sc.exe", ["query", WINDOWS_NAME]);
  if (code !== 0) return undefined;
  const config = await run("sc.exe", ["qc", WINDOWS_NAME]);
  const state = /^\s*STATE\s*:\s*\d+\s+(\w+)/m.exec(stdout)?.[1] ?? "";
  const exit = /^\s*WIN32_EXIT_CODE\s*:\s*(\d+)/m.exec(stdout)?.[1] ?? "";
  const startup = /^\s*START_TYPE\s*:\s*\d+\s+(\w+)/m.exec(config.stdout)?.[1] ?? "";
  return {
    manager: "windows",
    state,
    startup: startup === "AUTO_START" ? "enabled" : startup.toLowerCase(),
    restarts: 0,
    result: exit === "0" ? "success" : exit,
  };
}
