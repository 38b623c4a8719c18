import { type Client, createClient } from "@connectrpc/connect";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { getLogger } from "../../shared/log/loggers.ts";
import { createInProcessTransport } from "../../shared/rpc/in_process.ts";
import { RpcRouter } from "../../shared/rpc/router.ts";
import type { Clock } from "../../shared/time/clock.ts";
import { SecretChanges } from "../access/secret_changes.ts";
import { SharedSecrets } from "../access/secrets.ts";
import { DEFAULT_DOMAIN } from "../addresses/defaults.ts";
import { openDataFolder } from "../data_folder/data_folder.ts";
import { withCallFailures } from "../database/call_failures.ts";
import { ChangeFeed } from "../database/change_feed.ts";
import type { Random } from "../keys/random.ts";
import { machineMethods } from "../machines/machine_methods.ts";
import { Restarts } from "../machines/restarts.ts";
import { Revisions } from "../machines/revisions.ts";
import { secretMethods } from "../machines/secret_methods.ts";
import { organizationMethods } from "../organizations/organization_methods.ts";
import { connectToCloud } from "../place/cloud_connection.ts";
import { folderOwner } from "../place/folder_owner.ts";
import { chosenPlace, type Place } from "../place/place_flags.ts";
import { Presence } from "../presence/presence.ts";

/** The secrets of a cloud, or of a data folder of this computer. */
export interface SecretConnection extends AsyncDisposable {
  readonly app: Client<typeof AppService>;
  /** Address of the cloud; undefined for a data folder. */
  readonly url: string | undefined;
}

export interface SecretDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/**
 * @param organization id or name; needed when a folder has several
 * @throws {UsageError} for a place that is not told in full; {FileError} or {StoreError}.
 */
export async function connectToSecrets(
  place: Place,
  organization: string | undefined,
  deps: SecretDeps,
): Promise<SecretConnection> {
  const chosen = chosenPlace(place, "the secrets are");
  if ("dataDir" in chosen) return await openFolder(chosen.dataDir, organization, deps);
  const connection = connectToCloud(place, chosen.cloudUrl);
  return {
    app: connection.client(AppService),
    url: chosen.cloudUrl,
    [Symbol.asyncDispose]: () => Promise.resolve(connection.close()),
  };
}

/** Works on the files beside a running `serve`, which sees within half a second what changed. */
async function openFolder(
  dataDir: string,
  organization: string | undefined,
  { clock, random }: SecretDeps,
): Promise<SecretConnection> {
  const { database, keys } = await openDataFolder(dataDir, random);
  try {
    const { queries } = database;
    const owner = await folderOwner(queries, organization, "machine-cloud secret");
    const log = getLogger("machine-cloud");
    const changes = new ChangeFeed(database, clock, log);
    const machines = {
      callers: { scope: () => Promise.resolve(owner) },
      queries,
      secrets: new SharedSecrets(queries, keys.secrets),
      revisions: new Revisions(queries, changes, clock),
      restarts: new Restarts(queries, changes, clock),
      presence: new Presence(queries, clock, log),
      clock,
      domain: DEFAULT_DOMAIN,
    };
    const secretChanges = new SecretChanges({ queries, changes, clock, random });
    const router = new RpcRouter().service(
      AppService,
      withCallFailures({
        ...organizationMethods(machines),
        ...machineMethods(machines),
        ...secretMethods({ ...machines, secretChanges }),
      }),
    );
    return {
      app: createClient(AppService, createInProcessTransport(router)),
      url: undefined,
      [Symbol.asyncDispose]: () => Promise.resolve(database.close()),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}
