/** What webhooks carry: spec §4.1. Pure. */
import type { JsonObject } from "@bufbuild/protobuf";
import type { TriggerType } from "../../storage/database/trigger_schema.ts";
import { type EventFacts, LONGEST_BODY, type NamedPart, type UploadFacts } from "./facts.ts";

/** Headers and body of a request. */
export interface WebhookText {
  readonly headers: Readonly<Record<string, string>>;
  /** JSON text; empty: the request has no body. */
  readonly body: string;
}

/** The request that notifies of an event; the same each time that it is rendered. */
export function webhookText(type: TriggerType, { part, occurred }: EventFacts): WebhookText {
  const headers = headersOf(type, part);
  switch (occurred.kind) {
    case "transition":
      return { headers, body: "" };
    case "upload":
      return { headers, body: uploadBody(type, part, occurred) };
    case "logs":
      return { headers, body: JSON.stringify(occurred.entries) };
  }
}

/** Names only where the body does not have them. */
function headersOf(type: TriggerType, part: NamedPart): Record<string, string> {
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

function uploadBody(type: TriggerType, part: NamedPart, upload: UploadFacts): string {
  const body: JsonObject = {
    component_name: upload.componentName,
    component_type: upload.componentType,
    method_name: upload.methodName,
    machine_name: part.machineName,
    location_name: part.locationName,
    org_name: part.organizationName,
    data_type: upload.dataType,
    ...(type === "conditional_data_ingested" ? { trigger_condition: upload.condition ?? {} } : {
      min_time_received: upload.minTimeReceived,
      max_time_received: upload.maxTimeReceived,
      file_id: upload.fileId,
    }),
  };
  const data = readingJson(upload);
  if (!data) return JSON.stringify(body);
  const text = JSON.stringify({ ...body, data });
  return text.length <= LONGEST_BODY ? text : JSON.stringify(body);
}

/** A reading with its times, as webhooks and mail have it; undefined where there is none. */
export function readingJson({ reading }: UploadFacts): JsonObject | undefined {
  if (!reading) return undefined;
  const { receivedAt, requestedAt, data } = reading;
  return { metadata: { received_at: receivedAt, requested_at: requestedAt }, data };
}
