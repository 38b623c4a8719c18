import type { HandlerContext, ServiceImpl } from "@connectrpc/connect";
import { canonicalJson } from "../../../shared/base/json/json.ts";
import type { Annotations } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import type {
  DataCaptureUploadRequest,
  DataSyncService,
  FileUploadRequest,
  SensorData,
  SensorMetadata,
  StreamingDataCaptureUploadRequest,
  UploadMetadata,
} from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Callers } from "../../accounts/access/callers.ts";
import type { PartRow, Scope } from "../../accounts/access/scope.ts";
import { stillAllowed } from "../../accounts/access/still_allowed.ts";
import { readUpload, type UploadPiece, whileAllowed } from "../../storage/blobs/upload_stream.ts";
import { binaryDataId } from "./binary_ids.ts";
import { type Capture, fileTimes, invalid, mimeTypeOf, readCapture, readTimes } from "./capture.ts";
import type { CapturedReading, Ingestion, NewAnnotation } from "./ingestion.ts";

export interface DataSyncServiceOptions {
  readonly callers: Callers;
  readonly ingestion: Ingestion;
  readonly clock: Clock;
}

/** Readings in one upload; a capture file of the usual size has a few thousand. */
const MOST_READINGS = 100_000;
const MOST_ANNOTATIONS = 1_000;

/** What parts send, or who may act for them: an API key that owns the part. */
export function dataSyncService(options: DataSyncServiceOptions): ServiceImpl<
  typeof DataSyncService
> {
  const { callers, ingestion, clock } = options;

  async function sendFile(
    part: PartRow,
    capture: Capture,
    kind: "binary" | "file",
    metadata: SensorMetadata | undefined,
    contents: AsyncIterable<Uint8Array>,
  ): Promise<string> {
    const times = metadata ? readTimes(metadata, clock.now()) : fileTimes(capture, clock.now());
    return await ingestion.file(part, capture, {
      kind,
      ...times,
      mimeType: mimeTypeOf(capture, metadata),
      annotations: readAnnotations(metadata?.annotations),
    }, contents);
  }

  const asAllowed = (
    contents: AsyncIterable<Uint8Array>,
    context: HandlerContext,
    scope: Scope,
    { id }: PartRow,
  ) =>
    whileAllowed(contents, stillAllowed(callers, context, scope, (now) => now.part(id, "report")));

  return {
    async dataCaptureUpload({ metadata, sensorContents }, context) {
      const scope = await callers.scope(context);
      const capture = readCapture(metadata);
      const part = await scope.part(capture.partId, "report");
      if (contentsOf(capture, sensorContents) === "struct") {
        const readings = readReadings(sensorContents, clock.now());
        return { fileId: await ingestion.readings(part, capture, readings), binaryDataId: "" };
      }
      const ids: string[] = [];
      for (const contents of sensorContents) {
        const { metadata, data } = contents;
        const bytes = data.case === "binary" ? data.value : new Uint8Array();
        ids.push(await sendFile(part, capture, "binary", metadata, oneChunk(bytes)));
      }
      const [fileId = ""] = ids;
      return { fileId, binaryDataId: binaryDataId(part, fileId) };
    },

    async fileUpload(requests, context) {
      const scope = await callers.scope(context);
      const upload = await readUpload(requests, filePiece, {
        clock,
        signal: context.signal,
        form: "any",
      });
      const capture = readCapture(upload.info);
      const part = await scope.part(capture.partId, "report");
      const contents = asAllowed(upload.contents, context, scope, part);
      const fileId = await sendFile(part, capture, "file", undefined, contents);
      return { fileId, binaryDataId: binaryDataId(part, fileId) };
    },

    async streamingDataCaptureUpload(requests, context) {
      const scope = await callers.scope(context);
      const upload = await readUpload(requests, streamingPiece, {
        clock,
        signal: context.signal,
        form: "any",
      });
      const capture = readCapture(upload.info.uploadMetadata);
      const part = await scope.part(capture.partId, "report");
      const { sensorMetadata } = upload.info;
      const contents = asAllowed(upload.contents, context, scope, part);
      const fileId = await sendFile(part, capture, "binary", sensorMetadata, contents);
      return { fileId, binaryDataId: binaryDataId(part, fileId) };
    },
  };
}

/** Which of the two kinds of contents an upload has; a mixture and none are refused. */
function contentsOf(
  { dataType }: Capture,
  contents: DataCaptureUploadRequest["sensorContents"],
): "struct" | "binary" {
  if (contents.length === 0) throw invalid("sensor_contents", "there are none");
  const kind = contents[0]?.data.case;
  const other = contents.findIndex(({ data }) => data.case !== kind || data.case === undefined);
  if (other >= 0 || kind === undefined) {
    throw invalid(
      `sensor_contents[${Math.max(0, other)}]`,
      "all must have `struct`, or all `binary`",
    );
  }
  const expected = dataType === "tabular" ? "struct" : dataType === "unspecified" ? kind : "binary";
  if (kind !== expected) {
    throw invalid("metadata.type", `it is ${dataType}, but sensor_contents[0] has \`${kind}\``);
  }
  return kind;
}

function readReadings(contents: readonly SensorData[], now: Date): CapturedReading[] {
  if (contents.length > MOST_READINGS) {
    throw invalid("sensor_contents", `there are more than ${MOST_READINGS}`);
  }
  return contents.map(({ metadata, data }) => {
    const value = data.case === "struct" ? data.value : {};
    return { ...readTimes(metadata, now), value, data: canonicalJson(value) };
  });
}

function readAnnotations(annotations: Annotations | undefined): NewAnnotation[] {
  if (!annotations) return [];
  const { bboxes, classifications } = annotations;
  if (bboxes.length + classifications.length > MOST_ANNOTATIONS) {
    throw invalid("annotations", `there are more than ${MOST_ANNOTATIONS}`);
  }
  return [
    ...bboxes.map((box): NewAnnotation => ({
      kind: "box",
      label: box.label,
      confidence: box.confidence ?? null,
      xMin: box.xMinNormalized,
      yMin: box.yMinNormalized,
      xMax: box.xMaxNormalized,
      yMax: box.yMaxNormalized,
    })),
    ...classifications.map((classification): NewAnnotation => ({
      kind: "classification",
      label: classification.label,
      confidence: classification.confidence ?? null,
      xMin: 0,
      yMin: 0,
      xMax: 1,
      yMax: 1,
    })),
  ];
}

function filePiece({ uploadPacket: piece }: FileUploadRequest):
  | UploadPiece<UploadMetadata>
  | undefined {
  switch (piece.case) {
    case "metadata":
      return { info: piece.value };
    case "fileContents":
      return { bytes: piece.value.data };
    default:
      return undefined;
  }
}

function streamingPiece({ uploadPacket: piece }: StreamingDataCaptureUploadRequest) {
  switch (piece.case) {
    case "metadata":
      return { info: piece.value };
    case "data":
      return { bytes: piece.value };
    default:
      return undefined;
  }
}

async function* oneChunk(bytes: Uint8Array): AsyncIterable<Uint8Array> {
  if (bytes.length > 0) yield await Promise.resolve(bytes);
}
