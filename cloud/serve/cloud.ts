import { AttemptLimiter } from "../../shared/cloud/auth/attempt_limiter.ts";
import { requireAuthentication } from "../../shared/cloud/auth/require_auth.ts";
import { stackOf } from "../../shared/base/errors/to_error.ts";
import { buildInfo } from "../../shared/base/build_info/build_info.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { AddressList } from "../../shared/rpc/server/address_list.ts";
import { logRequests } from "../../shared/rpc/server/request_log.ts";
import { RpcServer } from "../../shared/rpc/server/server.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import { type ListenAddress, urlOf } from "../api/addresses/addresses.ts";
import { Checkpoints } from "../storage/checkpoints/checkpoints.ts";
import { type DataFolder, openDataFolder } from "../storage/data_folder/data_folder.ts";
import { lockDatabase, lockForServing } from "../storage/data_folder/serve_lock.ts";
import { toCallFailure } from "../storage/database/call_failures.ts";
import { SqliteDatabase } from "../storage/database/cloud_database.ts";
import { writeSetting } from "../storage/database/settings.ts";
import { SteadyTime } from "../storage/steady_time/steady_time.ts";
import { needsNoToken } from "../accounts/sign_in/open_calls.ts";
import { createRoutes } from "../api/http/routes.ts";
import { loadStaticFiles } from "../api/http/static_files.ts";
import type { Random } from "../storage/keys/random.ts";
import { takeOverEarlierLogs } from "../fleet/logs/earlier_logs.ts";
import { keepLogsForRetention } from "../fleet/logs/log_retention.ts";
import type { LogStore } from "../fleet/logs/log_store.ts";
import { openLogStore } from "../fleet/logs/open_log_store.ts";
import { SharedClock } from "../nodes/shared_clock.ts";
import { joinNodes } from "../nodes/join_nodes.ts";
import type { Nodes } from "../nodes/nodes.ts";
import type { ReleaseSourceSettings } from "../releases/source/release_source.ts";
import { tileOrigin } from "../web/map_tiles.ts";
import type { CloudSettings } from "./cloud_settings.ts";
import { requireShared } from "./cluster.ts";
import { Operations, type OperationSettings } from "./operations.ts";
import { runReleaseSource } from "./release_source.ts";
import { createServices, type Services } from "./services.ts";
import { Tls, type TlsSetting } from "./tls.ts";

export interface CloudOptions extends CloudSettings {
  /** Address of PostgreSQL; left out: as the data folder or the environment say. */
  readonly database?: string | undefined;
  /** One of several nodes that serve the database together; left out: the only one. */
  readonly cluster?: boolean | undefined;
  readonly listen: ListenAddress;
  /** Where the cloud is reached; left out: where it listens. */
  readonly publicUrl?: string | undefined;
  /** Certificate and key of the port; left out: no TLS. */
  readonly tls?: TlsSetting | undefined;
  /** Left out: no metrics, no access log. */
  readonly operations?: OperationSettings | undefined;
  /** Load balancers that say with a PROXY header who calls. */
  readonly balancers?: AddressList | undefined;
  /** Name of this host, for the URL of a cloud that listens everywhere. */
  readonly hostname: string;
  /** Whose releases are brought to this cloud; left out: nobody's. */
  readonly releaseSource?: ReleaseSourceSettings | undefined;
}

/** What a cloud needs from outside. */
export interface CloudDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** A running machine-cloud. */
export interface Cloud {
  /** Where it is reached. */
  readonly url: string;
  /** Where it listens. */
  readonly address: ListenAddress;
  /** Resolves when another process has begun to serve the same database; this one must end then. */
  readonly lost: Promise<void>;
  /**
   * Where other nodes serve, too, sends clients to them within `drainMs`; `/readyz` says so at once.
   * Then it ends streams, lets running calls finish for `graceMs`, writes what is pending and closes.
   */
  close(options: { graceMs: number; drainMs?: number }): Promise<void>;
}

/**
 * Opens the data folder and serves.
 *
 * @throws {DataFolderInUseError}, {FileError}, {StoreError}, {KeyFileError} or {PortInUseError},
 * each with one line for the operator; nothing is left open then.
 */
export async function startCloud(options: CloudOptions, deps: CloudDeps): Promise<Cloud> {
  await using opened = new AsyncDisposableStack();
  const clock = new SharedClock(deps.clock, deps.log.child("time"));
  opened.use(await lockForServing(options.dataDir));
  const folder = await openDataFolder(options.dataDir, deps.random, options.database);
  opened.defer(() => folder.database.close());
  await requireShared(options, folder);
  const lock = opened.use(
    await lockDatabase(folder.database, { shared: options.cluster ?? false }),
  );
  const logs = openLogStore(folder.database, options.dataDir, clock);
  opened.defer(() => logs.close());
  const nodes = await joinNodes(folder.database, {
    host: options.hostname,
    address: `${options.listen.hostname}:${options.listen.port}`,
    version: buildInfo.version,
  }, { clock: deps.clock, time: clock, log: deps.log.child("nodes") });
  opened.defer(() => nodes.close());
  const { url, address, close } = await serve(options, { ...deps, clock }, folder, {
    logs,
    nodes,
  });
  const stillOpen = opened.move();
  const { lost } = lock;
  return {
    url,
    address,
    lost,
    close: (options) => close(options).finally(() => stillOpen.disposeAsync()),
  };
}

/** Serves from what is open and leaves that open. */
async function serve(
  options: CloudOptions,
  deps: CloudDeps,
  folder: DataFolder,
  { logs, nodes }: { readonly logs: LogStore; readonly nodes: Nodes },
): Promise<Omit<Cloud, "lost">> {
  const { clock, random, log } = deps;
  const { queries } = folder.database;
  const limiter = new AttemptLimiter(
    () => clock.monotonicMs(),
    {},
    folder.keys.secrets.attemptsKey(),
  );
  const publicUrl = (): string => url;
  let url = options.publicUrl ?? "";
  const time = new SteadyTime(clock);
  await time.load(queries, log.child("time"));
  const services = await createServices({
    ...options,
    ...{ folder, logs, nodes, clock, time, random, log, publicUrl, limiter },
  });
  await services.presence.load();
  await services.statuses.load();
  const shared = services.share();
  await services.notifications.load();
  await services.changes.start();
  const tls = await Tls.open(options.tls, {
    dataDir: options.dataDir,
    folder,
    leadership: nodes.leadership,
    clock,
    log: log.child("tls"),
  });
  const operations = await Operations.open({
    ...options.operations,
    queries,
    dataDir: options.dataDir,
    services,
    publicUrl,
    certificateEnd: () => tls?.notAfter,
    clock,
    log: log.child("operations"),
  });
  const server = await startServer(options, deps, services, { limiter, operations, tls }).catch(
    async (error) => {
      await operations.close();
      await tls?.close();
      await services.changes.close();
      await shared[Symbol.asyncDispose]();
      throw error;
    },
  );
  const address = server.address;
  url ||= urlOf(
    { hostname: options.listen.hostname, port: address.port },
    options.tls !== undefined,
    options.hostname,
  );
  await writeSetting(queries, "public_url", url);
  await writeSetting(queries, "domain", options.domain);

  const { database } = folder;
  const checkpoints = database instanceof SqliteDatabase
    ? new Checkpoints({ database, dataDir: options.dataDir, clock, log: log.child("database") })
    : undefined;
  const stopping = new AbortController();
  const lead = (work: (signal: AbortSignal) => Promise<unknown>) =>
    nodes.leadership.run(work, stopping.signal);
  const sweeping = (signal: AbortSignal, name: string) => (
    { clock: time.cautious, signal, log: log.child(name) }
  );
  const { releaseSource } = options;
  const background = [
    operations.run(stopping.signal),
    tls?.run((pair) => server.setCertificate(pair), stopping.signal),
    services.presence.run(stopping.signal),
    services.accounts.run(stopping.signal),
    lead((signal) => services.accounts.sweep(signal)),
    lead((signal) => services.fragmentRollouts.run(signal)),
    services.statuses.run(stopping.signal),
    services.notifications.run(stopping.signal),
    lead((signal) => services.notifications.lead(signal)),
    lead((signal) => services.training.lead(signal)),
    lead((signal) => services.releases.keepSwept(sweeping(signal, "releases"))),
    releaseSource && lead((signal) =>
      runReleaseSource(releaseSource, {
        ...{ router: services.sourceRouter, queries, clock, log: log.child("releases") },
      }, signal)
    ),
    checkpoints?.run(stopping.signal),
    lead((signal) => services.dataUpkeep.run(log.child("data"), signal)),
    lead((signal) => services.dataExports.run(signal)),
    lead((signal) => services.dataPipelines.run(signal)),
    lead((signal) => services.store.keepSwept(sweeping(signal, "packages"))),
    services.intake.run(log.child("logs"), stopping.signal),
    takeOverEarlierLogs(logs, options.dataDir, time, log.child("logs"), stopping.signal),
    lead((signal) => keepLogsForRetention(logs, time, log.child("logs"), signal)),
    time.run(queries, log.child("time"), stopping.signal),
  ];
  const close = async ({ graceMs, drainMs = 0 }: { graceMs: number; drainMs?: number }) => {
    operations.readiness.stop();
    if (nodes.members().length > 1) {
      // Until load balancers have seen it; callers that come meanwhile are answered.
      await clock.sleep(drainMs / 2);
      await server.leave({ withinMs: drainMs / 2 });
    }
    // Before the port is closed: a script whose calls fail would count as failed itself.
    await services.training.close();
    services.watchers.close();
    await services.signaling.close();
    await server.close({ graceMs });
    stopping.abort();
    await services.closeQueries();
    await Promise.all(background);
    await operations.close();
    await tls?.close();
    await services.notifications.close();
    await services.changes.close();
    await shared[Symbol.asyncDispose]();
    services.callers.close();
  };
  return { url, address, close };
}

async function startServer(
  options: CloudOptions,
  { log }: CloudDeps,
  services: Services,
  { limiter, operations, tls }: {
    readonly limiter: AttemptLimiter;
    readonly operations: Operations;
    readonly tls: Tls | undefined;
  },
): Promise<RpcServer> {
  const http = createRoutes({
    operations: operations.routes,
    // The console, and the scripts by which machines are set up.
    files: new Map([
      ...await loadStaticFiles(buildInfo.assetsDir("../../.tools/console", import.meta.url)),
      ...await loadStaticFiles(buildInfo.assetsDir("../../install", import.meta.url)),
    ]),
    credentials: services.credentials,
    downloads: services.downloads,
    data: services.dataFiles,
    trainingRuns: services.trainingRuns,
    releases: services.releaseFiles,
    account: services.accountRoutes,
    logos: services.logos,
    imageOrigin: options.mapTiles && tileOrigin(options.mapTiles.urlTemplate),
    authority: () => services.certificates.rootPem(),
    limiter,
    callFailure: toCallFailure,
    log: log.child("http"),
  });
  return await RpcServer.start({
    router: services.router,
    listen: options.listen,
    tls: tls?.pair,
    balancers: options.balancers,
    interceptors: [
      ...operations.interceptors,
      logRequests(log.child("calls")),
      requireAuthentication({
        verify: services.verifyToken,
        exempt: needsNoToken,
        ambientToken: services.ambientToken,
      }),
    ],
    http: operations.accessLog?.around(http) ?? http,
    report: (error, path, id) =>
      log.error("a call failed unexpectedly", {
        event: "call_failed",
        id,
        path,
        error: stackOf(error),
      }),
    onRefused: (address, reason) =>
      log.warn("refused a connection", { event: "connection_refused", address, reason }),
  });
}
