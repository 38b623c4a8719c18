import type { DescService } from "@bufbuild/protobuf";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { join } from "node:path";
import { AttemptLimiter } from "../../shared/cloud/auth/attempt_limiter.ts";
import { requireAuthentication } from "../../shared/cloud/auth/require_auth.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { type MemoryLogger, memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { createInProcessTransport } from "../../shared/rpc/server/in_process.ts";
import type { RtcPeers } from "../../shared/rtc/webrtc/peer.ts";
import { type Clock, systemClock } from "../../shared/base/time/clock.ts";
import { needsNoToken } from "../accounts/sign_in/open_calls.ts";
import { bootstrap, type BootstrapResult } from "../local/bootstrap/bootstrap.ts";
import { type DataFolder, openDataFolder } from "../storage/data_folder/data_folder.ts";
import { SharedClock } from "../nodes/shared_clock.ts";
import { joinNodes } from "../nodes/join_nodes.ts";
import { placeEmptyDatabase } from "../storage/data_folder/empty_database_testing.ts";
import { systemRandom } from "../storage/keys/random.ts";
import type { SteadyTime } from "../storage/steady_time/steady_time.ts";
import type { SingleSignOnSettings } from "../accounts/single_sign_on/settings.ts";
import type { LogLimits } from "../fleet/logs/log_quota.ts";
import type { LogStore } from "../fleet/logs/log_store.ts";
import { openLogStore } from "../fleet/logs/open_log_store.ts";
import { readConfig } from "../fleet/configuration/config_check.ts";
import type { S3Settings } from "../storage/blobs/s3_settings.ts";
import type { NotificationSettings } from "./notifications.ts";
import type { IceServerSetting } from "../fleet/signaling/ice_servers.ts";
import { createServices, type Services } from "./services.ts";
import type { TrainingSettings } from "./training_settings.ts";

export interface Credentials {
  readonly type: string;
  readonly entity: string;
  readonly payload: string;
}

/** Of passwords and keys: what many tests do again and again takes no time. */
const LOW_COST = { ln: 4, r: 8, p: 1 };

const TEST_NODE = { host: "host", address: "127.0.0.1:1", version: "test" };

/** Left out: `Acme`, `Lab`, `demo`, and no configuration. */
export interface TestNames {
  readonly organization?: string;
  readonly location?: string;
  readonly machine?: string;
  readonly config?: object;
}

/** The services over real SQLite files in a folder of their own, without a socket. For tests. */
export class TestCloud implements AsyncDisposable {
  readonly log: MemoryLogger = memoryLogger("machine-cloud");
  readonly #transport: Transport;
  readonly #tokens = new Map<string, Promise<string>>();

  private constructor(
    readonly dataDir: string,
    readonly folder: DataFolder,
    readonly logs: LogStore,
    readonly services: Services,
    readonly clock: Clock,
    private readonly shared: AsyncDisposable,
    private readonly address: string | undefined,
  ) {
    this.#transport = createInProcessTransport(services.router, {
      interceptors: [requireAuthentication({ verify: services.verifyToken, exempt: needsNoToken })],
    });
  }

  static async open(
    options: {
      clock?: Clock;
      /** Left out: the time is what the clock shows. */
      time?: SteadyTime;
      packageLimitBytes?: number;
      fileLimitBytes?: number;
      queryLimitMs?: number;
      objectStorage?: S3Settings;
      notifications?: NotificationSettings;
      training?: TrainingSettings;
      iceServers?: readonly IceServerSetting[];
      logLimits?: LogLimits;
      singleSignOn?: SingleSignOnSettings;
      /** Address of PostgreSQL, whose nodes it joins; left out: as the environment says, alone. */
      database?: string;
      /** Another node of the same cloud. */
      nodeOf?: TestCloud;
      peers?: RtcPeers;
    } = {},
  ): Promise<TestCloud> {
    const { clock: hostClock = systemClock, packageLimitBytes = 1_000_000 } = options;
    const clock = new SharedClock(hostClock, memoryLogger("time"));
    const { fileLimitBytes = 10_000_000, queryLimitMs = 90_000 } = options;
    const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-test-" });
    if (options.nodeOf) {
      await Deno.copyFile(options.nodeOf.path("cloud.key"), join(dataDir, "cloud.key"));
    }
    if (options.database === undefined) await placeEmptyDatabase(dataDir);
    const folder = await openDataFolder(dataDir, systemRandom, options.database);
    const nodes = options.database === undefined
      ? undefined
      : await joinNodes(folder.database, TEST_NODE, {
        clock: hostClock,
        time: clock,
        log: memoryLogger("nodes"),
      });
    const logs = openLogStore(folder.database, dataDir, clock);
    const services = await createServices({
      folder,
      dataDir,
      packageLimitBytes,
      fileLimitBytes,
      objectStorage: options.objectStorage,
      queryLimitMs,
      notifications: options.notifications,
      training: options.training,
      iceServers: options.iceServers,
      logLimits: options.logLimits,
      singleSignOn: options.singleSignOn,
      peers: options.peers,
      passwordCost: LOW_COST,
      keyCost: LOW_COST,
      logs,
      nodes,
      clock,
      time: options.time,
      random: systemRandom,
      log: memoryLogger("machine-cloud"),
      domain: "machine.internal",
      publicUrl: () => "http://127.0.0.1:8080",
      limiter: new AttemptLimiter(undefined, {}, folder.keys.secrets.attemptsKey()),
    });
    await services.changes.start();
    const shared = services.share();
    return new TestCloud(dataDir, folder, logs, services, clock, shared, options.database);
  }

  /** Makes a machine, or saves its configuration, and lets the services know. */
  async bootstrap(names: TestNames = {}): Promise<BootstrapResult> {
    const made = await this.bootstrapElsewhere(names);
    await this.services.changes.drain();
    return made;
  }

  /** The same as another process does it: over a second connection to the same files. */
  async bootstrapElsewhere(names: TestNames = {}): Promise<BootstrapResult> {
    const other = await openDataFolder(this.dataDir, systemRandom, this.address);
    try {
      return await bootstrap(
        other,
        { clock: this.clock, random: systemRandom, keyCost: LOW_COST },
        {
          organization: names.organization ?? "Acme",
          location: names.location ?? "Lab",
          machine: names.machine ?? "demo",
          config: names.config && readConfig(JSON.stringify(names.config)),
        },
      );
    } finally {
      await other.database.close();
    }
  }

  /** A client that authenticates with credentials, or none when they are left out. */
  client<S extends DescService>(service: S, credentials?: Credentials): Client<S> {
    return createClient(service, this.transport(credentials));
  }

  app(made: BootstrapResult): Client<typeof AppService> {
    return this.client(AppService, apiKey(made));
  }

  transport(credentials?: Credentials): Transport {
    const transport = this.#transport;
    if (!credentials) return transport;
    const withToken = async (header?: HeadersInit): Promise<Headers> => {
      const headers = new Headers(header);
      headers.set("authorization", `Bearer ${await this.token(credentials)}`);
      return headers;
    };
    return {
      unary: async (method, signal, timeout, header, input, values) =>
        transport.unary(method, signal, timeout, await withToken(header), input, values),
      stream: async (method, signal, timeout, header, input, values) =>
        transport.stream(method, signal, timeout, await withToken(header), input, values),
    };
  }

  token({ type, entity, payload }: Credentials): Promise<string> {
    const key = `${type} ${entity} ${payload}`;
    const known = this.#tokens.get(key);
    if (known) return known;
    const token = createClient(AuthService, this.transport())
      .authenticate({ entity, credentials: { type, payload } })
      .then(({ accessToken }) => accessToken);
    this.#tokens.set(key, token);
    return token;
  }

  /** Clients authenticate again at their next call, as programs do that start again. */
  forgetTokens(): void {
    this.#tokens.clear();
  }

  path(name: string): string {
    return join(this.dataDir, name);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.services.watchers.close();
    await this.services.signaling.close();
    await this.services.closeQueries();
    await this.services.training.close();
    await this.services.notifications.close();
    await this.services.changes.close();
    this.services.callers.close();
    await this.shared[Symbol.asyncDispose]();
    await this.services.nodes.close();
    this.logs.close();
    await this.folder.database.close();
    await Deno.remove(this.dataDir, { recursive: true });
  }
}

export function apiKey(made: BootstrapResult): Credentials {
  return { type: "api-key", entity: made.api_key_id, payload: made.api_key };
}

export function partSecret(made: BootstrapResult): Credentials {
  return { type: "robot-secret", entity: made.part_id, payload: made.part_secret };
}

/** The code and message with which a call fails. */
export async function failure(call: Promise<unknown>): Promise<{ code: number; message: string }> {
  try {
    await call;
  } catch (error) {
    const { code, rawMessage } = error as { code: number; rawMessage: string };
    return { code, message: rawMessage };
  }
  throw new Error("the call did not fail");
}
