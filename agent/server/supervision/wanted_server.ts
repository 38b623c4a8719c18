import type { AgentSettings } from "../../../shared/config/agent_fields.ts";
import type { InstalledVersion } from "../../state/agent_state.ts";
import { isSameEnvironment } from "./server_command.ts";

/** What should run. */
export interface WantedServer {
  /** False when the settings disable the server. */
  readonly isEnabled: boolean;
  /** Undefined when there is nothing to run, or it is being exchanged. */
  readonly version: InstalledVersion | undefined;
  readonly env: Readonly<Record<string, string>>;
  readonly startTimeoutMs: number;
}

/** What was started. */
export interface LaunchedServer {
  readonly version: InstalledVersion;
  readonly env: Readonly<Record<string, string>>;
  /** Of the monotonic clock. */
  readonly startedMs: number;
}

export function wantedServer(
  { advanced_settings: settings }: AgentSettings,
  version: InstalledVersion | undefined,
): WantedServer {
  return {
    isEnabled: !settings.disable_machine_server,
    version,
    env: settings.machine_server_env,
    startTimeoutMs: settings.machine_server_start_timeout_minutes * 60_000,
  };
}

/**
 * Why the running server must be restarted to become the wanted one; undefined when it is. Another
 * version is not the concern of this: the updates end the server themselves.
 */
export function restartReason(
  launched: LaunchedServer,
  wanted: WantedServer,
): string | undefined {
  if (!wanted.isEnabled || !wanted.version) return undefined;
  return isSameEnvironment(launched.env, wanted.env) ? undefined : "machine_server_env has changed";
}
