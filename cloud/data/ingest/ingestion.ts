import { Buffer } from "node:buffer";
import type { JsonObject } from "@bufbuild/protobuf";
import type { Transaction } from "kysely";
import { faultPoint } from "../../../shared/base/faults/fault_point.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { PartRow } from "../../accounts/access/scope.ts";
import type { CloudDatabase, Queries } from "../../storage/database/cloud_database.ts";
import type { CloudTables } from "../../storage/database/schema.ts";
import type { Random } from "../../storage/keys/random.ts";
import { type Blob, type BlobStore, BlobTooLargeError } from "../../storage/blobs/blob_store.ts";
import { UploadPlaces } from "../../storage/blobs/upload_places.ts";
import { uploadFailure } from "../../storage/blobs/upload_failure.ts";
import type { Capture, CaptureTimes } from "./capture.ts";
import { keepPosition } from "./captured_position.ts";
import type { IngestListener } from "./ingested.ts";
import { insertReadings } from "./reading_rows.ts";
import type { Sources } from "./sources.ts";
import { dateOf } from "./times.ts";
import { fileDigest, readingsDigest } from "./upload_identity.ts";
import { addUsage, NOTHING, quotaExceeded, readSettings, roomFor } from "./usage.ts";

export interface IngestionOptions {
  readonly queries: Queries;
  /** What it wrote is safe when it resolves. */
  readonly transact: CloudDatabase["sharedTransaction"];
  readonly sources: Sources;
  readonly clock: Clock;
  readonly random: Random;
  readonly files: BlobStore;
  readonly listener: IngestListener;
  /** Largest file, bytes. */
  readonly fileLimitBytes: number;
}

/** A reading out of an upload. */
export interface CapturedReading extends CaptureTimes {
  readonly value: JsonObject;
  /** The same as canonical JSON. */
  readonly data: string;
}

/** A file out of an upload, before its contents. */
export interface CapturedFile extends CaptureTimes {
  readonly kind: "binary" | "file";
  readonly mimeType: string;
  readonly annotations: readonly NewAnnotation[];
}

export interface NewAnnotation {
  readonly kind: "box" | "classification";
  readonly label: string;
  readonly confidence: number | null;
  readonly xMin: number;
  readonly yMin: number;
  readonly xMax: number;
  readonly yMax: number;
}

/** Uploads of files at the same moment. */
const MOST_UPLOADS = 64;

/**
 * Stores what machines send, each upload in one transaction with all that follows from it. An
 * upload that was stored already is answered as it was the first time; see upload_identity.ts for
 * what makes it the same.
 */
export class Ingestion {
  readonly #uploads = new UploadPlaces(MOST_UPLOADS, "files");

  constructor(private readonly options: IngestionOptions) {}

  /** Stores readings. @returns the id of the upload. */
  async readings(
    part: PartRow,
    capture: Capture,
    readings: readonly CapturedReading[],
  ): Promise<string> {
    const { transact, sources, clock, random, listener } = this.options;
    const sourceId = await sources.numberOf(part, capture);
    const digest = readingsDigest(
      capture,
      readings.map(({ exact, data }) => ({ times: exact, data })),
      () => random.uuid(),
    );
    const received = readings.map(({ receivedUs }) => receivedUs);
    const [minUs, maxUs] = [least(received), most(received)];
    const syncedAt = clock.now();
    const fileId = random.uuid();
    const known = await transact(async (transaction) => {
      const upload = await transaction.insertInto("data_uploads").values({
        source_id: sourceId,
        digest,
        org_id: part.org_id,
        file_id: fileId,
        synced_at: syncedAt.getTime(),
        min_received_us: minUs,
        max_received_us: maxUs,
        tags: JSON.stringify(capture.tags),
        parameters: capture.parameters,
      }).onConflict((conflict) => conflict.columns(["source_id", "digest"]).doNothing())
        .returning("id").executeTakeFirst();
      if (!upload) return await knownUpload(transaction, sourceId, digest);
      await insertReadings(transaction, sourceId, upload.id, readings);
      await addUsage(transaction, part.org_id, {
        ...NOTHING,
        readings: readings.length,
        readingBytes: readings.reduce((sum, { data }) => sum + Buffer.byteLength(data), 0),
      });
      await keepPosition(transaction, {
        ...{ machineId: part.machine_id, sourceId, method: capture, readings, syncedAt },
      });
      await listener.ingested(transaction, {
        ...this.#about(part, capture, syncedAt),
        fileId,
        readings: readings.map(({ requestedUs, receivedUs, value }) => ({
          requestedAt: dateOf(requestedUs),
          receivedAt: dateOf(receivedUs),
          data: value,
        })),
        minTimeReceived: dateOf(minUs),
        maxTimeReceived: dateOf(maxUs),
      });
      faultPoint("data.upload.before-commit");
      return undefined;
    });
    faultPoint("data.upload.after-commit");
    if (known !== undefined) return known;
    listener.committed();
    return fileId;
  }

  /** Stores a file. @returns its id. */
  async file(
    part: PartRow,
    capture: Capture,
    file: CapturedFile,
    contents: AsyncIterable<Uint8Array>,
  ): Promise<string> {
    const { queries, transact, files, random, fileLimitBytes, sources, listener } = this.options;
    const end = this.#uploads.take(part.org_id);
    try {
      const room = await roomFor(queries, part.org_id);
      const limit = Math.min(room, fileLimitBytes);
      const stored = await files.receive(random.uuid(), contents, limit).catch(async (error) => {
        if (!(error instanceof BlobTooLargeError) || room > fileLimitBytes) throw error;
        const { quotaBytes } = await readSettings(queries, part.org_id);
        throw quotaExceeded(quotaBytes ?? 0);
      });
      faultPoint("data.file.after-write");
      try {
        const sourceId = await sources.numberOf(part, capture);
        const id = await transact((transaction) =>
          this.#insertFile(transaction, part, capture, file, { sourceId, stored })
        );
        faultPoint("data.upload.after-commit");
        if (id === stored.id) listener.committed();
        else await files.remove(stored.id);
        return id;
      } catch (error) {
        await files.remove(stored.id);
        throw error;
      }
    } catch (error) {
      throw uploadFailure(error, "file", fileLimitBytes, "--data-file-limit");
    } finally {
      end();
    }
  }

  /** Writes the rows of a file; gives the id of an equal one that was there before. */
  async #insertFile(
    transaction: Transaction<CloudTables>,
    part: PartRow,
    capture: Capture,
    file: CapturedFile,
    { sourceId, stored }: { sourceId: number; stored: Blob },
  ): Promise<string> {
    const syncedAt = this.options.clock.now();
    const { parameters, fileName, fileExtension } = capture;
    const { kind, exact, requestedUs, receivedUs } = file;
    const digest = fileDigest(
      { kind, parameters, fileName, fileExtension, times: exact },
      stored.sha256,
    );
    const inserted = await transaction.insertInto("binary_data").values({
      id: stored.id,
      org_id: part.org_id,
      source_id: sourceId,
      digest,
      requested_us: requestedUs,
      received_us: receivedUs,
      synced_at: syncedAt.getTime(),
      file_name: fileName,
      file_extension: fileExtension,
      mime_type: file.mimeType,
      parameters,
      size: stored.size,
      sha256: stored.sha256,
    }).onConflict((conflict) => conflict.columns(["source_id", "digest"]).doNothing())
      .returning("id").executeTakeFirst();
    const { id } = inserted ?? await transaction.selectFrom("binary_data").select("id")
      .where("source_id", "=", sourceId).where("digest", "=", digest).executeTakeFirstOrThrow();
    await this.#label(transaction, part, id, capture);
    if (inserted) {
      await this.#annotate(transaction, id, file.annotations);
      await addUsage(transaction, part.org_id, { ...NOTHING, files: 1, fileBytes: stored.size });
      await this.options.listener.ingested(transaction, {
        ...this.#about(part, capture, syncedAt),
        fileId: id,
        readings: [],
        minTimeReceived: dateOf(receivedUs),
        maxTimeReceived: dateOf(receivedUs),
      });
    }
    faultPoint("data.upload.before-commit");
    return id;
  }

  /** Leaves out datasets that are gone since the machine was notified of them, or hold no files. */
  async #label(
    transaction: Queries,
    part: PartRow,
    id: string,
    { tags, datasetIds }: Capture,
  ): Promise<void> {
    if (tags.length > 0) {
      await transaction.insertInto("binary_tags")
        .values(tags.map((tag) => ({ binary_id: id, tag })))
        .onConflict((conflict) => conflict.doNothing()).execute();
    }
    if (datasetIds.length > 0) {
      await transaction.insertInto("dataset_files").columns(["dataset_id", "binary_id"])
        .expression((eb) =>
          eb.selectFrom("datasets").select(["datasets.id", eb.val(id).as("binary_id")])
            .where("datasets.org_id", "=", part.org_id).where("datasets.type", "=", "binary")
            .where("datasets.id", "in", datasetIds)
        ).onConflict((conflict) => conflict.doNothing()).execute();
    }
  }

  async #annotate(
    transaction: Queries,
    id: string,
    annotations: readonly NewAnnotation[],
  ): Promise<void> {
    if (annotations.length === 0) return;
    await transaction.insertInto("binary_annotations").values(
      annotations.map(({ kind, label, confidence, xMin, yMin, xMax, yMax }) => ({
        id: this.options.random.uuid(),
        binary_id: id,
        kind,
        label,
        confidence,
        x_min: xMin,
        y_min: yMin,
        x_max: xMax,
        y_max: yMax,
      })),
    ).execute();
  }

  #about(part: PartRow, capture: Capture, syncedAt: Date) {
    return {
      organizationId: part.org_id,
      locationId: part.location_id,
      machineId: part.machine_id,
      partId: part.id,
      dataType: capture.dataType,
      componentType: capture.componentType,
      componentName: capture.componentName,
      methodName: capture.methodName,
      syncedAt,
      tags: capture.tags,
    };
  }
}

async function knownUpload(
  transaction: Queries,
  sourceId: number,
  digest: string,
): Promise<string> {
  const { file_id } = await transaction.selectFrom("data_uploads").select("file_id")
    .where("source_id", "=", sourceId).where("digest", "=", digest).executeTakeFirstOrThrow();
  return file_id;
}

function least(numbers: readonly number[]): number {
  return numbers.reduce((least, number) => Math.min(least, number), Infinity);
}

function most(numbers: readonly number[]): number {
  return numbers.reduce((most, number) => Math.max(most, number), -Infinity);
}
