/** Everything a machine does with its cloud. */
import { hostname } from "node:os";
import { join } from "node:path";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { checkMachineConfig } from "../../../shared/config/check.ts";
import { emptyMachineConfig, type MachineConfig } from "../../../shared/config/machine_config.ts";
import { MachineService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import { runWorkers, type Worker } from "../../../shared/workers/run_workers.ts";
import { isEmpty } from "../../serving/access/cloud_access.ts";
import { KeyRefresher } from "../../serving/access/key_refresher.ts";
import { KeyStore } from "../../serving/access/key_store.ts";
import { CertificateRefresher } from "../../cloud/link/certificate_refresher.ts";
import { agentInfo } from "../../cloud/link/agent_info.ts";
import { type LogUpload, startLogUpload } from "../../cloud/link/log_upload.ts";
import { watchCloud } from "../../cloud/link/watch.ts";
import { type Candidate, candidateOf, refusing } from "../../config/source/candidate.ts";
import { CloudSource, READ_TIMEOUT_MS } from "../../config/source/cloud_source.ts";
import { readSensors } from "../../cloud/reporting/live_readings.ts";
import { StatusReporter } from "../../cloud/reporting/status_reporter.ts";
import { pollNeedsRestart } from "../../cloud/restart/needs_restart.ts";
import type { MachineCloud, MachineContext } from "./machine_context.ts";
import type { CloudLink, MachineCore } from "./machine_core.ts";

/** Limit of the first request where a configuration is kept from before. Milliseconds. */
const QUICK_READ_TIMEOUT_MS = 1_000;
/** Certificate and key that the cloud issued, in the server's folder. */
const CERTIFICATE_FILE = "certificate.json";
/** A problem of a device is reported to the cloud at most so long after it. Milliseconds. */
const LOOK_MS = 5_000;
/** How long the end of the server waits for the last log lines to arrive. Milliseconds. */
const LOG_FLUSH_MS = 3_000;

export interface CloudSideOptions {
  /** `cloud.refresh_interval` of the file. Milliseconds. */
  readonly refreshMs: number | undefined;
  /** The cloud wants the server to end, to be started again. */
  readonly onRestart: () => void;
}

/** What runs once there is a machine to run it for. */
interface Talk {
  readonly core: MachineCore;
  readonly source: CloudSource;
  readonly keys: KeyRefresher;
  readonly reporter: StatusReporter;
  /** Undefined: a cloud without TLS issues none. */
  readonly certificates: CertificateRefresher | undefined;
}

export class CloudSide implements CloudLink {
  readonly #context: MachineContext;
  readonly #cloud: MachineCloud;
  readonly #options: CloudSideOptions;
  readonly #stop = new AbortController();
  readonly #logs: LogUpload;
  #talk: Talk | undefined;
  #loops: Promise<unknown> = Promise.resolve();

  /**
   * @param cloud its connection is closed at the end.
   * @throws {StoreError} when the queue of log lines cannot be opened.
   */
  constructor(context: MachineContext, cloud: MachineCloud, options: CloudSideOptions) {
    this.#context = context;
    this.#cloud = cloud;
    this.#options = options;
    const { clock, log, environment, logSettings } = context;
    this.#logs = startLogUpload({
      path: join(environment.home, "logs.db"),
      client: cloud.connection.client(RobotService),
      partId: cloud.credentials.partId,
      host: hostname(),
      clock,
      log: log.child("networking"),
      addSink: (sink) => logSettings.addSink(sink),
    });
  }

  get online(): boolean {
    return this.#talk?.source.online ?? false;
  }

  statusChanged(): void {
    this.#talk?.reporter.changed();
  }

  /** Listens with what is known and offers the first configuration; never waits for long. */
  async start(core: MachineCore): Promise<void> {
    const talk = this.#talk = this.#talkFor(core);
    core.setCloudAccess(talk.keys.access);
    const kept = this.#keptCandidate();
    if (kept) await this.#startKept(talk, kept);
    else await this.#startNew(talk);
    const { clock, log } = this.#context;
    this.#loops = runWorkers(this.#workers(talk), { signal: this.#stop.signal, clock, log });
  }

  /** Serves before the cloud is queried: what speaks with it takes longer to load than all else. */
  async #startKept({ core, source, keys, certificates }: Talk, kept: Candidate): Promise<void> {
    core.port.certificate = await certificates?.first(QUICK_READ_TIMEOUT_MS);
    await listen(core, kept.config);
    core.port.announce();
    void keys.ask();
    const asked = fetchFirst(source, QUICK_READ_TIMEOUT_MS);
    this.#offerFirst(core, asked.then((candidate) => candidate ?? kept));
  }

  /** The cloud determines where to listen, and who may call. */
  async #startNew({ core, source, keys, certificates }: Talk): Promise<void> {
    const timeoutMs = this.#readTimeoutMs;
    const hasKeys = !isEmpty(keys.access);
    const asked = fetchFirst(source, timeoutMs);
    const asking = keys.ask();
    core.port.certificate = await certificates?.first(timeoutMs);
    const candidate = await asked;
    if (!hasKeys && candidate) await asking;
    await listen(core, candidate ? candidate.config : emptyMachineConfig());
    core.port.announce();
    this.#offerFirst(core, Promise.resolve(candidate));
  }

  /** Ends the talk with the cloud but for the log lines. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error("the server is shutting down"));
    await this.#loops;
  }

  /** Sends the last log lines and closes the connection. */
  async close(): Promise<void> {
    await this.#logs.close(LOG_FLUSH_MS);
    this.#cloud.connection.close();
  }

  get #readTimeoutMs(): number {
    return this.#context.environment.configReadTimeoutMs ?? READ_TIMEOUT_MS;
  }

  #talkFor(core: MachineCore): Talk {
    const { clock, log, environment, build, db } = this.#context;
    const { connection, credentials: { partId, appAddress } } = this.#cloud;
    const robot = connection.client(RobotService);
    const machine = connection.client(MachineService);
    const source = new CloudSource({
      client: robot,
      partId,
      agentInfo: () => agentInfo(build),
      clock,
      log: log.child("config"),
      offer: (candidate) => core.applier.offer(candidate),
      refuse: (reason) => core.applier.refuse(reason),
      ...(this.#options.refreshMs !== undefined && { refreshMs: this.#options.refreshMs }),
      ...(environment.configReadTimeoutMs !== undefined &&
        { readTimeoutMs: environment.configReadTimeoutMs }),
    });
    const keys = new KeyRefresher({
      client: machine,
      partId,
      store: new KeyStore(db, partId),
      clock,
      log: log.child("config"),
      onChange: (access) => core.setCloudAccess(access),
    });
    const reporter = new StatusReporter({
      client: machine,
      partId,
      status: () => ({ status: core.status(), configError: core.state.configError }),
      readings: () => readSensors(core.resources, clock),
      clock,
      log: log.child("networking"),
    });
    const certificates = appAddress.startsWith("https:")
      ? new CertificateRefresher({
        client: robot,
        partId,
        path: join(environment.home, CERTIFICATE_FILE),
        clock,
        log: log.child("networking"),
      })
      : undefined;
    return { core, source, keys, reporter, certificates };
  }

  /**
   * Something must run before a configuration can be refused in favour of it: where the cloud's one
   * is wrong, the kept one goes first.
   */
  #offerFirst(core: MachineCore, first: Promise<Candidate | undefined>): void {
    const offer = async () => {
      const candidate = await first;
      if (!candidate) return;
      const kept = this.#keptCandidate();
      if (kept && refusing(candidate.problems).length > 0) await core.applier.offer(kept);
      await core.applier.offer(candidate);
    };
    offer().catch((thrown) => {
      const { message, stack } = toError(thrown);
      this.#context.log.error(`the first configuration could not be offered: ${message}`, {
        event: "config_refused",
        stack,
      });
    });
  }

  #keptCandidate(): Candidate | undefined {
    try {
      const kept = this.#context.revisions.newest();
      if (!kept) return undefined;
      const candidate = candidateOf(checkMachineConfig(kept.config, { source: "cloud" }), "cache");
      return refusing(candidate.problems).length === 0 ? candidate : undefined;
    } catch (error) {
      this.#context.log.warn(`the kept configuration cannot be used: ${toError(error).message}`, {
        event: "state_damaged",
      });
    }
  }

  #workers(talk: Talk): Worker[] {
    const { clock, log, environment } = this.#context;
    const { connection, credentials: { partId } } = this.#cloud;
    const { onRestart } = this.#options;
    const client = connection.client(RobotService);
    const { certificates } = talk;
    return [
      { name: "configuration", run: (signal) => talk.source.run(signal) },
      { name: "access keys", run: (signal) => talk.keys.run(signal) },
      { name: "status", run: (signal) => talk.reporter.run(signal) },
      { name: "device problems", run: (signal) => this.#look(talk, signal) },
      { name: "push channel", run: (signal) => this.#watch(talk, signal) },
      ...(certificates
        ? [{ name: "certificate", run: certificateRun(certificates, talk.core, log) }]
        : []),
      { name: "network check", run: (signal) => this.#checkNetwork(signal) },
      ...(environment.agentHandlesRestart ? [] : [{
        name: "restart",
        run: (signal: AbortSignal) =>
          pollNeedsRestart({ client, partId, clock, log, onRestart }, signal),
      }]),
    ];
  }

  /** Devices that fail change no state of the graph; what they say of themselves is looked at. */
  #look({ core }: Talk, signal: AbortSignal): Promise<void | "done"> {
    const { clock } = this.#context;
    const turn = () => Promise.resolve(core.resources.look());
    return pollLoop(turn, { clock, intervalMs: LOOK_MS }, signal);
  }

  async #checkNetwork(signal: AbortSignal): Promise<void> {
    const { clock, log, environment } = this.#context;
    const { NetworkWatch } = await import("../../cloud/network_check/network_watch.ts");
    const { backgroundCheck } = await import("../../cloud/network_check/run.ts");
    const check = await backgroundCheck({
      appAddress: this.#cloud.credentials.appAddress,
      setting: environment.networkCheck,
      clock,
    });
    await new NetworkWatch({ check, clock, log: log.child("network-checks") }).run(signal);
  }

  #watch({ source, keys, reporter }: Talk, signal: AbortSignal): Promise<void | "done"> {
    const { clock, log, environment } = this.#context;
    const { connection, credentials: { partId } } = this.#cloud;
    return watchCloud({
      client: connection.client(MachineService),
      partId,
      clock,
      log: log.child("networking"),
      handlers: {
        connected: () => {
          source.refresh();
          keys.refresh();
          reporter.changed();
        },
        alive: (revision) => source.streamed(revision),
        unreliable: () => source.unstreamed(),
        // Also with the revision that runs: a new version of a module changes what it means.
        configChanged: () => source.refresh(),
        accessChanged: () => keys.refresh(),
        liveRequested: (ms) => reporter.live(ms),
        restartRequested: () => {
          if (!environment.agentHandlesRestart) this.#options.onRestart();
        },
      },
    }, signal);
  }
}

async function listen(core: MachineCore, config: MachineConfig): Promise<void> {
  core.setIdentity(config);
  await core.port.listen(config);
}

/** What the cloud has; undefined when it does not answer in time. */
async function fetchFirst(
  source: CloudSource,
  timeoutMs: number,
): Promise<Candidate | undefined> {
  try {
    const candidate = await source.fetch(timeoutMs);
    source.reached();
    return candidate;
  } catch (error) {
    source.failed(error);
  }
}

function certificateRun(
  certificates: CertificateRefresher,
  core: MachineCore,
  log: Logger,
): (signal: AbortSignal) => Promise<void> {
  return (signal) =>
    certificates.run(signal, async (issued) => {
      core.port.certificate = issued;
      await core.port.listenAgain().catch((error) =>
        log.error(`cannot serve with the new certificate: ${toError(error).message}`, {
          event: "certificate_failed",
        })
      );
    });
}
