/** Everything a machine does with its cloud. */
import { hostname } from "node:os";
import { join } from "node:path";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { CloudConnection } from "../../../shared/cloud/client/connection.ts";
import { checkMachineConfig } from "../../../shared/config/check.ts";
import { emptyMachineConfig, type MachineConfig } from "../../../shared/config/machine_config.ts";
import type { MachineCredentials } from "../../../shared/cloud/credentials/credentials_file.ts";
import { MachineService } from "../../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Database } from "../../../shared/base/store/sqlite.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { isEmpty } from "../../serving/access/cloud_access.ts";
import { KeyRefresher } from "../../serving/access/key_refresher.ts";
import { KeyStore } from "../../serving/access/key_store.ts";
import { CertificateRefresher } from "../../cloud/link/certificate_refresher.ts";
import { agentInfo } from "../../cloud/link/agent_info.ts";
import { type LogUpload, startLogUpload } from "../../cloud/link/log_upload.ts";
import { watchCloud } from "../../cloud/link/watch.ts";
import { type Candidate, candidateOf, refusing } from "../../config/source/candidate.ts";
import { CloudSource, READ_TIMEOUT_MS } from "../../config/source/cloud_source.ts";
import type { RevisionStore } from "../../config/source/revision_store.ts";
import type { ServerEnvironment } from "../options/environment.ts";
import { readSensors } from "../../cloud/reporting/live_readings.ts";
import { StatusReporter } from "../../cloud/reporting/status_reporter.ts";
import { pollNeedsRestart } from "../../cloud/restart/needs_restart.ts";
import type { LogSettings, MachineCore } from "./machine_core.ts";

/** Limit of the first request where a configuration is kept from before. Milliseconds. */
const QUICK_READ_TIMEOUT_MS = 1_000;
/** Certificate and key that the cloud issued, in the server's folder. */
const CERTIFICATE_FILE = "certificate.json";
/** How long the end of the server waits for the last log lines to arrive. Milliseconds. */
const LOG_FLUSH_MS = 3_000;

export interface CloudSideOptions {
  core: MachineCore;
  credentials: MachineCredentials;
  /** Closed at the end. */
  connection: CloudConnection;
  revisions: RevisionStore;
  db: Database;
  environment: ServerEnvironment;
  logSettings: LogSettings;
  clock: Clock;
  log: Logger;
  build: { readonly version: string; readonly commit: string };
  /** `cloud.refresh_interval` of the file. Milliseconds. */
  refreshMs: number | undefined;
  /** The cloud wants the server to end, to be started again. */
  onRestart: () => void;
}

export class CloudSide {
  readonly #connection: CloudConnection;
  readonly #source: CloudSource;
  readonly #keys: KeyRefresher;
  /** Undefined: a cloud without TLS issues none. */
  readonly #certificates: CertificateRefresher | undefined;
  readonly #reporter: StatusReporter;
  readonly #stop = new AbortController();
  readonly #logs: LogUpload;
  #loops: Promise<unknown> = Promise.resolve();

  /** @throws {StoreError} when the queue of log lines cannot be opened. */
  constructor(private readonly options: CloudSideOptions) {
    const { core, credentials, clock, log, environment } = options;
    const { partId } = credentials;
    this.#connection = options.connection;
    const robot = this.#connection.client(RobotService);
    const machine = this.#connection.client(MachineService);
    this.#logs = startLogUpload({
      path: join(environment.home, "logs.db"),
      client: robot,
      partId,
      host: hostname(),
      clock,
      log: log.child("networking"),
      addSink: (sink) => options.logSettings.addSink(sink),
    });
    this.#source = new CloudSource({
      client: robot,
      partId,
      agentInfo: () => agentInfo(options.build),
      clock,
      log: log.child("config"),
      offer: (candidate) => core.applier.offer(candidate),
      refuse: (reason) => core.applier.refuse(reason),
      ...(options.refreshMs !== undefined && { refreshMs: options.refreshMs }),
      ...(environment.configReadTimeoutMs !== undefined &&
        { readTimeoutMs: environment.configReadTimeoutMs }),
    });
    this.#keys = new KeyRefresher({
      client: machine,
      partId,
      store: new KeyStore(options.db, partId),
      clock,
      log: log.child("config"),
      onChange: (access) => core.setCloudAccess(access),
    });
    this.#reporter = new StatusReporter({
      client: machine,
      partId,
      status: () => ({
        status: core.status(),
        configError: core.state.configError,
      }),
      readings: () => readSensors(core.resources, clock),
      clock,
      log: log.child("networking"),
    });
    this.#certificates = isHttps(credentials.appAddress)
      ? new CertificateRefresher({
        client: robot,
        partId,
        path: join(environment.home, CERTIFICATE_FILE),
        clock,
        log: log.child("networking"),
      })
      : undefined;
    core.setCloudAccess(this.#keys.access);
    core.onStatusChange = () => this.#reporter.changed();
    core.cloudReached = () => this.#source.online;
  }

  /** Listens with what is known and offers the first configuration; never waits for long. */
  async start(): Promise<void> {
    const { core } = this.options;
    const kept = this.#keptCandidate();
    const hasKeys = !isEmpty(this.#keys.access);
    const timeoutMs = kept ? QUICK_READ_TIMEOUT_MS : this.#readTimeoutMs;
    const asked = this.#ask(timeoutMs);
    const keys = this.#keys.ask();
    core.certificate = await this.#certificates?.first(timeoutMs);
    if (kept) {
      await this.#listen(kept.config);
      this.#offerFirst(asked.then((candidate) => candidate ?? kept));
    } else {
      const candidate = await asked;
      if (!hasKeys && candidate) await keys;
      await this.#listen(candidate ? candidate.config : emptyMachineConfig());
      this.#offerFirst(Promise.resolve(candidate));
    }
    core.announce();
    this.#run();
  }

  /** Ends the talk with the cloud but for the log lines. */
  async stop(): Promise<void> {
    this.#stop.abort(new Error("the server ends"));
    await this.#loops;
  }

  /** Sends the last log lines and hangs up. */
  async close(): Promise<void> {
    await this.#logs.close(LOG_FLUSH_MS);
    this.#connection.close();
  }

  get #readTimeoutMs(): number {
    return this.options.environment.configReadTimeoutMs ?? READ_TIMEOUT_MS;
  }

  async #listen(config: MachineConfig): Promise<void> {
    this.options.core.setIdentity(config);
    await this.options.core.listen(config);
  }

  /** What the cloud has; undefined when it does not answer in time. */
  async #ask(timeoutMs: number): Promise<Candidate | undefined> {
    try {
      const candidate = await this.#source.fetch(timeoutMs);
      this.#source.reached();
      return candidate;
    } catch (error) {
      this.#source.failed(error);
    }
  }

  /**
   * Something must run before a configuration can be refused in favour of it: where the cloud's one
   * is wrong, the kept one goes first.
   */
  #offerFirst(first: Promise<Candidate | undefined>): void {
    const { core } = this.options;
    const offer = async () => {
      const candidate = await first;
      if (!candidate) return;
      const kept = this.#keptCandidate();
      if (kept && refusing(candidate.problems).length > 0) await core.applier.offer(kept);
      await core.applier.offer(candidate);
    };
    this.#guard("the first configuration", offer());
  }

  #keptCandidate(): Candidate | undefined {
    try {
      const kept = this.options.revisions.newest();
      if (!kept) return undefined;
      const candidate = candidateOf(checkMachineConfig(kept.config, { source: "cloud" }), "cache");
      return refusing(candidate.problems).length === 0 ? candidate : undefined;
    } catch (error) {
      this.options.log.warn(`the kept configuration cannot be used: ${toError(error).message}`);
    }
  }

  #run(): void {
    const { signal } = this.#stop;
    const { clock, log, credentials, environment, onRestart } = this.options;
    const { partId } = credentials;
    const robot = this.#connection.client(RobotService);
    const askRestart = () =>
      pollNeedsRestart({ client: robot, partId, clock, log, onRestart }, signal);
    this.#loops = Promise.all([
      this.#guard("asking for the configuration", this.#source.run(signal)),
      this.#guard("asking for the access keys", this.#keys.run(signal)),
      this.#guard("reporting the status", this.#reporter.run(signal)),
      this.#guard("the push channel", this.#watch(signal)),
      this.#guard("asking for a certificate", this.#renewCertificate(signal)),
      this.#guard("checking the network", this.#checkNetwork(signal)),
      environment.agentHandlesRestart || this.#guard("asking for a restart", askRestart()),
    ]);
  }

  async #checkNetwork(signal: AbortSignal): Promise<void> {
    const { clock, log, credentials, environment } = this.options;
    const { NetworkWatch } = await import("../../cloud/network_check/network_watch.ts");
    const { backgroundCheck } = await import("../../cloud/network_check/run.ts");
    const check = await backgroundCheck({
      appAddress: credentials.appAddress,
      setting: environment.networkCheck,
      clock,
    });
    await new NetworkWatch({ check, clock, log: log.child("network-checks") }).run(signal);
  }

  async #renewCertificate(signal: AbortSignal): Promise<void> {
    const { core, log } = this.options;
    await this.#certificates?.run(signal, async (issued) => {
      core.certificate = issued;
      await core.listenAgain().catch((error) =>
        log.error(`cannot serve with the new certificate: ${toError(error).message}`)
      );
    });
  }

  #watch(signal: AbortSignal): Promise<void> {
    const { clock, log, credentials, environment, onRestart } = this.options;
    return watchCloud({
      client: this.#connection.client(MachineService),
      partId: credentials.partId,
      clock,
      log: log.child("networking"),
      handlers: {
        connected: () => {
          this.#source.refresh();
          this.#keys.refresh();
          this.#reporter.changed();
        },
        // Also with the revision that runs: a new version of a module changes what it means.
        configChanged: () => this.#source.refresh(),
        accessChanged: () => this.#keys.refresh(),
        liveRequested: (ms) => this.#reporter.live(ms),
        restartRequested: () => {
          if (!environment.agentHandlesRestart) onRestart();
        },
      },
    }, signal);
  }

  /** A loop that ends with an error has a fault; the machine goes on without it. */
  async #guard(what: string, loop: Promise<unknown>): Promise<void> {
    try {
      await loop;
    } catch (error) {
      this.options.log.error(`${what} ended: ${toError(error).message}`, {
        stack: toError(error).stack,
      });
    }
  }
}

function isHttps(address: string): boolean {
  return address.startsWith("https:");
}
