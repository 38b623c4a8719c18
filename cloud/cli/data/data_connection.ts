import { type Client, createClient } from "@connectrpc/connect";
import {
  type DataSource,
  StoredDataService,
} from "../../../shared/gen/machine/cloud/v1/data_pb.ts";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { createInProcessTransport } from "../../../shared/rpc/server/in_process.ts";
import { RpcRouter } from "../../../shared/rpc/server/router.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { TimeSpan } from "../../data/ingest/filters.ts";
import { Readings } from "../../data/ingest/readings.ts";
import { storedDataService } from "../../data/ingest/stored_data_service.ts";
import { sourcesOfMethod } from "../../data/ingest/tabular_methods.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { ExportSource } from "../../data/export/export_rows.ts";
import type { ExportFormat } from "../../data/export/format_names.ts";
import { exported } from "../../data/export/formats.ts";
import { withCallFailures } from "../../storage/database/call_failures.ts";
import type { Random } from "../../storage/keys/random.ts";
import { connectToCloud } from "../../local/connection/cloud_connection.ts";
import { folderOwner } from "../../local/connection/folder_owner.ts";
import { chosenPlace, type Place } from "../../local/connection/place_flags.ts";
import { isoText } from "../../data/ingest/times.ts";

/** The data of a cloud, or of a data folder of this host. */
export interface DataConnection extends AsyncDisposable {
  readonly stored: Client<typeof StoredDataService>;
  readonly organizationId: string;
  /** Address of the cloud; undefined for a data folder. */
  readonly url: string | undefined;
  export(source: DataSource, span: TimeSpan, format: ExportFormat): AsyncIterable<Uint8Array>;
}

export interface DataDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/** @throws {UsageError} for a place that is not told in full; {FileError} or {StoreError}. */
export async function connectToData(
  place: Place,
  organization: string | undefined,
  deps: DataDeps,
): Promise<DataConnection> {
  const chosen = chosenPlace(place, "the data is");
  if ("dataDir" in chosen) return await openFolder(chosen.dataDir, organization, deps);
  return await connect(place, chosen.cloudUrl);
}

async function connect(place: Place, url: string): Promise<DataConnection> {
  const connection = connectToCloud(place, url);
  try {
    const { organizations } = await connection.client(AppService).listOrganizations({});
    return {
      stored: connection.client(StoredDataService),
      organizationId: organizations[0]?.id ?? "",
      url,
      export: (source, span, format) => download(place, url, source, span, format),
      [Symbol.asyncDispose]: () => Promise.resolve(connection.close()),
    };
  } catch (error) {
    connection.close();
    throw error;
  }
}

/** Works on the files beside a running `serve`. */
async function openFolder(
  dataDir: string,
  organization: string | undefined,
  { random }: DataDeps,
): Promise<DataConnection> {
  const { database } = await openDataFolder(dataDir, random);
  try {
    const { queries } = database;
    const owner = await folderOwner(queries, organization, "machine-cloud data");
    const readings = new Readings(queries);
    const callers = { scope: () => Promise.resolve(owner) };
    const service = storedDataService({ callers, queries, readings });
    const router = new RpcRouter().service(StoredDataService, withCallFailures(service));
    return {
      stored: createClient(StoredDataService, createInProcessTransport(router)),
      organizationId: owner.caller.orgId,
      url: undefined,
      async *export(source, span, format) {
        const sources = await sourcesOfMethod(owner, source);
        const sourceIds = sources.map(({ id }) => id);
        const rows = await ExportSource.open(queries, readings, { sourceIds, ...span });
        yield* exported(rows, format);
      },
      [Symbol.asyncDispose]: () => Promise.resolve(database.close()),
    };
  } catch (error) {
    database.close();
    throw error;
  }
}

async function* download(
  { keyId, key }: Place,
  url: string,
  source: DataSource,
  { fromUs, toUs }: TimeSpan,
  format: ExportFormat,
): AsyncIterable<Uint8Array> {
  const asked = new URL("data/export", url.endsWith("/") ? url : `${url}/`);
  const time = (us: number) => Math.abs(us) === Number.MAX_SAFE_INTEGER ? "" : isoText(us);
  const query = {
    part_id: source.partId,
    resource_name: source.resourceName,
    resource_subtype: source.resourceSubtype,
    method_name: source.methodName,
    start: time(fromUs),
    end: time(toUs),
    format,
  };
  for (const [name, value] of Object.entries(query)) asked.searchParams.set(name, value);
  const answer = await fetch(asked, { headers: { key_id: keyId ?? "", key: key ?? "" } });
  if (answer.ok && answer.body) return yield* answer.body;
  const text = await answer.text();
  throw new Error(`the cloud refuses the export (${answer.status}): ${reasonIn(text)}`);
}

function reasonIn(text: string): string {
  try {
    return String((JSON.parse(text) as { error?: string }).error ?? text);
  } catch {
    return text.slice(0, 200); // Somebody else answered, a proxy.
  }
}
