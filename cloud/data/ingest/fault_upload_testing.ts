import { join } from "node:path";
import type { DataFolder } from "../../storage/data_folder/data_folder.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import type { BlobStore } from "../../storage/blobs/blob_store.ts";
import { FolderBlobStore } from "../../storage/blobs/folder_blob_store.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { type Capture, fileTimes, readTimes } from "./capture.ts";
import type { IngestListener } from "./ingested.ts";
import { Ingestion } from "./ingestion.ts";
import { Sources } from "./sources.ts";

/** Milliseconds. */
const CAPTURED = Date.UTC(2026, 0, 2, 12);
const PIECE = new Uint8Array(1_000).fill(7);

/** Records what it receives in the table of changes, in the transaction that it is given. */
const noting: IngestListener = {
  async ingested(transaction, { organizationId, partId }) {
    await transaction.insertInto("changes")
      .values({ org_id: organizationId, part_id: partId, kind: "restart", created_at: CAPTURED })
      .execute();
  },
  committed: () => {},
};

/** For tests: what is different about an upload. */
export interface FaultUploadOptions {
  /** Called when the folder is open, before anything is sent. */
  readonly opened?: () => Promise<void>;
  /** Left out: the data folder. */
  readonly files?: BlobStore;
  /** How often the file's piece of 1 KB is sent; default 3. */
  readonly pieces?: number;
}

/** For tests: sends the same readings and the same file to a data folder, as a machine does. */
export async function uploadToFolder(
  dataDir: string,
  what: "readings" | "file",
  options: FaultUploadOptions = {},
): Promise<string> {
  const folder = await openDataFolder(dataDir, systemRandom);
  try {
    await folder.database.queries.selectFrom("parts").select("id").execute();
    await options.opened?.();
    return await upload(folder, dataDir, what, options);
  } finally {
    folder.database.close();
  }
}

async function upload(
  { database }: DataFolder,
  dataDir: string,
  what: "readings" | "file",
  { files, pieces = 3 }: FaultUploadOptions,
): Promise<string> {
  const { queries } = database;
  const ingestion = new Ingestion({
    queries,
    transact: (work) => database.sharedTransaction(work),
    sources: new Sources(queries),
    clock: systemClock,
    random: systemRandom,
    files: files ?? await FolderBlobStore.open(join(dataDir, "data-files")),
    listener: noting,
    fileLimitBytes: 20_000_000,
  });
  const part = await queries.selectFrom("parts").selectAll().executeTakeFirstOrThrow();
  const capture: Capture = {
    partId: part.id,
    componentType: "rdk:component:sensor",
    componentName: "climate",
    methodName: "Readings",
    dataType: what === "file" ? "file" : "tabular",
    parameters: "{}",
    tags: [],
    datasetIds: [],
    fileName: what === "file" ? "notes.txt" : "",
    fileExtension: "",
    mimeType: "",
    fileTimes: [],
  };
  if (what === "file") {
    const times = fileTimes(capture, new Date(CAPTURED));
    const about = { ...times, kind: "file", mimeType: "text/plain", annotations: [] } as const;
    return await ingestion.file(part, capture, about, fileOf(pieces));
  }
  const readings = Array.from({ length: 300 }, (_, n) => {
    const seconds = BigInt(CAPTURED / 1_000 + n);
    const time = { $typeName: "google.protobuf.Timestamp" as const, seconds, nanos: 0 };
    const times = { timeRequested: time, timeReceived: time };
    const metadata = { $typeName: "viam.app.datasync.v1.SensorMetadata" as const, ...times };
    const value = { readings: { n } };
    return {
      ...readTimes({ ...metadata, mimeType: 0 }, new Date()),
      value,
      data: JSON.stringify(value),
    };
  });
  return await ingestion.readings(part, capture, readings);
}

async function* fileOf(pieces: number): AsyncIterable<Uint8Array> {
  for (let n = 0; n < pieces; n++) yield await Promise.resolve(PIECE);
}
