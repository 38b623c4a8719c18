import { createAuthService } from "../../shared/cloud/auth/auth_service.ts";
import type { AttemptLimiter } from "../../shared/cloud/auth/attempt_limiter.ts";
import { TokenIssuer } from "../../shared/cloud/auth/token_issuer.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { PackageService } from "../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { MLInferenceService } from "../../shared/gen/viam/app/mlinference/v1/ml_inference_pb.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { ConfigurationService } from "../../shared/gen/machine/cloud/v1/configuration_pb.ts";
import { EnrollmentService } from "../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import { ConsoleService, MachineService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { RegistryService } from "../../shared/gen/machine/cloud/v1/registry_pb.ts";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { SignalingService } from "../../shared/gen/proto/rpc/webrtc/v1/signaling_pb.ts";
import type { Logger } from "../../shared/log/logger.ts";
import type { RtcPeers } from "../../shared/rtc/webrtc/peer.ts";
import type { Clock } from "../../shared/base/time/clock.ts";
import { isFromOwnPage, SessionCookie } from "../accounts/web_session/cookies.ts";
import type { SingleSignOnSettings } from "../accounts/single_sign_on/settings.ts";
import type { PasswordCost } from "../accounts/people/passwords.ts";
import { originOf } from "../accounts/sessions/person_calls.ts";
import { AuditedRouter } from "../accounts/audit/audited.ts";
import { ApiKeys } from "../accounts/access/api_keys.ts";
import type { AuthorityFiles } from "../accounts/certificates/authority.ts";
import { sharedAuthority } from "../accounts/certificates/shared_authority.ts";
import { MachineCertificates } from "../accounts/certificates/machine_certificates.ts";
import type { Caller } from "../accounts/access/caller.ts";
import { Callers } from "../accounts/access/callers.ts";
import { LOCAL_IDENTITY, LocalCallers } from "../accounts/access/local_callers.ts";
import { HttpCallers } from "../accounts/access/http_callers.ts";
import { MachineKeys } from "../accounts/access/machine_keys.ts";
import { ClearSecrets } from "../accounts/access/clear_secrets.ts";
import { SharedSecrets } from "../accounts/access/secrets.ts";
import { CredentialVerifiers } from "../accounts/access/verifiers.ts";
import type { DataFolder } from "../storage/data_folder/data_folder.ts";
import { withCallFailures } from "../storage/database/call_failures.ts";
import { ChangeFeed } from "../storage/database/change_feed.ts";
import type { Random } from "../storage/keys/random.ts";
import type { LogLimits } from "../fleet/logs/log_quota.ts";
import { LogIntake } from "../fleet/logs/log_intake.ts";
import type { LogStore } from "../fleet/logs/log_store.ts";
import { LogTail } from "../fleet/logs/log_tail.ts";
import { enrollmentService } from "../fleet/enrollment/enrollment_service.ts";
import { FragmentRollouts } from "../fleet/fragments/fragment_rollouts.ts";
import { configurationService } from "../fleet/history/configuration_service.ts";
import { ConfigWarnings } from "../fleet/machines/config_warnings.ts";
import { MachineConfigs } from "../fleet/machines/machine_configs.ts";
import { RecentDocuments } from "../fleet/configuration/recent_documents.ts";
import { partCredentials } from "../fleet/machines/part_credentials.ts";
import { Restarts } from "../fleet/machines/restarts.ts";
import { Revisions } from "../fleet/machines/revisions.ts";
import { robotService } from "../fleet/machines/robot_service.ts";
import { InferenceRunner } from "../inference/inference_runner.ts";
import { inferenceService } from "../inference/inference_service.ts";
import type { S3Settings } from "../storage/blobs/s3_settings.ts";
import { DownloadUrls } from "../registry/packages/download_urls.ts";
import { packageDownloads } from "../registry/packages/downloads.ts";
import { packageService } from "../registry/packages/package_service.ts";
import { PackageStore } from "../registry/packages/package_store.ts";
import { SteadyTime } from "../storage/steady_time/steady_time.ts";
import { Presence } from "../fleet/presence/presence.ts";
import { consoleService } from "../web/console_service.ts";
import type { MapTiles } from "../web/map_tiles.ts";
import { LiveStatus } from "../fleet/watch/live_status.ts";
import { machineService } from "../fleet/watch/machine_service.ts";
import { Watchers } from "../fleet/watch/watchers.ts";
import { ConfigPackages } from "../registry/items/config_packages.ts";
import { registryService } from "../registry/items/registry_service.ts";
import { DeviceCalls } from "../fleet/relay/device_calls.ts";
import { RelayBus } from "../fleet/relay/relay_bus.ts";
import type { IceServerSetting } from "../fleet/signaling/ice_servers.ts";
import { openSignaling } from "../fleet/signaling/signaling.ts";
import { type Accounts, openAccounts } from "./accounts.ts";
import { appMethods } from "./app_methods.ts";
import { mountRefused } from "./refused_services.ts";
import { openBlobStores } from "./blob_stores.ts";
import { LocalNodes, type Nodes } from "../nodes/nodes.ts";
import { openDataServices } from "./data_services.ts";
import { openReleaseServices } from "./release_services.ts";
import { type NotificationSettings, openNotifications } from "./notifications.ts";
import type { ExchangeRequest } from "../training/remote/exchange.ts";
import { Training } from "./training.ts";
import type { TrainingSettings } from "./training_settings.ts";

export interface ServicesOptions {
  readonly folder: DataFolder;
  readonly dataDir: string;
  /** Largest package that is taken, bytes. */
  readonly packageLimitBytes: number;
  /** Left out: large files are kept in the data folder. */
  readonly objectStorage?: S3Settings | undefined;
  /** Largest file of captured data that is taken, bytes; left out: 5 GiB. */
  readonly fileLimitBytes?: number | undefined;
  /** How long a query in SQL or MQL may take; left out: 10 s. */
  readonly queryLimitMs?: number | undefined;
  /** Left out: no mail, and webhooks to the internet only. */
  readonly notifications?: NotificationSettings | undefined;
  /** Files of a certificate authority; left out: one of the cloud's own. */
  readonly authority?: AuthorityFiles | undefined;
  /** Left out: one job at once, with what this host has. */
  readonly training?: TrainingSettings | undefined;
  /** What both sides of calls over WebRTC may use; left out: none. */
  readonly iceServers?: readonly IceServerSetting[] | undefined;
  /** Makes connections in the place of devices without WebRTC; left out: werift. */
  readonly peers?: RtcPeers | undefined;
  /** A part that keeps no stream open is offline after this time without a call; default 60 s. */
  readonly offlineAfterMs?: number | undefined;
  /** How much one part may log; left out: {@link LOG_LIMITS}. */
  readonly logLimits?: LogLimits | undefined;
  /** Left out: no single sign-on. */
  readonly singleSignOn?: SingleSignOnSettings | undefined;
  /** Of people's new passwords; left out: what is right for people. Tests have a lower one. */
  readonly passwordCost?: PasswordCost | undefined;
  /** Left out: the console's map has no tiles. */
  readonly mapTiles?: MapTiles | undefined;
  /** Days that the audit log is kept; 0: forever; left out: 400. */
  readonly auditDays?: number | undefined;
  /**
   * Who makes every call, in a process that works on the folder alone, next to the one that
   * serves it: that one sends notifications and trains. Left out: whoever the token of a call names.
   */
  readonly owner?: Caller | undefined;
  readonly logs: LogStore;
  /** Left out: this process serves alone. */
  readonly nodes?: Nodes | undefined;
  readonly clock: Clock;
  /** Left out: the time is what the clock shows. */
  readonly time?: SteadyTime | undefined;
  readonly random: Random;
  readonly log: Logger;
  readonly domain: string;
  /** Known when the cloud listens, which is before anybody calls. */
  readonly publicUrl: () => string;
  readonly limiter: AttemptLimiter;
}

/** The capabilities of the cloud, put together over one data folder. */
export type Services = Awaited<ReturnType<typeof createServices>>;

export async function createServices(options: ServicesOptions) {
  const { clock, random, log, domain, publicUrl, logs, limiter } = options;
  const time = options.time ?? new SteadyTime(clock);
  const { database, keys } = options.folder;
  const { queries } = database;

  const nodes = options.nodes ?? new LocalNodes(log.child("nodes"));
  const changes = new ChangeFeed(database, clock, log.child("changes"));
  const { owner } = options;
  const callers = owner
    ? new LocalCallers(queries, changes, time.strict, owner)
    : new Callers(queries, changes, time.strict);
  const secrets = new SharedSecrets(queries, keys.secrets);
  const apiKeys = new ApiKeys(queries, changes, clock, random);
  const machineKeys = new MachineKeys(queries, changes, keys.secrets, clock, random);
  const verifiers = new CredentialVerifiers(queries, secrets, domain, clock, random);
  const issuer = await TokenIssuer.create({
    privateKeyPkcs8Pem: keys.tokenKeyPem,
    issuer: "machine-cloud",
    audience: ["machine-cloud"],
  });
  const presence = new Presence(queries, clock, log.child("presence"), options.offlineAfterMs);
  const revisions = new Revisions(queries, changes, clock);
  const documents = new RecentDocuments();
  const warnings = new ConfigWarnings(queries, documents);
  const restarts = new Restarts(queries, changes, clock);
  const watchers = new Watchers(changes);
  const live = new LiveStatus(watchers, clock);
  const tail = new LogTail();
  const intake = new LogIntake(logs, tail, clock, options.logLimits);
  const openBlobs = await openBlobStores({
    dataDir: options.dataDir,
    objectStorage: options.objectStorage,
    queries,
    clock,
    random,
    log: log.child("files"),
  });
  const blobs = await openBlobs("blobs");
  const limitBytes = options.packageLimitBytes;
  const store = new PackageStore({ queries, changes, clock, random, blobs, limitBytes });
  const urls = new DownloadUrls(keys.secrets, clock, publicUrl);
  const packages = new ConfigPackages(queries, store);
  const certificates = new MachineCertificates({
    ...{ dataDir: options.dataDir, files: options.authority, domain, time },
    shared: sharedAuthority(database, keys.secrets),
  });
  const configs = new MachineConfigs({
    ...{ queries, documents, secrets, machineKeys, packages, domain, publicUrl },
  });

  const releases = await openReleaseServices({
    ...{ database, dataDir: options.dataDir, limitBytes, blobs: await openBlobs("releases") },
    ...{ callers, isLocal: owner !== undefined, presence, clock, random, publicUrl, log },
  });
  const { statuses, targets, versions } = releases;

  const notifications = openNotifications({
    ...options.notifications,
    isBeside: owner !== undefined,
    database,
    nodes,
    changes,
    callers,
    presence,
    secrets: keys.secrets,
    ...{ intake, logs, clock, cautious: time.cautious, strict: time.strict },
    ...{ random, log, publicUrl },
  });
  const data = openDataServices({
    queries,
    transact: (work) => database.sharedTransaction(work),
    dataDir: options.dataDir,
    files: await openBlobs("data-files"),
    archives: await openBlobs("data-exports"),
    ...{ callers, clock, cautious: time.cautious, random, secrets: keys.secrets, publicUrl },
    listener: notifications.listener,
    bus: nodes.bus,
    fileLimitBytes: options.fileLimitBytes,
    queryLimitMs: options.queryLimitMs,
    log: log.child("data"),
  });

  const training = new Training({
    settings: options.training ?? {},
    isBeside: owner !== undefined,
    nodes,
    mail: options.notifications ?? {},
    queries,
    dataDir: options.dataDir,
    callers,
    changes,
    files: data.files,
    blobs,
    packages: store,
    publicUrl,
    clock,
    cautious: time.cautious,
    random,
    log: log.child("training"),
  });

  const accounts: Accounts = openAccounts({
    ...{ queries, changes, callers, issuer, secrets: keys.secrets, limiter },
    ...{ sendMail: notifications.sendMail, auditDays: options.auditDays },
    ...{ singleSignOn: options.singleSignOn, passwordCost: options.passwordCost },
    ...{ clock, time, random, log: log.child("accounts"), publicUrl },
  });
  const fragmentRollouts = new FragmentRollouts({
    ...{ queries, changes, clock, log: log.child("fragments") },
    transact: (work) => database.quickTransaction(work),
  });
  const machines = {
    callers,
    queries,
    documents,
    secrets,
    revisions,
    restarts,
    presence,
    clock,
    domain,
    logs: intake,
  };
  const app = appMethods({
    ...{ machines, accounts, changes, fragmentRollouts, apiKeys, machineKeys },
    ...{ store, urls, logs, tail, random },
  });
  const deviceCalls = new DeviceCalls();
  const relayBus = new RelayBus(nodes, deviceCalls, log.child("relay"));
  const machine = machineService({
    ...{ callers, deviceCalls, relayBus, keys: apiKeys, secrets, queries, restarts },
    ...{ presence, watchers, live, certificates, clock },
  });
  const signaling = openSignaling({
    queries,
    callers,
    presence,
    domain,
    nodes,
    deviceCalls,
    relayBus,
    peers: options.peers,
    iceServers: options.iceServers,
    clock,
    random,
    log: log.child("signaling"),
  });
  const router = new AuditedRouter({ queries, clock })
    .service(
      AuthService,
      createAuthService({
        ...{ issuer, verifiers: verifiers.byType, limiter },
        onWrong: async ({ type, entity }, context) => {
          if (type === "api-key") await accounts.failures.addKey(entity, originOf(context));
        },
      }),
    )
    .service(AppService, withCallFailures(app))
    .service(
      PackageService,
      withCallFailures(packageService({ callers, store, urls, presence, clock })),
    )
    .service(
      RobotService,
      withCallFailures(robotService({
        callers,
        configs,
        clearSecrets: new ClearSecrets(queries),
        restarts,
        presence,
        intake,
        certificates,
        publicUrl,
      })),
    )
    .service(MachineService, withCallFailures(machine))
    .service(SignalingService, withCallFailures(signaling.service))
    .service(
      ConsoleService,
      withCallFailures(
        consoleService({
          ...{ callers, presence, live, statuses, targets, versions, publicUrl, warnings, clock },
          mapTiles: options.mapTiles,
        }),
      ),
    );

  accounts.mount(router);
  releases.mount(router);
  router.service(
    ConfigurationService,
    withCallFailures(configurationService({ callers, queries, revisions })),
  );
  router.service(
    EnrollmentService,
    withCallFailures(enrollmentService({
      ...{ callers, queries, secrets, limiter, clock, random, publicUrl },
      transact: (work) => database.sharedTransaction(work),
    })),
  );
  router.service(RegistryService, withCallFailures(registryService({ callers, queries, store })));
  data.mount(router);
  notifications.mount(router);
  training.mount(router);
  router.service(
    MLInferenceService,
    withCallFailures(inferenceService({
      ...{ callers, store, packages: blobs, files: data.files },
      runner: new InferenceRunner({ clock, log: log.child("inference") }),
    })),
  );
  mountRefused(router);

  /** Whose token it is, if the credentials behind it still count. */
  const verifyToken = async (token: string) => {
    if (owner) return LOCAL_IDENTITY;
    const identity = await issuer.verify(token);
    await callers.of(identity);
    return identity;
  };
  const cookie = new SessionCookie(publicUrl);
  const http = new HttpCallers({
    onWrongKey: (id, from) => accounts.failures.addKey(id, from),
    ...{ queries, callers, verifiers, verifyToken, limiter },
    cookieToken: (header) =>
      header("origin") === undefined || isFromOwnPage(header) ? cookie.token(header) : undefined,
  });
  return {
    router,
    accounts,
    nodes,
    /** Once everything is loaded: shares with other nodes what this one has in memory, and learns theirs. */
    share(): AsyncDisposable {
      const shared = [
        presence.share(nodes),
        restarts.share(nodes, log.child("restarts")),
        live.share(nodes, log.child("live")),
        releases.share(nodes),
      ];
      return {
        [Symbol.asyncDispose]: async () => {
          await Promise.all(shared.map((one) => one[Symbol.asyncDispose]()));
        },
      };
    },
    fragmentRollouts,
    changes,
    callers,
    certificates,
    presence,
    watchers,
    signaling,
    intake,
    store,
    releases: releases.store,
    /** For this process alone, which brings releases of a source. */
    sourceRouter: releases.mountSource(new AuditedRouter({ queries, clock })),
    statuses,
    dataUpkeep: data.upkeep,
    dataExports: data.exports,
    dataPipelines: data.pipelines,
    /** Ends the processes that run queries. */
    closeQueries: data.close,
    notifications,
    training,
    verifyToken,
    /** The token in the cookie of a browser, in calls of pages of this cloud only. */
    ambientToken(call: { header(name: string): string | undefined }): string | undefined {
      const header = (name: string) => call.header(name);
      return isFromOwnPage(header) ? cookie.token(header) : undefined;
    },
    accountRoutes: accounts.routes({ http, verifyToken, cookie }),
    logos: (hash: string) => accounts.logos.serve(hash),
    releaseFiles: releases.files,
    downloads: packageDownloads({ queries, http, urls, blobs, clock }),
    dataFiles: data.routes(http),
    trainingRuns: (request: ExchangeRequest) => training.exchange.answer(request, http),
    credentials: partCredentials({ queries, callers, verifiers, secrets, publicUrl }),
  };
}
