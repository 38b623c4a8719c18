import { buildInfo, versionText } from "../shared/base/build_info/build_info.ts";
import { toError } from "../shared/base/errors/to_error.ts";
import { CloudConnection } from "../shared/cloud/client/connection.ts";
import { UsageError } from "../shared/base/flags/flags.ts";
import { configureLogging } from "../shared/log/configure.ts";
import type { LogSink } from "../shared/log/line.ts";
import { getLogger } from "../shared/log/loggers.ts";
import type { ProcessTable } from "../shared/base/process/process_table.ts";
import { LinuxProcessTable } from "../shared/base/process/process_table_linux.ts";
import { WindowsProcessTable } from "../shared/base/process/process_table_windows.ts";
import { runProgram } from "../shared/base/process/run_program.ts";
import { systemProcesses } from "../shared/base/process/system_processes.ts";
import { systemClock } from "../shared/base/time/clock.ts";
import { trustSystemCertificates } from "../shared/cloud/tls_trust/system_certificates.ts";
import { systemBootClock } from "./networks/store/boot_clock.ts";
import { hasSystemd } from "./system/outcomes/system_access.ts";
import { UPDATE_EXIT_CODE } from "./updates/guard/trial_file.ts";
import { readHostInfo } from "./status/host_info.ts";
import { processMemory } from "../shared/base/memory/idle_memory.ts";
import { type AgentCommand, type AgentOptions, PROGRAM, readCommand } from "./options/options.ts";
import { checkUser } from "./options/user.ts";
import type { AgentEnd } from "./service/agent_end.ts";
import { networkSystem } from "./run/network_system.ts";
import { runAgent } from "./run/run_agent.ts";
import { listenForStop, type StopSignals } from "./service/stop_signals.ts";
import { selfProgram, SERVICE_VARIABLE, withoutStarterVariables } from "./service/self_program.ts";
import type { ServiceManager } from "./service/service_manager.ts";
import { systemdManager } from "./service/systemd_manager.ts";
import { CLEAN_END_MS } from "./server/supervision/state_machine.ts";
import { restartStatusOverHttp } from "./server/supervision/restart_status.ts";

/** The agent waits so long for the server's clean end, and then some for its own. */
const STOP_MS = CLEAN_END_MS + 10_000;

/** @returns the exit code. */
async function main(argv: readonly string[]): Promise<number> {
  const command = readCommand(argv);
  switch (command.kind) {
    case "help":
      print(Deno.stdout, command.text);
      return 0;
    case "version":
      print(Deno.stdout, `${versionText(PROGRAM)}\n`);
      return 0;
    case "run":
      checkUser(command.options, uid());
      return exitCodeOf(await start(command));
    // What follows is rare, and the agent that runs for years need not carry it.
    case "status": {
      const { showStatus } = await import("./status/status_command.ts");
      print(Deno.stdout, await showStatus(command.options, systemClock));
      return 0;
    }
    case "install": {
      const { runInstall } = await import("./service/install_command.ts");
      // What is installed is for everybody to look at, whatever the shell keeps from others.
      if (Deno.build.os !== "windows") Deno.umask(0o022);
      const ownPath = selfProgram(command.options.dir, false).path;
      const facts = { os: Deno.build.os, uid: uid(), ownPath, stopMs: STOP_MS, say };
      await runInstall(command.options, facts);
      return 0;
    }
    case "uninstall": {
      const { runUninstall } = await import("./service/install_command.ts");
      await runUninstall(command.options, command, { os: Deno.build.os, uid: uid(), say });
      return 0;
    }
    case "open-window":
    case "close-window":
    case "allow-version": {
      const { runOwnerCommand } = await import("./run/owner_commands.ts");
      print(Deno.stdout, await runOwnerCommand(command, systemClock));
      return 0;
    }
    case "restore": {
      const { restorePrevious } = await import("./service/windows_restore.ts");
      await restorePrevious(command.options, say);
      return 0;
    }
  }
}

type RunCommand = Extract<AgentCommand, { kind: "run" }>;

async function start({ options, asService }: RunCommand): Promise<AgentEnd> {
  if (asService) {
    const { runAsWindowsService } = await import("./service/windows_main.ts");
    return await runAsWindowsService(
      options,
      (manager, stop, sinks) => run(options, { asService, manager, stop, sinks }),
    );
  }
  const stop = listenForStop();
  const log = getLogger(PROGRAM).child("service");
  const manager = systemdManager({ env: Deno.env.toObject(), pid: Deno.pid, log });
  const end = await run(options, { asService, manager, stop });
  if (end === "update") {
    const { startAgainAtOnce } = await import("./service/start_again.ts");
    await startAgainAtOnce(Deno.env.get(SERVICE_VARIABLE), runProgram);
  }
  return end;
}

interface Starter {
  readonly asService: boolean;
  readonly manager: ServiceManager;
  readonly stop: StopSignals;
  /** In place of standard output. */
  readonly sinks?: readonly LogSink[];
}

async function run(
  options: AgentOptions,
  { asService, manager, stop, sinks }: Starter,
): Promise<AgentEnd> {
  const output = sinks ? { output: { stdout: false }, sinks } : {};
  const logging = await configureLogging({ debug: options.debug ?? false, ...output });
  const log = getLogger(PROGRAM);
  try {
    return await runAgent(options, {
      version: buildInfo.version,
      host: readHostInfo(),
      hostName: Deno.hostname(),
      env: withoutStarterVariables(Deno.env.toObject()),
      processes: systemProcesses(),
      openCloud: ({ appAddress, credentials }) =>
        CloudConnection.open({
          appAddress,
          credentials,
          userAgent: `${PROGRAM}/${buildInfo.version}`,
          log: log.child("cloud"),
        }),
      askRestartStatus: restartStatusOverHttp(systemClock),
      writeLine: (line) => print(Deno.stdout, `${line}\n`),
      memory: processMemory,
      clock: systemClock,
      logging,
      log,
      serverErrorLog: getLogger("machine-server.StdErr"),
      service: manager,
      self: selfProgram(options.dir, asService),
      networks: networkSystem(Deno.build.os, Deno.env.toObject(), options.devMode, runProgram),
      process: { pid: Deno.pid, mark: processTable().startOf(Deno.pid) ?? "" },
      run: runProgram,
      system: {
        os: Deno.build.os,
        hasSystemd: hasSystemd(),
        ownUnit: Deno.env.get(SERVICE_VARIABLE),
        boot: systemBootClock().boot.replaceAll("-", ""),
      },
    }, stop);
  } finally {
    await logging.close();
  }
}

function processTable(): ProcessTable {
  return Deno.build.os === "windows" ? new WindowsProcessTable() : new LinuxProcessTable();
}

function uid(): number | null {
  return Deno.build.os === "windows" ? null : Deno.uid();
}

function exitCodeOf(end: AgentEnd): number {
  return end === "update" ? UPDATE_EXIT_CODE : 0;
}

function say(line: string): void {
  print(Deno.stdout, `${line}\n`);
}

function print(stream: typeof Deno.stdout | typeof Deno.stderr, text: string): void {
  const bytes = new TextEncoder().encode(text);
  try {
    for (let written = 0; written < bytes.length;) {
      written += stream.writeSync(bytes.subarray(written));
    }
  } catch {
    // Nobody reads our output any more; that must not end the program.
  }
}

function fail(error: unknown): number {
  const message = toError(error).message;
  print(Deno.stderr, `${PROGRAM}: ${message}\n`);
  return error instanceof UsageError ? error.exitCode : 1;
}

if (import.meta.main) {
  trustSystemCertificates((line) => print(Deno.stderr, `${PROGRAM}: ${line}\n`));
  Deno.exit(await main(Deno.args).catch(fail));
}
