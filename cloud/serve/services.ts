import { MLInferenceService } from "../../shared/gen/viam/app/mlinference/v1/ml_inference_pb.ts";
import { ConsoleService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { AuditedRouter } from "../accounts/audit/audited.ts";
import { sharedAuthority } from "../accounts/certificates/shared_authority.ts";
import { MachineCertificates } from "../accounts/certificates/machine_certificates.ts";
import { ArchivedReadings } from "../data/archive/archived_readings.ts";
import { withCallFailures } from "../storage/database/call_failures.ts";
import { ChangeFeed } from "../storage/database/change_feed.ts";
import { partCredentials } from "../fleet/machines/part_credentials.ts";
import { InferenceRunner } from "../inference/inference_runner.ts";
import { inferenceService } from "../inference/inference_service.ts";
import { shareAttempts } from "../nodes/shared_attempts.ts";
import { ALWAYS_LEADER } from "../nodes/leadership.ts";
import { LocalNodes } from "../nodes/nodes.ts";
import { SteadyTime } from "../storage/steady_time/steady_time.ts";
import type { ExchangeRequest } from "../training/remote/exchange.ts";
import { consoleService } from "../web/console_service.ts";
import { type Accounts, openAccounts } from "./accounts.ts";
import { appMethods } from "./app_methods.ts";
import { openBlobStores } from "./blob_stores.ts";
import { openCallerServices } from "./caller_services.ts";
import { openDataServices } from "./data_services.ts";
import { openFleetServices } from "./fleet_services.ts";
import { openNotifications } from "./notifications.ts";
import { openPackageServices } from "./package_services.ts";
import { mountRefused } from "./refused_services.ts";
import { openReleaseServices } from "./release_services.ts";
import type { ServicesOptions } from "./services_options.ts";
import { Training } from "./training.ts";

/** The capabilities of the cloud, put together over one data folder. */
export type Services = Awaited<ReturnType<typeof createServices>>;

export async function createServices(options: ServicesOptions) {
  const { clock, random, log, domain, publicUrl, logs, limiter, owner, folder, dataDir } = options;
  const time = options.time ?? new SteadyTime(clock);
  const { database, keys } = folder;
  const { queries } = database;

  const nodes = options.nodes ?? new LocalNodes(log.child("nodes"));
  const changes = new ChangeFeed(database, clock, log.child("changes"));
  const signIn = await openCallerServices({
    ...{ folder, changes, owner, domain, limiter, clock, time, random, publicUrl },
    keyCost: options.keyCost,
  });
  const { callers, secrets, apiKeys, machineKeys, verifiers, issuer, verifyToken } = signIn;
  const blobs = await openBlobStores({
    ...{ dataDir, objectStorage: options.objectStorage, queries, clock, random },
    log: log.child("files"),
  });
  const limitBytes = options.packageLimitBytes;
  const packages = openPackageServices({
    ...{ queries, changes, callers, secrets: keys.secrets, blobs: await blobs.open("blobs") },
    ...{ limitBytes, clock, random, publicUrl },
  });
  const certificates = new MachineCertificates({
    ...{ dataDir, files: options.authority, domain, time },
    shared: sharedAuthority(database, keys.secrets),
    log: log.child("certificates"),
  });
  const fleet = openFleetServices({
    ...{ ...options, changes, nodes, certificates },
    ...{ callers: signIn, packages: packages.inConfigs },
  });
  const { presence, live, intake, changed } = fleet;

  const releases = await openReleaseServices({
    ...{ database, dataDir, limitBytes, blobs: await blobs.open("releases") },
    ...{ callers, isLocal: owner !== undefined, presence, clock, random, publicUrl, log },
  });
  const { statuses, targets, versions } = releases;

  const files = await blobs.open("data-files");
  const archived = await blobs.open("data-archive");
  const archive = new ArchivedReadings(queries, archived);
  const notifications = openNotifications({
    ...options.notifications,
    isServedElsewhere: owner !== undefined,
    ...{ database, archive, nodes, changes, callers, presence, secrets: keys.secrets },
    documents: fleet.machines.documents,
    ...{ intake, logs, clock, cautious: time.cautious, strict: time.strict },
    ...{ random, log, publicUrl },
  });
  const data = openDataServices({
    ...{ queries, dataDir, transact: (work) => database.sharedTransaction(work) },
    ...{ statements: database.direct(), reader: database.reader },
    ...{ files, archive, archived, objectStorage: options.objectStorage },
    archives: await blobs.open("data-exports"),
    ...{ callers, clock, cautious: time.cautious, random, secrets: keys.secrets, publicUrl },
    ...{ listener: notifications.listener, bus: nodes.bus },
    ...{ fileLimitBytes: options.fileLimitBytes, queryLimitMs: options.queryLimitMs },
    log: log.child("data"),
  });
  const training = new Training({
    settings: options.training ?? {},
    isServedElsewhere: owner !== undefined,
    ...{ nodes, mail: options.notifications ?? {}, queries, dataDir, callers, changes },
    ...{ files: data.files, blobs: packages.blobs, packages: packages.store, publicUrl },
    shared: nodes.leadership === ALWAYS_LEADER ? undefined : blobs.runs,
    ...{ clock, cautious: time.cautious, random, log: log.child("training") },
  });
  const accounts: Accounts = openAccounts({
    ...{ queries, changes, callers, issuer, secrets: keys.secrets, limiter },
    ...{ sendMail: notifications.sendMail, auditDays: options.auditDays },
    ...{ singleSignOn: options.singleSignOn, passwordCost: options.passwordCost },
    ...{ clock, time, random, log: log.child("accounts"), publicUrl },
  });

  const { store, urls } = packages;
  const { machines, tail, rollouts: fragmentRollouts, warnings } = fleet;
  const router = new AuditedRouter({ queries, clock })
    .service(
      AppService,
      withCallFailures(appMethods({
        ...{ machines, accounts, changes, fragmentRollouts, apiKeys, machineKeys },
        ...{ store, urls, logs, tail, random },
      })),
    )
    .service(
      ConsoleService,
      withCallFailures(consoleService({
        ...{ callers, presence, live, statuses, targets, versions, publicUrl, warnings, clock },
        ...{ changed },
        mapTiles: options.mapTiles,
      })),
    )
    .service(
      MLInferenceService,
      withCallFailures(inferenceService({
        ...{ callers, store, packages: packages.blobs, files: data.files },
        runner: new InferenceRunner({ clock, log: log.child("inference") }),
      })),
    );
  signIn.mount(router, accounts.failures);
  fleet.mount(router);
  packages.mount(router, presence);
  accounts.mount(router);
  releases.mount(router);
  data.mount(router);
  notifications.mount(router);
  training.mount(router);
  mountRefused(router);

  const http = signIn.http(accounts.failures);
  return {
    router,
    accounts,
    nodes,
    /** Once everything is loaded: shares with other nodes what this one has in memory, and learns theirs. */
    share(): AsyncDisposable {
      const limiters = { secrets: limiter, codes: accounts.codeLimiter };
      const attempts = shareAttempts(nodes, limiters, { clock, log: log.child("attempts") });
      const shared = [...fleet.share(), releases.share(nodes), attempts];
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
    watchers: fleet.watchers,
    signaling: fleet.signaling,
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
    ambientToken: signIn.ambientToken,
    accountRoutes: accounts.routes({ http, verifyToken, cookie: signIn.cookie }),
    logos: (hash: string) => accounts.logos.serve(hash),
    releaseFiles: releases.files,
    downloads: packages.downloads(http),
    dataFiles: data.routes(http),
    trainingRuns: (request: ExchangeRequest) => training.exchange.answer(request, http),
    credentials: partCredentials({ queries, callers, verifiers, secrets, publicUrl }),
  };
}
