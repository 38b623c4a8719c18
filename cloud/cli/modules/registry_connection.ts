import type { Transport } from "@connectrpc/connect";
import { join } from "node:path";
import { UsageError } from "../../../shared/base/flags/flags.ts";
import { AppService, type Organization } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { PackageService } from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { Scope } from "../../accounts/access/scope.ts";
import { DEFAULT_ADDRESS } from "../../api/addresses/defaults.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { withCallFailures } from "../../storage/database/call_failures.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import { readSetting } from "../../storage/database/settings.ts";
import type { Random } from "../../storage/keys/random.ts";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { DownloadUrls } from "../../registry/packages/download_urls.ts";
import { packageService } from "../../registry/packages/package_service.ts";
import { PackageStore } from "../../registry/packages/package_store.ts";
import { connectToCloud, withAdvice } from "../../local/connection/cloud_connection.ts";
import { chosenPlace, type Place } from "../../local/connection/place_flags.ts";
import { registryMethods } from "../../registry/items/registry_methods.ts";

/** The registry of one organisation, in a cloud or in a data folder of this host. */
export interface RegistryConnection extends AsyncDisposable {
  readonly transport: Transport;
  readonly organization: Named;
}

/** Where the registry is; either a folder or a cloud. */
export interface RegistryPlace extends Place {
  /** Id, namespace or name; needed when a folder has several organisations. */
  readonly organization: string | undefined;
  readonly packageLimitBytes: number;
}

/** @throws {UsageError} for a place that is not told in full; {ConnectError} or {FileError}. */
export async function connectToRegistry(
  place: RegistryPlace,
  deps: { readonly clock: Clock; readonly random: Random },
): Promise<RegistryConnection> {
  const chosen = chosenPlace(place, "the registry is");
  if ("dataDir" in chosen) return await openFolder(place, chosen.dataDir, deps);
  return await connect(place, chosen.cloudUrl);
}

async function connect(place: RegistryPlace, url: string): Promise<RegistryConnection> {
  const connection = connectToCloud(place, url);
  try {
    const { organizations } = await connection.client(AppService).listOrganizations({});
    const organization = choose(organizations, place.organization);
    return {
      transport: connection.transport,
      organization,
      [Symbol.asyncDispose]: () => Promise.resolve(connection.close()),
    };
  } catch (error) {
    connection.close();
    throw withAdvice(error, url);
  }
}

/** Works on the files beside a running `serve`, which learns of changes within half a second. */
async function openFolder(
  place: RegistryPlace,
  dataDir: string,
  deps: { readonly clock: Clock; readonly random: Random },
): Promise<RegistryConnection> {
  const { database, keys } = await openDataFolder(dataDir, deps.random);
  try {
    const { queries } = database;
    const rows = await queries.selectFrom("organizations").selectAll().orderBy("name").execute();
    const organization = choose(
      rows.map(({ id, name, namespace }) => ({ id, name, publicNamespace: namespace ?? "" })),
      place.organization,
    );
    const publicUrl = await readSetting(queries, "public_url") ?? `http://${DEFAULT_ADDRESS}`;
    const store = new PackageStore({
      queries,
      clock: deps.clock,
      random: deps.random,
      changes: NO_LISTENERS,
      blobs: await FolderBlobStore.open(join(dataDir, "blobs")),
      limitBytes: place.packageLimitBytes,
    });
    const urls = new DownloadUrls(keys.secrets, deps.clock, () => publicUrl);
    const callers = { scope: () => Promise.resolve(ownerOf(queries, organization.id)) };
    const shared = { callers, queries, store, urls, changes: NO_LISTENERS, ...deps };
    const router = new RpcRouter()
      .service(AppService, withCallFailures(registryMethods(shared)))
      .service(
        PackageService,
        withCallFailures(packageService({ ...shared, presence: NO_PRESENCE })),
      );
    const transport = createInProcessTransport(router);
    return {
      transport,
      organization,
      [Symbol.asyncDispose]: () => Promise.resolve(database.close()),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Who may read the folder may do everything in it. */
function ownerOf(queries: Queries, orgId: string): Scope {
  return new Scope(queries, {
    actor: { type: "api-key", id: "machine-cloud module" },
    orgId,
    grants: [{ role: "owner", resource: "organization", id: orgId }],
  });
}

const NO_LISTENERS = { drain: () => Promise.resolve() };
const NO_PRESENCE = {
  of: () => ({ state: "offline", lastAccess: undefined, facts: {} }) as const,
};

type Named = Pick<Organization, "id" | "name" | "publicNamespace">;

function choose<O extends Named>(organizations: readonly O[], wanted: string | undefined): O {
  const fitting = organizations.filter(({ id, name, publicNamespace }) =>
    wanted === undefined || [id, name, publicNamespace].includes(wanted)
  );
  const [only] = fitting;
  if (only && fitting.length === 1) return only;
  const all = organizations.map(({ id, name, publicNamespace }) =>
    publicNamespace || `${id} (${name})`
  );
  if (organizations.length === 0) {
    throw new UsageError("there is no organisation yet; make one with machine-cloud bootstrap");
  }
  if (wanted === undefined) {
    throw new UsageError(`several organisations are there; name one: ${all.join(", ")}`);
  }
  const problem = only ? "several organisations are" : "there is no organisation";
  throw new UsageError(
    `${problem} called ${JSON.stringify(wanted)} here, there is ${
      all.join(", ")
    }; name one by its ` +
      "id, or set its namespace with machine-cloud module namespace",
  );
}
