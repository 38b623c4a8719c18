import type { Timestamp } from "@bufbuild/protobuf/wkt";
import { requireFew } from "../../api/lists/few.ts";
import type { Scope } from "../../accounts/access/scope.ts";
import type { Action } from "../../../shared/rights/roles.ts";

import {
  type CaptureInterval,
  type Filter,
  type TagsFilter,
  TagsFilterType,
} from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import { invalid } from "./capture.ts";
import { microseconds } from "./times.ts";

/** What sources somebody requests; what is left out or empty may be anything. */
export interface SourceFilter {
  readonly organizationIds?: readonly string[];
  readonly locationIds?: readonly string[];
  readonly machineId?: string;
  readonly machineName?: string;
  readonly partId?: string;
  readonly partName?: string;
  /** Full or short: `rdk:component:sensor`, `sensor`. */
  readonly componentType?: string;
  readonly componentName?: string;
  readonly methodName?: string;
}

/**
 * What a filter of the protocol says about sources.
 *
 * @throws {ConnectError} INVALID_ARGUMENT when one of its lists is too long.
 */
export function sourceFilter(filter: Filter | undefined): SourceFilter {
  requireFew("filter.organization_ids", filter?.organizationIds);
  requireFew("filter.location_ids", filter?.locationIds);
  requireFew("filter.mime_type", filter?.mimeType);
  requireFew("filter.bbox_labels", filter?.bboxLabels);
  return filter
    ? {
      organizationIds: filter.organizationIds,
      locationIds: filter.locationIds,
      machineId: filter.robotId,
      machineName: filter.robotName,
      partId: filter.partId,
      partName: filter.partName,
      componentType: filter.componentType,
      componentName: filter.componentName,
      methodName: filter.method,
    }
    : {};
}

/** A source with the names that its machine and part have now. */
export interface NamedSource {
  readonly id: number;
  readonly org_id: string;
  readonly location_id: string;
  readonly machine_id: string;
  readonly part_id: string;
  readonly machine_name: string;
  readonly part_name: string;
  readonly component_type: string;
  readonly component_name: string;
  readonly method_name: string;
}

/** The sources that a filter picks among those the caller may act on. */
export async function sourcesFor(
  scope: Scope,
  filter: SourceFilter,
  action: Action = "see",
): Promise<NamedSource[]> {
  let query = scope.dataSources(action)
    .leftJoin("machines", "machines.id", "data_sources.machine_id")
    .leftJoin("parts", "parts.id", "data_sources.part_id")
    .selectAll("data_sources")
    .select((eb) => [
      eb.fn.coalesce("machines.name", "data_sources.machine_name").as("machine_name"),
      eb.fn.coalesce("parts.name", "data_sources.part_name").as("part_name"),
    ]);
  const { organizationIds = [], locationIds = [] } = filter;
  if (organizationIds.length > 0) query = query.where("data_sources.org_id", "in", organizationIds);
  if (locationIds.length > 0) query = query.where("data_sources.location_id", "in", locationIds);
  const { machineId, machineName, partId, partName, componentName, methodName } = filter;
  if (machineId) query = query.where("data_sources.machine_id", "=", machineId);
  if (partId) query = query.where("data_sources.part_id", "=", partId);
  if (componentName) query = query.where("data_sources.component_name", "=", componentName);
  if (methodName) query = query.where("data_sources.method_name", "=", methodName);
  const sources = await query.orderBy("data_sources.id").execute();
  return sources.filter((source) =>
    (!machineName || source.machine_name === machineName) &&
    (!partName || source.part_name === partName) &&
    (!filter.componentType || isSameType(source.component_type, filter.componentType))
  );
}

/** Old machines send `sensor` for what newer ones call `rdk:component:sensor`. */
function isSameType(one: string, other: string): boolean {
  if (one === other) return true;
  if (one.includes(":") && other.includes(":")) return false;
  return lastPart(one) === lastPart(other);
}

function lastPart(type: string): string {
  return type.slice(type.lastIndexOf(":") + 1);
}

/** A span of time; the end does not belong to it. */
export interface TimeSpan {
  readonly fromUs: number;
  readonly toUs: number;
}

export const ALL_TIME: TimeSpan = {
  fromUs: -Number.MAX_SAFE_INTEGER,
  toUs: Number.MAX_SAFE_INTEGER,
};

/** @param path of the two times, for messages: `data_request.filter.interval.` */
export function readSpan(
  start: Timestamp | undefined,
  end: Timestamp | undefined,
  path = "",
): TimeSpan {
  const read = (time: Timestamp | undefined, open: number) => {
    if (!time) return open;
    return microseconds(time) ?? (time.seconds < 0n ? ALL_TIME.fromUs : ALL_TIME.toUs);
  };
  const fromUs = read(start, ALL_TIME.fromUs);
  const toUs = read(end, ALL_TIME.toUs);
  if (fromUs > toUs) throw invalid(`${path}start`, `it is after ${path}end`);
  return { fromUs, toUs };
}

/** The span of an interval of the protocol. */
export function readInterval(interval: CaptureInterval | undefined, path: string): TimeSpan {
  return readSpan(interval?.start, interval?.end, `${path}.`);
}

/** Which tags data must have: one of these, any at all, or none. */
export type WantedTags =
  | { readonly kind: "one of"; readonly tags: readonly string[] }
  | { readonly kind: "any" }
  | { readonly kind: "none" };

export function readTags(filter: TagsFilter | undefined): WantedTags | undefined {
  requireFew("filter.tags_filter.tags", filter?.tags);
  switch (filter?.type) {
    case TagsFilterType.TAGGED:
      return { kind: "any" };
    case TagsFilterType.UNTAGGED:
      return { kind: "none" };
    default:
      return filter && filter.tags.length > 0 ? { kind: "one of", tags: filter.tags } : undefined;
  }
}
