import type { Transport } from "@connectrpc/connect";
import { ReleaseService } from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { getLogger } from "../../../shared/log/loggers.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Actor } from "../../accounts/access/caller.ts";
import { notFound } from "../../accounts/access/scope.ts";
import { DEFAULT_ADDRESS } from "../../api/addresses/defaults.ts";
import { AgentCommands } from "../../releases/agents/agent_commands.ts";
import { AgentStatuses } from "../../releases/agents/agent_statuses.ts";
import { reportedVersions } from "../../releases/agents/reported_versions.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { withCallFailures } from "../../storage/database/call_failures.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { readSetting } from "../../storage/database/settings.ts";
import type { Random } from "../../storage/keys/random.ts";
import { connectToCloud } from "../../local/connection/cloud_connection.ts";
import { chosenPlace, type Place } from "../../local/connection/place_flags.ts";
import { Presence } from "../../fleet/presence/presence.ts";
import { openReleases } from "../../releases/catalogue/open_releases.ts";
import type { ReleaseAccess } from "../../releases/catalogue/release_access.ts";
import { releaseService } from "../../releases/catalogue/release_service.ts";

/** The releases of a cloud, or of a data folder of this host. */
export interface ReleaseConnection extends AsyncDisposable {
  readonly transport: Transport;
  /** Address of the cloud; undefined for a data folder. */
  readonly url: string | undefined;
}

export interface ReleaseDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/** @throws {UsageError} for a place that is not told in full; {FileError} or {StoreError}. */
export async function connectToReleases(
  place: Place,
  limitBytes: number,
  deps: ReleaseDeps,
): Promise<ReleaseConnection> {
  const chosen = chosenPlace(place, "the releases are");
  if ("dataDir" in chosen) return await openFolder(chosen.dataDir, limitBytes, deps);
  const connection = connectToCloud(place, chosen.cloudUrl);
  return {
    transport: connection.transport,
    url: chosen.cloudUrl,
    [Symbol.asyncDispose]: () => Promise.resolve(connection.close()),
  };
}

/** Works on the files beside a running `serve`, which looks for changes at each question. */
async function openFolder(
  dataDir: string,
  limitBytes: number,
  { clock, random }: ReleaseDeps,
): Promise<ReleaseConnection> {
  const { database } = await openDataFolder(dataDir, random);
  try {
    const { queries } = database;
    const log = getLogger("machine-cloud");
    const statuses = new AgentStatuses(queries, clock, log);
    const presence = new Presence(queries, clock, log);
    await statuses.load();
    await presence.load();
    const publicUrl = await readSetting(queries, "public_url") ?? `http://${DEFAULT_ADDRESS}`;
    const releases = await openReleases({ database, dataDir, clock, random, limitBytes });
    const service = releaseService({
      ...releases,
      access: folderAccess(queries),
      told: reportedVersions(statuses, presence),
      commands: new AgentCommands(queries, clock, random),
      clock,
      publicUrl: () => publicUrl,
    });
    const router = new RpcRouter().service(ReleaseService, withCallFailures(service));
    return {
      transport: createInProcessTransport(router),
      url: undefined,
      [Symbol.asyncDispose]: () => Promise.resolve(database.close()),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Who may read the folder may do everything in it. */
function folderAccess(queries: Queries): ReleaseAccess {
  const actor: Actor = { type: "api-key", id: "machine-cloud release" };
  return {
    isOperator: () => Promise.resolve(true),
    operator: () => Promise.resolve(actor),
    async part(_, partId) {
      const part = await queries.selectFrom("parts").selectAll().where("id", "=", partId)
        .executeTakeFirst();
      if (!part) throw notFound("part", partId);
      return { part, actor };
    },
  };
}
