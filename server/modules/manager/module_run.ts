/** One run of a module's program, from its start to its end. */
import type { DescService } from "@bufbuild/protobuf";
import type { Logger } from "../../../shared/log/logger.ts";
import {
  type ChildProcess,
  describeExit,
  type ExitInfo,
  type ProcessRunner,
} from "../../../shared/base/process/child_process.ts";
import { type ForwardChannel, openForwardChannel } from "../../../shared/rpc/client/forward.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import { ModuleOutput } from "./module_output.ts";
import type { Admission, ModuleTransport, ParentServer } from "./parent_server.ts";
import { type ModuleApi, waitUntilReady } from "./ready.ts";
import { learnService } from "../../../shared/rpc/client/reflection_client.ts";
import type { WantedModule } from "./wanted_module.ts";

/** From TERM to KILL for a program that did not become ready. */
const FAILED_START_GRACE_MS = 3_000;
/** How often a module's socket is looked for. */
const LOOK_EVERY_MS = 50;

/** The APIs that this server knows, and takes up from modules: `LearnedApis`. */
export interface KnownApis {
  /** The service that carries an API; undefined for one nobody has brought yet. */
  serviceOf(api: string): DescService | undefined;
  /** Serves a service that a module brought, for the resources of `api`. */
  add(service: DescService, api: string): unknown;
}

export interface ModuleRunOptions {
  readonly module: WantedModule;
  /** Folder that the program starts in. */
  readonly root: string;
  readonly transport: ModuleTransport;
  /** The whole environment, by the address that the module is to serve on and what lets it in. */
  readonly environment: (
    address: string,
    admission?: Readonly<Record<string, string>>,
  ) => Record<string, string>;
  /** Mark by which the processes of this module are found, also after a crash of the server. */
  readonly tree: string;
  readonly parent: ParentServer;
  readonly learned: KnownApis;
  readonly processes: ProcessRunner;
  readonly clock: Clock;
  /** The module's logger. */
  readonly log: Logger;
  /** From the start of the program to the answer of Ready. */
  readonly startupTimeoutMs: number;
}

/** A module that runs and is ready. */
export class ModuleRun {
  #isAlive = true;

  private constructor(
    private readonly child: ChildProcess,
    /** The connection to the module. */
    readonly channel: ForwardChannel,
    /** What it serves. */
    readonly apis: readonly ModuleApi[],
  ) {
    void child.exited.then(() => this.#isAlive = false);
  }

  /**
   * Starts the program and waits until it is ready. When that fails, nothing of it is left.
   *
   * @throws why it could not be started; the signal's reason.
   */
  static async start(options: ModuleRunOptions, signal: AbortSignal): Promise<ModuleRun> {
    const { module, parent, transport, clock, log, startupTimeoutMs } = options;
    const parentAddress = await parent.address(module.name, transport);
    const address = await parent.newModuleAddress(module.name, transport);
    signal.throwIfAborted();
    const attempt = linkedController(signal);
    const admission = parent.admission(module.name, transport);
    const child = startProgram(options, address, admission.variables);
    void child.exited.then(admission.open(child.mark.pid));
    log.debug("module started", { pid: child.mark.pid });
    void child.exited.then((exit) => attempt.abort(endedTooEarly(exit)));
    const timer = clock.setTimer(
      startupTimeoutMs,
      () =>
        attempt.abort(new Error(`it was not ready ${startupTimeoutMs / 1000} s after its start`)),
    );
    let channel: ForwardChannel | undefined;
    try {
      await isListening(address, transport, clock, attempt.signal);
      channel = openForwardChannel({
        address: transport === "tcp" ? `http://${address}` : `unix:${address}`,
      });
      const ask = { clock, log, signal: attempt.signal };
      const apis = await waitUntilReady(channel.transport, parentAddress, ask);
      await learnServices(channel, apis, options, attempt.signal);
      attempt.signal.throwIfAborted();
      void child.exited.then(() => removeSocket(address, transport));
      return new ModuleRun(child, channel, apis);
    } catch (error) {
      const reason: unknown = attempt.signal.aborted ? attempt.signal.reason : error;
      channel?.close();
      await child.stop({ graceMs: FAILED_START_GRACE_MS });
      await removeSocket(address, transport);
      throw reason;
    } finally {
      timer.cancel();
      attempt.abort();
    }
  }

  /** Process id of the program. */
  get pid(): number {
    return this.child.mark.pid;
  }

  /** False once the program has ended. */
  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** Resolves when the program has ended, with everything that it started. */
  get exited(): Promise<ExitInfo> {
    return this.child.exited;
  }

  /** TERM to the program and what it started, KILL after the grace; resolves when all is gone. */
  async stop(graceMs: number): Promise<ExitInfo> {
    const exit = await this.child.stop({ graceMs });
    this.channel.close();
    return exit;
  }

  /** KILL to the program and what it started, at once. */
  kill(): void {
    void this.child.kill();
  }
}

function startProgram(
  options: ModuleRunOptions,
  address: string,
  admission: Admission["variables"],
): ChildProcess {
  const { module, root, transport, environment, tree, processes, clock, log } = options;
  const level = module.logLevel || (log.isEnabled("debug") ? "debug" : undefined);
  const output = new ModuleOutput(log, clock);
  const child = processes.start({
    program: module.executable,
    args: [
      address,
      ...(level ? [`--log-level=${level}`] : []),
      ...(transport === "tcp" ? ["--tcp-mode"] : []),
    ],
    cwd: root,
    env: environment(address, admission),
    tree,
    onLine: (stream, line) => output.onLine(stream, line),
    onRead: (bytes) => output.onRead(bytes),
  });
  void child.exited.then(() => output.end());
  return child;
}

function endedTooEarly(exit: ExitInfo): Error {
  return new Error(`it ${describeExit(exit)} before it was ready; see its output in the log`);
}

/**
 * Resolves when something listens there. A question asked before would only make the wait longer.
 * The signal is the limit.
 */
async function isListening(
  address: string,
  transport: ModuleTransport,
  clock: Clock,
  signal: AbortSignal,
): Promise<void> {
  await waitFor(async () => {
    if (transport === "unix") return (await Deno.lstat(address)).isSocket !== false;
    const port = Number(address.slice(address.lastIndexOf(":") + 1));
    (await Deno.connect({ hostname: "127.0.0.1", port })).close();
    return true;
  }, { deadlineMs: Infinity, everyMs: LOOK_EVERY_MS, clock, signal });
}

/** Asks the module to describe its services: of those that are known it may have more methods. */
async function learnServices(
  { transport }: ForwardChannel,
  apis: readonly ModuleApi[],
  { learned, log }: ModuleRunOptions,
  signal: AbortSignal,
): Promise<void> {
  for (const { api, serviceName } of apis) {
    const known = learned.serviceOf(api);
    try {
      learned.add(await learnService(transport, serviceName, { signal }), api);
    } catch (error) {
      signal.throwIfAborted();
      // Its methods are those that this server knows.
      if (known) continue;
      log.warn(
        `the module brings API ${api} and does not describe its service ${serviceName} by gRPC ` +
          "reflection; resources of that API cannot be used",
        { reason: reasonOf(error) },
      );
    }
  }
}

async function removeSocket(address: string, transport: ModuleTransport): Promise<void> {
  if (transport !== "unix") return;
  try {
    await Deno.remove(address);
  } catch {
    // Most modules remove it themselves, and the folder goes with the server.
  }
}
