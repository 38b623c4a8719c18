/** What happened when a trigger fired, as it is stored; webhooks and mail are rendered from it. Pure. */
import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { IngestedData, IngestedReading } from "../../data/ingest/ingested.ts";
import { type LogLine, toLogEntry } from "../../fleet/logs/log_line.ts";

/** A part with the names of what it belongs to. */
export interface NamedPart {
  readonly partId: string;
  readonly partName: string;
  readonly machineId: string;
  readonly machineName: string;
  readonly locationId: string;
  readonly locationName: string;
  readonly organizationId: string;
  readonly organizationName: string;
}

/** A part came or went; the trigger's type says which. */
export interface TransitionFacts {
  readonly kind: "transition";
}

/** Data was uploaded, and met the condition where there is one. */
export interface UploadFacts {
  readonly kind: "upload";
  readonly componentName: string;
  readonly componentType: string;
  readonly methodName: string;
  readonly dataType: string;
  readonly fileId: string;
  /** ISO 8601; empty: the machine's clock said nothing that is a time. */
  readonly minTimeReceived: string;
  readonly maxTimeReceived: string;
  readonly condition?: JsonObject | null;
  /** Left out where it is too long; the API has it under the file's id. */
  readonly reading?: ReadingFacts | null;
}

export interface ReadingFacts {
  readonly receivedAt: string;
  readonly requestedAt: string;
  readonly data: JsonValue;
}

/** A machine logged; the first lines where all are too long. */
export interface LogFacts {
  readonly kind: "logs";
  /** `viam.common.v1.LogEntry` as JSON. */
  readonly entries: readonly JsonValue[];
}

export type Occurred = TransitionFacts | UploadFacts | LogFacts;

export interface EventFacts {
  /** With the names of that time. */
  readonly part: NamedPart;
  readonly occurred: Occurred;
}

/** What a notification reports is no longer than this; readings and lines beyond are left out. */
export const LONGEST_BODY = 256 * 1024;

/** Lines that one notification has, at most. */
export const MOST_TOLD_LINES = 100;

export const TRANSITION: TransitionFacts = { kind: "transition" };

/** @param of what is sent along: a reading of the upload, the condition that it met. */
export function uploadFacts(
  data: IngestedData,
  of: { readonly reading: IngestedReading | undefined; readonly condition?: JsonObject },
): UploadFacts {
  const { componentName, componentType, methodName, dataType, fileId } = data;
  const reading = of.reading && {
    receivedAt: timeText(of.reading.receivedAt),
    requestedAt: timeText(of.reading.requestedAt),
    data: of.reading.data,
  };
  const isShort = reading && JSON.stringify(reading).length <= LONGEST_BODY;
  return {
    kind: "upload",
    ...{ componentName, componentType, methodName, dataType, fileId },
    minTimeReceived: timeText(data.minTimeReceived),
    maxTimeReceived: timeText(data.maxTimeReceived),
    ...(of.condition && { condition: of.condition }),
    ...(isShort && { reading }),
  };
}

export function logFacts(lines: readonly LogLine[]): LogFacts {
  const entries: JsonValue[] = [];
  let length = 0;
  for (const line of lines.slice(0, MOST_TOLD_LINES)) {
    const entry = toJson(LogEntrySchema, toLogEntry(line), { useProtoFieldName: true });
    length += JSON.stringify(entry).length + 1;
    if (length > LONGEST_BODY) break;
    entries.push(entry);
  }
  return { kind: "logs", entries };
}

/** A machine's clock may say anything; the data counts all the same. */
function timeText(time: Date): string {
  return Number.isNaN(time.getTime()) ? "" : time.toISOString();
}
