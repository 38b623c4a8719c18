/** What the server reads from its environment. */
import { isAbsolute, join, resolve } from "node:path";
import { readFileSettings } from "../../../shared/log/file_settings.ts";
import type { Rotation } from "../../../shared/log/rotating_file.ts";
import { parseGoDuration } from "../../../shared/base/time/duration.ts";

/** Reads a variable. */
export type ReadVariable = (name: string) => string | undefined;

export interface ServerEnvironment {
  /** Folder of the server's state. Default `~/.machine`. */
  readonly home: string;
  /** A log file next to standard output; undefined for none. */
  readonly logFile: string | undefined;
  /** How much log files may hold. */
  readonly logRotation: Rotation;
  /** Milliseconds a constructor may take; undefined for the default. */
  readonly resourceConfigurationTimeoutMs: number | undefined;
  /** Milliseconds the first read of the configuration may take; undefined for the default. */
  readonly configReadTimeoutMs: number | undefined;
  /** Calls one resource answers at the same time; undefined for the default. */
  readonly resourceRequestsLimit: number | undefined;
  /** Milliseconds a module may take to be ready; undefined for the default. */
  readonly moduleStartupTimeoutMs: number | undefined;
  /** True when the server speaks with all modules over TCP on loopback. */
  readonly tcpSockets: boolean;
  /** What the network check asks: JSON, or a file with it; undefined for the default. */
  readonly networkCheck: string | undefined;
  /** True when full-time data capture is uploaded to the machine's cloud. */
  readonly ftdcUpload: boolean;
  /** True when machine-agent asks the cloud whether the server must restart. */
  readonly agentHandlesRestart: boolean;
}

/** A variable of the environment has a value that cannot be used. */
export class EnvironmentError extends Error {
  override readonly name = "EnvironmentError";
}

/**
 * Reads `MACHINE_*`; where such a variable is not set, the `VIAM_*` name that existing tools set.
 *
 * @throws {EnvironmentError}
 */
export function readEnvironment(read: ReadVariable): ServerEnvironment {
  const either = (name: string) => read(`MACHINE_${name}`) || read(`VIAM_${name}`) || undefined;
  return {
    home: homeFolder(read),
    logFile: either("LOGFILE"),
    logRotation: readFileSettings(read),
    resourceConfigurationTimeoutMs: duration(
      "RESOURCE_CONFIGURATION_TIMEOUT",
      either("RESOURCE_CONFIGURATION_TIMEOUT"),
    ),
    configReadTimeoutMs: duration("CONFIG_READ_TIMEOUT", either("CONFIG_READ_TIMEOUT")),
    resourceRequestsLimit: count("RESOURCE_REQUESTS_LIMIT", either("RESOURCE_REQUESTS_LIMIT")),
    moduleStartupTimeoutMs: duration("MODULE_STARTUP_TIMEOUT", either("MODULE_STARTUP_TIMEOUT")),
    tcpSockets: yesOrNo("TCP_SOCKETS", read) ?? isYes(read("VIAM_TCP_SOCKETS")),
    networkCheck: read("MACHINE_NETWORK_CHECK") || undefined,
    ftdcUpload: yesOrNo("FTDC_UPLOAD", read) ?? false,
    agentHandlesRestart: Boolean(
      read("MACHINE_AGENT_HANDLES_NEEDS_RESTART") ||
        read("MACHINE_AGENT_HANDLES_NEEDS_RESTART_CHECKING") ||
        read("VIAM_AGENT_HANDLES_NEEDS_RESTART_CHECKING"),
    ),
  };
}

/** The words that tools which know the VIAM_ names mean yes by; all others mean no there. */
function isYes(text = ""): boolean {
  return /^(true|yes|1)$/i.test(text);
}

function yesOrNo(name: string, read: ReadVariable): boolean | undefined {
  const text = read(`MACHINE_${name}`);
  if (!text) return undefined;
  if (isYes(text)) return true;
  if (/^(false|no|0)$/i.test(text)) return false;
  throw new EnvironmentError(
    `the environment variable MACHINE_${name} is ${JSON.stringify(text)}; ` +
      "allowed: true, yes or 1, and false, no or 0",
  );
}

function homeFolder(read: ReadVariable): string {
  const given = read("MACHINE_HOME");
  if (given) return isAbsolute(given) ? given : resolve(given);
  const user = read("HOME") || read("USERPROFILE");
  if (user) return join(user, ".machine");
  throw new EnvironmentError("there is no home folder: set MACHINE_HOME to a folder for the state");
}

function duration(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  try {
    const ms = parseGoDuration(text);
    if (ms > 0) return ms;
  } catch {
    // Reported below, with the name of the variable.
  }
  throw new EnvironmentError(
    `the environment variable MACHINE_${name} is ${JSON.stringify(text)}; ` +
      "allowed: a duration above zero, for example 2m or 30s",
  );
}

function count(name: string, text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const value = Number(text);
  if (Number.isInteger(value) && value > 0) return value;
  throw new EnvironmentError(
    `the environment variable MACHINE_${name} is ${JSON.stringify(text)}; ` +
      "allowed: a whole number above zero",
  );
}
