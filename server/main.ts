/** machine-server: runs one machine. Parses the command line and composes; see server/run/machine. */
import { buildInfo, versionText } from "../shared/base/build_info/build_info.ts";
import { toError } from "../shared/base/errors/to_error.ts";
import { renderHelp, UsageError } from "../shared/base/flags/flags.ts";
import { configureLogging, getLogger } from "../shared/log/configure.ts";
import type { Logger } from "../shared/log/logger.ts";
import { processMemory, releaseIdleMemory } from "../shared/base/memory/idle_memory.ts";
import { systemClock } from "../shared/base/time/clock.ts";
import { trustSystemCertificates } from "../shared/cloud/tls_trust/system_certificates.ts";
import { SUBPROCESSES } from "./models/subprocesses.ts";
import { MachineSeat } from "./data/machine_seat.ts";
import { commandLine, parseOptions, type ServerOptions } from "./run/options/options.ts";
import { readEnvironment, type ServerEnvironment } from "./run/options/environment.ts";
import type { Diagnostics } from "./diagnostics/diagnostics.ts";
import type { RunProfile } from "./diagnostics/profiles/cpu_profile.ts";

/** After this the end of the server is forced. Milliseconds. */
const SHUTDOWN_LIMIT_MS = 60_000;

/** How long a signal waits for a start under way. Milliseconds. */
const START_GRACE_MS = 2_000;

/** How long the end by force waits for the CPU profile. Milliseconds. */
const PROFILE_GRACE_MS = 5_000;

const readVariable = (name: string) => Deno.env.get(name);

async function main(): Promise<number> {
  const [first = ""] = Deno.args;
  if (/^--?aix-(install|update|uninstall)$/.test(first)) return await imageCommand(first);
  const subprocess = SUBPROCESSES.get(first);
  if (subprocess) {
    await subprocess();
    return 0;
  }
  const options = parseOptions(Deno.args);
  const { values } = options;
  if (options.help) return print(renderHelp(commandLine));
  if (values.version) return print(`${versionText("machine-server")}\n`);
  if (!values.cpuprofile) return await run(options);
  const { RunProfile } = await import("./diagnostics/profiles/cpu_profile.ts");
  const profile = await RunProfile.start(values.cpuprofile, systemClock);
  try {
    return await run(options, profile);
  } finally {
    await profile.finish();
  }
}

async function imageCommand(argument: string): Promise<number> {
  const { runImageCommand } = await import("./appimage/image_commands.ts");
  const more = Deno.args[1];
  if (more !== undefined) throw new UsageError(`${argument} stands alone, without ${more}`);
  await runImageCommand(argument.replace(/^-+/, ""), readVariable, (line) => print(`${line}\n`));
  return 0;
}

async function run(options: ServerOptions, profile?: RunProfile): Promise<number> {
  const { values } = options;
  if (values["dump-resources"]) return await dumpResources(values["dump-resources"]);
  if (values["network-check"]) return await networkCheck(values.config);
  if (!values.config) {
    complain("please name a configuration file with -config FILE");
    print(renderHelp(commandLine), Deno.stderr);
    return 1;
  }
  return await serve(options, values.config, profile);
}

async function serve(
  { values }: ServerOptions,
  configPath: string,
  profile: RunProfile | undefined,
): Promise<number> {
  const environment = readEnvironment(readVariable);
  const file = values["log-file"] ?? environment.logFile;
  const logging = await configureLogging({
    debug: values.debug,
    deduplicate: !values.debug,
    output: {
      stdout: !values["log-file"],
      ...(file !== undefined && { file, rotation: environment.logRotation }),
    },
  });
  const log = getLogger("rdk");
  log.info(versionText("machine-server"));
  profile?.describe(log);
  const { MachineServer } = await import("./run/machine/machine_server.ts");
  const { builtinModels } = await import("./models/builtin.ts");
  const { systemProcesses } = await import("../shared/base/process/system_processes.ts");
  const signalled = Promise.withResolvers<"signal">();
  onSignals(() => signalled.resolve("signal"));
  let server;
  let diagnostics: Diagnostics | undefined;
  try {
    diagnostics = await startDiagnostics(values, environment, log);
    const processes = systemProcesses();
    const { childVariables } = await import("./modules/processes/child_variables.ts");
    const variables = () => childVariables(Deno.env.toObject());
    const seat = new MachineSeat();
    const starting = MachineServer.start({
      configPath,
      diagnostics,
      environment,
      readVariable,
      registry: builtinModels({
        clock: systemClock,
        processes,
        untrusted: values["untrusted-env"],
        home: environment.home,
        variables,
        seat,
      }),
      seat,
      processes,
      variables,
      clock: systemClock,
      log,
      logSettings: logging,
      build: buildInfo,
      switches: {
        debug: values.debug,
        noTls: values["no-tls"],
        allowInsecure: values["allow-insecure-creds"],
        revealDiffs: values["reveal-sensitive-config-diffs"],
        untrusted: values["untrusted-env"],
        webrtc: values.webrtc,
        mdns: !values["disable-mdns"],
      },
    });
    server = await Promise.race([starting, signalled.promise.then(() => graceFor(starting))]);
  } catch (error) {
    await diagnostics?.close();
    await logging.close();
    throw error;
  }
  if (!server) {
    log.info("the server shuts down before it has started", {
      event: "server_stopping",
      reason: "signal",
    });
    await diagnostics.close();
    await logging.close();
    return 0;
  }
  const ending = new AbortController();
  const memory = { memory: processMemory, clock: systemClock };
  void releaseIdleMemory(memory, ending.signal).catch(() => undefined);
  const { prepareFirstCalls } = await import("./run/machine/first_calls.ts");
  const { webrtc } = server.core.port;
  void prepareFirstCalls({ clock: systemClock, webrtc }, ending.signal).catch(() => undefined);
  const reason = await Promise.race([server.stopRequested, signalled.promise]);
  ending.abort();
  log.info("the server shuts down", { event: "server_stopping", reason });
  systemClock.setTimer(SHUTDOWN_LIMIT_MS, () => {
    complain(
      `the server did not shut down within ${SHUTDOWN_LIMIT_MS / 1000} s; it is killed`,
    );
    server.kill();
    void Promise.race([profile?.finish(), profile && systemClock.sleep(PROFILE_GRACE_MS)])
      .finally(() => Deno.exit(1));
  });
  await server.close();
  await diagnostics.close();
  await logging.close();
  return 0;
}

/** A start that is nearly through is awaited, so that it shuts down in order. */
async function graceFor<T>(starting: Promise<T>): Promise<T | undefined> {
  return await Promise.race([
    starting,
    systemClock.sleep(START_GRACE_MS).then(() => undefined),
  ]);
}

async function dumpResources(path: string): Promise<number> {
  const { builtinModels } = await import("./models/builtin.ts");
  const { writeFileAtomic } = await import("../shared/base/files/atomic_write.ts");
  const { systemProcesses } = await import("../shared/base/process/system_processes.ts");
  const entries = await builtinModels({
    clock: systemClock,
    processes: systemProcesses(),
    untrusted: false,
    home: ".",
    variables: () => ({}),
  }).dump();
  await writeFileAtomic(path, `${JSON.stringify(entries, undefined, "\t")}\n`);
  return 0;
}

async function networkCheck(configPath: string | undefined): Promise<number> {
  const { networkReport } = await import("./cloud/network_check/run.ts");
  const { readLocalFile } = await import("./config/source/local_file.ts");
  const { appAddress } = await import("./run/machine/config_mode.ts");
  const file = configPath ? await readLocalFile(configPath, readVariable) : undefined;
  const { table, ok, text } = await networkReport({
    appAddress: file && appAddress(file.json),
    setting: readVariable("MACHINE_NETWORK_CHECK"),
    clock: systemClock,
  });
  print(`${table}${ok ? "ok" : "FAILED"}: ${text}\n`);
  return ok ? 0 : 1;
}

async function startDiagnostics(
  values: ServerOptions["values"],
  { home, ftdcUpload }: ServerEnvironment,
  log: Logger,
): Promise<Diagnostics> {
  const { Diagnostics } = await import("./diagnostics/diagnostics.ts");
  const { StaticAssets } = await import("./serving/assets/static_assets.ts");
  return new Diagnostics({
    ftdc: values.ftdc,
    ftdcUpload,
    printTelemetry: values["output-telemetry"],
    webProfile: values.webprofile,
    assets: values.shareddir ? await StaticAssets.open(values.shareddir) : undefined,
    home,
    version: buildInfo.version,
    clock: systemClock,
    log,
    write: print,
  });
}

function onSignals(stop: () => void): void {
  const signals: Deno.Signal[] = Deno.build.os === "windows"
    ? ["SIGINT", "SIGBREAK"]
    : ["SIGINT", "SIGTERM"];
  for (const signal of signals) Deno.addSignalListener(signal, stop);
  if (Deno.build.os !== "windows") return;
  void import("../shared/base/process/stop_event.ts").then(({ onStopEvent }) => onStopEvent(stop));
}

function print(text: string, to: typeof Deno.stdout | typeof Deno.stderr = Deno.stdout): number {
  const bytes = new TextEncoder().encode(text);
  for (let written = 0; written < bytes.length;) written += to.writeSync(bytes.subarray(written));
  return 0;
}

function complain(message: string): void {
  print(`machine-server: ${message}\n`, Deno.stderr);
}

if (import.meta.main) {
  trustSystemCertificates(complain);
  try {
    Deno.exit(await main());
  } catch (error) {
    complain(toError(error).message);
    Deno.exit(error instanceof UsageError ? error.exitCode : 1);
  }
}
