import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type GetCloudMetadataResponse,
  GetCloudMetadataResponseSchema,
  type GetMachineStatusResponse,
  GetMachineStatusResponse_State,
  GetMachineStatusResponseSchema,
  ResourceStatus_State,
} from "../../shared/gen/viam/robot/v1/robot_pb.ts";
import type { ResourceSnapshot } from "../resources/manager.ts";
import { toResourceName } from "../resources/name.ts";
import type { ResourceState } from "../resources/node.ts";
import type { CloudMetadata, MachineState } from "./machine_state.ts";

const STATES: Readonly<Record<ResourceState, ResourceStatus_State>> = {
  unconfigured: ResourceStatus_State.UNCONFIGURED,
  configuring: ResourceStatus_State.CONFIGURING,
  ready: ResourceStatus_State.READY,
  removing: ResourceStatus_State.REMOVING,
  unhealthy: ResourceStatus_State.UNHEALTHY,
};

/** The answer to GetMachineStatus, which is also what is reported to the cloud. */
export function machineStatus(
  state: MachineState,
  resources: readonly ResourceSnapshot[],
): GetMachineStatusResponse {
  const cloudMetadata = state.cloud.machinePartId === ""
    ? undefined
    : cloudMetadataMessage(state.cloud);
  return create(GetMachineStatusResponseSchema, {
    resources: resources.map((resource) => ({
      name: toResourceName(resource.api, resource.name),
      state: STATES[resource.state],
      lastUpdated: timestampFromDate(resource.lastUpdated),
      revision: resource.revision,
      error: resource.error,
      ...(cloudMetadata && { cloudMetadata }),
    })),
    config: {
      revision: state.revision,
      ...(state.appliedAt && { lastUpdated: timestampFromDate(state.appliedAt) }),
    },
    state: state.phase === "running"
      ? GetMachineStatusResponse_State.RUNNING
      : GetMachineStatusResponse_State.INITIALIZING,
  });
}

export function cloudMetadataMessage(cloud: CloudMetadata): GetCloudMetadataResponse {
  return create(GetCloudMetadataResponseSchema, { ...cloud });
}
