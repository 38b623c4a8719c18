import type { Transport } from "@connectrpc/connect";
import { TriggerService } from "../../../shared/gen/machine/cloud/v1/triggers_pb.ts";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { getLogger } from "../../../shared/log/loggers.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { SharedSecrets } from "../../accounts/access/secrets.ts";
import { DEFAULT_DOMAIN } from "../../api/addresses/defaults.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { withCallFailures } from "../../storage/database/call_failures.ts";
import { ChangeFeed } from "../../storage/database/change_feed.ts";
import type { Random } from "../../storage/keys/random.ts";
import { summaryMethods } from "../../fleet/machines/summary_methods.ts";
import { machineMethods } from "../../fleet/machines/machine_methods.ts";
import { Restarts } from "../../fleet/machines/restarts.ts";
import { Revisions } from "../../fleet/machines/revisions.ts";
import { organizationMethods } from "../../accounts/organizations/organization_methods.ts";
import { connectToCloud } from "../../local/connection/cloud_connection.ts";
import { folderOwner } from "../../local/connection/folder_owner.ts";
import { chosenPlace, type Place } from "../../local/connection/place_flags.ts";
import { Presence } from "../../fleet/presence/presence.ts";
import { openTriggerService } from "../../triggers/rules/open_trigger_service.ts";

/** The triggers of a cloud, or of a data folder of this host. */
export interface TriggerConnection extends AsyncDisposable {
  readonly transport: Transport;
  /** Address of the cloud; undefined for a data folder. */
  readonly url: string | undefined;
}

export interface TriggerDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * @param organization id or name; needed when a folder has several
 * @throws {UsageError} for a place that is not told in full; {FileError} or {StoreError}.
 */
export async function connectToTriggers(
  place: Place,
  organization: string | undefined,
  deps: TriggerDeps,
): Promise<TriggerConnection> {
  const chosen = chosenPlace(place, "the triggers are");
  if ("dataDir" in chosen) return await openFolder(chosen.dataDir, organization, deps);
  const connection = connectToCloud(place, chosen.cloudUrl);
  return {
    transport: connection.transport,
    url: chosen.cloudUrl,
    [Symbol.asyncDispose]: () => Promise.resolve(connection.close()),
  };
}

/** Works on the files beside a running `serve`, which sends what this leaves to be sent. */
async function openFolder(
  dataDir: string,
  organization: string | undefined,
  { clock, random }: TriggerDeps,
): Promise<TriggerConnection> {
  const { database, keys } = await openDataFolder(dataDir, random);
  try {
    const { queries } = database;
    const owner = await folderOwner(queries, organization, "machine-cloud trigger");
    const log = getLogger("machine-cloud");
    const changes = new ChangeFeed(database, clock, log);
    const callers = { scope: () => Promise.resolve(owner) };
    const secrets = new SharedSecrets(queries, keys.secrets);
    const machines = {
      callers,
      queries,
      secrets,
      revisions: new Revisions(queries, changes, clock),
      restarts: new Restarts(queries, changes, clock),
      presence: new Presence(queries, clock, log),
      clock,
      domain: DEFAULT_DOMAIN,
    };
    const app = {
      ...organizationMethods({ callers, queries, secrets }),
      ...machineMethods(machines),
      ...summaryMethods(machines),
    };
    const service = openTriggerService({
      queries,
      callers,
      changes,
      secrets: keys.secrets,
      clock,
      random,
      deliverer: SOMEBODY_ELSE,
    });
    const router = new RpcRouter().service(TriggerService, withCallFailures(service))
      .service(AppService, withCallFailures(app));
    const transport: Transport = createInProcessTransport(router);
    return {
      transport,
      url: undefined,
      [Symbol.asyncDispose]: () => Promise.resolve(database.close()),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** The process that serves the folder sees what is to be sent within a second. */
const SOMEBODY_ELSE = { wake: () => {}, lookAgain: () => {} };
