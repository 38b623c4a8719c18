import { Code, ConnectError } from "@connectrpc/connect";
import { UsageError } from "../../../shared/base/flags/flags.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { AttemptLimiter } from "../../../shared/cloud/auth/attempt_limiter.ts";
import type { OpenCloud } from "../../../shared/commands/run/run_command.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import type { Call } from "../../../shared/rpc/server/interceptor.ts";
import type { Peer } from "../../../shared/rpc/server/peer.ts";
import { DEFAULT_ADDRESS, DEFAULT_DOMAIN } from "../../api/addresses/defaults.ts";
import { openLogStore } from "../../fleet/logs/open_log_store.ts";
import { createServices, type Services } from "../../serve/services.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { readSetting } from "../../storage/database/settings.ts";
import type { Random } from "../../storage/keys/random.ts";
import { folderOwner } from "../owner/folder_owner.ts";

/** What opening a data folder needs from outside. */
export interface LocalCloudDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** What a command line says of a data folder. */
export interface LocalCloudOptions {
  /** Id, name or namespace; left out: all organisations of the folder. */
  readonly organization?: string | undefined;
  /** Largest file of a module, script or release that is taken, bytes. */
  readonly packageLimitBytes: number;
}

const THIS_PROCESS: Peer = { address: "", port: 0, transport: "in-process", local: true };
/** What only a process can do that continues: it trains, and it packs archives. */
const NEEDS_SERVE = new Set([
  "/viam.app.mltraining.v1.MLTrainingService/SubmitTrainingJob",
  "/viam.app.mltraining.v1.MLTrainingService/SubmitCustomTrainingJob",
  "/viam.app.mltraining.v1.MLTrainingService/CancelTrainingJob",
  "/viam.app.mltraining.v1.MLTrainingService/ListSupportedContainers",
  "/viam.app.dataset.v1.DatasetService/StartSequenceDatasetExport",
]);

/**
 * The API of a cloud over its data folder, in this process and without signing in, also next to a
 * process that serves the folder: that one sees within a second what changed, and sends and trains
 * what is to be sent and trained.
 *
 * @throws {UsageError} for an organisation that is not there; {FileError}, {StoreError} or
 * {KeyFileError}
 */
export async function openLocalCloud(
  dataDir: string,
  { organization, packageLimitBytes }: LocalCloudOptions,
  { clock, random, log }: LocalCloudDeps,
): Promise<OpenCloud> {
  await using opened = new AsyncDisposableStack();
  const folder = await openDataFolder(dataDir, random);
  opened.defer(() => folder.database.close());
  const { queries } = folder.database;
  const owner = await folderOwner(queries, organization);
  const logs = openLogStore(folder.database, dataDir, clock);
  opened.defer(() => logs.close());
  const publicUrl = await readSetting(queries, "public_url") ?? `http://${DEFAULT_ADDRESS}`;
  const services = await createServices({
    ...{ folder, dataDir, owner, packageLimitBytes, logs, clock, random, log },
    domain: await readSetting(queries, "domain") ?? DEFAULT_DOMAIN,
    publicUrl: () => publicUrl,
    limiter: new AttemptLimiter(() => clock.monotonicMs()),
  });
  opened.defer(() => closeServices(services));
  await services.presence.load();
  await services.statuses.load();
  const still = opened.move();
  return {
    transport: createInProcessTransport(services.router, {
      interceptors: [{
        before: (call) => requirePossible(call, { dataDir, publicUrl }),
        after: () => {},
      }],
    }),
    name: dataDir,
    download: (path, query) => download(services, path, query),
    atMachine() {
      throw new UsageError("a data folder has no credentials for a machine; use --cloud");
    },
    advice: (error) => error,
    [Symbol.asyncDispose]: () => still.disposeAsync(),
  };
}

function requirePossible(
  { path }: Call,
  { dataDir, publicUrl }: { readonly dataDir: string; readonly publicUrl: string },
): void {
  if (!NEEDS_SERVE.has(path)) return;
  throw new ConnectError(
    "a data folder alone trains nothing and packs no archives: start " +
      `machine-cloud serve --data ${dataDir}, if it does not serve yet, and give this command ` +
      `--cloud ${publicUrl} in place of --data, with the key that bootstrap printed in ` +
      "MACHINE_CLOUD_API_KEY_ID and MACHINE_CLOUD_API_KEY",
    Code.FailedPrecondition,
  );
}

async function download(
  { dataFiles }: Services,
  path: string,
  query: Readonly<Record<string, string>>,
): Promise<Response> {
  const [first, ...rest] = path.split("/");
  if (first !== "data") throw new Error(`${path} cannot be downloaded from a data folder`);
  return await dataFiles({
    path: rest,
    method: "GET",
    query: (name) => query[name],
    // Whose it is, is known: see LocalCallers.
    header: (name) => name === "authorization" ? "Bearer local" : undefined,
    peer: THIS_PROCESS,
  });
}

async function closeServices(services: Services): Promise<void> {
  services.watchers.close();
  await services.signaling.close();
  await services.closeQueries();
  await services.training.close();
  await services.notifications.close();
  await services.changes.close();
  services.callers.close();
}
