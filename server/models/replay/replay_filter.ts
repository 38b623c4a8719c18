import { create } from "@bufbuild/protobuf";
import { type Filter, FilterSchema } from "../../../shared/gen/viam/app/data/v1/data_pb.ts";
import type { ReplayAttributes } from "./replay_attributes.ts";

/** Which of the data of the resource is meant; what is left out may be anything. */
export interface DataKind {
  readonly mimeType?: string[];
  /** As data names it: `Position`. */
  readonly method?: string;
}

/** What is requested of the cloud. @param api of the captured resource. */
export function replayFilter(
  { source, robot_id, location_id, organization_id, interval }: ReplayAttributes,
  api: string,
  kind: DataKind,
): Filter {
  return create(FilterSchema, {
    componentName: source,
    componentType: api,
    robotId: robot_id,
    locationIds: [location_id],
    organizationIds: [organization_id],
    ...(interval && {
      interval: {
        ...(interval.start && { start: interval.start }),
        ...(interval.end && { end: interval.end }),
      },
    }),
    ...kind,
  });
}
