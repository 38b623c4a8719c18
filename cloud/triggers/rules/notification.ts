/** What receivers are told: spec §4.1. Pure. */
import { type JsonObject, type JsonValue, toJson } from "@bufbuild/protobuf";
import { LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { TriggerType } from "../../storage/database/schema.ts";
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

/** A body that would be longer goes without `data`, which the API has under the file's id. */
const LONGEST_BODY = 256 * 1024;

/** The headers of a notification; names only where the body does not have them. */
export function notificationHeaders(type: TriggerType, part: NamedPart): Record<string, string> {
  const ids = {
    "Org-Id": part.organizationId,
    "Location-Id": part.locationId,
    "Part-Id": part.partId,
    "Part-Name": part.partName,
    "Robot-Id": part.machineId,
  };
  if (type === "part_data_ingested" || type === "conditional_data_ingested") return ids;
  return {
    ...ids,
    "Organization-Name": part.organizationName,
    "Location-Name": part.locationName,
    "Machine-Name": part.machineName,
  };
}

/** The body about an upload; `data` is its newest reading. */
export function ingestedBody(part: NamedPart, data: IngestedData): string {
  return textOf({
    ...aboutUpload(part, data),
    min_time_received: timeText(data.minTimeReceived),
    max_time_received: timeText(data.maxTimeReceived),
    file_id: data.fileId,
  }, data.readings.at(-1));
}

/** The body about a condition; `data` is the first reading of the upload that fulfils it. */
export function conditionBody(
  part: NamedPart,
  data: IngestedData,
  condition: JsonObject,
  reading: IngestedReading | undefined,
): string {
  return textOf({ ...aboutUpload(part, data), trigger_condition: condition }, reading);
}

/** Lines that one notification tells, at most. */
export const MOST_TOLD_LINES = 100;

/** The body about what a machine logged: a list of lines, the first ones where all are too long. */
export function logsBody(lines: readonly LogLine[]): string {
  const told: JsonValue[] = [];
  let length = 0;
  for (const line of lines.slice(0, MOST_TOLD_LINES)) {
    const entry = toJson(LogEntrySchema, toLogEntry(line), { useProtoFieldName: true });
    length += JSON.stringify(entry).length + 1;
    if (length > LONGEST_BODY) break;
    told.push(entry);
  }
  return JSON.stringify(told);
}

function aboutUpload(part: NamedPart, data: IngestedData) {
  return {
    component_name: data.componentName,
    component_type: data.componentType,
    method_name: data.methodName,
    machine_name: part.machineName,
    location_name: part.locationName,
    org_name: part.organizationName,
    data_type: data.dataType,
  };
}

function textOf(body: JsonObject, reading: IngestedReading | undefined): string {
  if (!reading) return JSON.stringify(body);
  const data = {
    metadata: {
      received_at: timeText(reading.receivedAt),
      requested_at: timeText(reading.requestedAt),
    },
    data: reading.data,
  };
  const text = JSON.stringify({ ...body, data });
  return text.length <= LONGEST_BODY ? text : JSON.stringify(body);
}

/** A machine's clock may say anything; the data counts all the same. */
function timeText(time: Date): string {
  return Number.isNaN(time.getTime()) ? "" : time.toISOString();
}
