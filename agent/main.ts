import { buildInfo, versionText } from "../shared/build_info/build_info.ts";
import { CloudConnection } from "../shared/cloud_client/connection.ts";
import { UsageError } from "../shared/flags/flags.ts";
import { configureLogging } from "../shared/log/configure.ts";
import { getLogger } from "../shared/log/loggers.ts";
import { systemProcesses } from "../shared/process/system_processes.ts";
import { systemClock } from "../shared/time/clock.ts";
import { readHostInfo } from "./host/host_info.ts";
import { collectGarbage } from "./memory/idle_memory.ts";
import { type AgentOptions, PROGRAM, readCommand } from "./options/options.ts";
import { checkUser } from "./options/user.ts";
import { runAgent } from "./run/run_agent.ts";
import { listenForStop } from "./run/stop_signals.ts";
import { restartStatusOverHttp } from "./supervision/restart_status.ts";

async function main(argv: readonly string[]): Promise<void> {
  const command = readCommand(argv);
  switch (command.kind) {
    case "help":
      return print(Deno.stdout, command.text);
    case "version":
      return print(Deno.stdout, `${versionText(PROGRAM)}\n`);
    case "install":
      throw new Error(
        "--install comes in a later version; until then let your service manager start " +
          `${PROGRAM} -c FILE`,
      );
    case "run":
      return await run(command.options);
  }
}

async function run(options: AgentOptions): Promise<void> {
  checkUser(options, Deno.build.os === "windows" ? null : Deno.uid());
  const stop = listenForStop();
  const logging = await configureLogging({ debug: options.debug });
  const log = getLogger(PROGRAM);
  try {
    await runAgent(options, {
      version: buildInfo.version,
      host: readHostInfo(),
      hostName: Deno.hostname(),
      env: Deno.env.toObject(),
      processes: systemProcesses(),
      openCloud: ({ appAddress, credentials }) =>
        CloudConnection.open({ appAddress, credentials, log: log.child("cloud") }),
      askRestartStatus: restartStatusOverHttp(systemClock),
      writeLine: (line) => print(Deno.stdout, `${line}\n`),
      collect: collectGarbage,
      clock: systemClock,
      logging,
      log,
      serverErrorLog: getLogger("machine-server.StdErr"),
    }, stop);
  } finally {
    await logging.close();
  }
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
  const message = error instanceof Error ? error.message : String(error);
  print(Deno.stderr, `${PROGRAM}: ${message}\n`);
  return error instanceof UsageError ? error.exitCode : 1;
}

if (import.meta.main) {
  Deno.exit(await main(Deno.args).then(() => 0, fail));
}
