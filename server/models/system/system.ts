import { arch, availableParallelism, hostname, release, totalmem, uptime } from "node:os";
import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Logger } from "../../../shared/log/logger.ts";
import { SpawnError } from "../../../shared/base/process/child_process.ts";
import { runProgram } from "../command/run_program.ts";
import type { CallContext, Resource } from "../../resources/graph/resource.ts";
import type { BuiltinEnvironment } from "../environment.ts";

/** The command only hands the request over; it does not wait for the shutdown. Milliseconds. */
const REBOOT_TIMEOUT_MS = 15_000;

/** Ways to restart the host, tried in order until one is there. */
const REBOOT_PROGRAMS: readonly (readonly [program: string, ...args: string[]])[] =
  Deno.build.os === "windows"
    ? [["shutdown.exe", "/r", "/t", "5"]]
    : [["systemctl", "reboot"], ["shutdown", "-r", "now"], ["reboot"]];

/** What {@link createSystem} is given. */
export interface SystemOptions {
  readonly allowReboot: boolean;
  readonly environment: Pick<BuiltinEnvironment, "clock" | "processes" | "untrusted" | "variables">;
  readonly log: Logger;
}

type Command = (signal: AbortSignal) => JsonObject | Promise<JsonObject>;

/** A resource whose DoCommand takes `{"command": NAME}`. */
export function createSystem(options: SystemOptions): Resource {
  const commands: Readonly<Record<string, Command>> = {
    info: () => ({
      hostname: hostname(),
      os: Deno.build.os,
      os_release: release(),
      architecture: arch(),
      cpu_count: availableParallelism(),
      memory_total_bytes: totalmem(),
      time: options.environment.clock.now().toISOString(),
      time_zone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    }),
    reboot: (signal) => reboot(options, signal),
    uptime: () => ({ uptime_seconds: uptime() }),
  };
  return {
    async doCommand({ command }: JsonObject, { signal }: CallContext) {
      const run = typeof command === "string" && Object.hasOwn(commands, command)
        ? commands[command]
        : undefined;
      if (run) return await run(signal);
      const known = Object.keys(commands).map((name) => `{"command": "${name}"}`).join(", ");
      const given = command === undefined ? "no command" : `command ${JSON.stringify(command)}`;
      throw new ConnectError(`${given}; known are ${known}`, Code.InvalidArgument);
    },
  };
}

async function reboot(options: SystemOptions, signal: AbortSignal): Promise<JsonObject> {
  const { allowReboot, environment, log } = options;
  if (environment.untrusted) {
    throw refused("the server runs with -untrusted-env, and reboots no host then");
  }
  if (!allowReboot) {
    throw refused('restarting is not allowed; set the attribute "allow_reboot" to true');
  }
  log.warn("the host is rebooted, as a caller requested", { event: "host_reboot" });
  for (const [program, ...args] of REBOOT_PROGRAMS) {
    try {
      await runProgram({
        command: { program, args, env: environment.variables() },
        timeoutMs: REBOOT_TIMEOUT_MS,
        processes: environment.processes,
        clock: environment.clock,
        signal,
      });
      return { rebooting: true };
    } catch (error) {
      if (!(error instanceof SpawnError)) throw error; // not there: the next one may be
      log.debug(error.message);
    }
  }
  const names = REBOOT_PROGRAMS.map(([program]) => program).join(", ");
  throw new Error(`this host has none of the programs that restart it: ${names}`);
}

function refused(why: string): ConnectError {
  return new ConnectError(why, Code.PermissionDenied);
}
