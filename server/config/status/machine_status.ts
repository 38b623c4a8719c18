import { create } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import {
  type GetCloudMetadataResponse,
  GetCloudMetadataResponseSchema,
  type GetMachineStatusResponse,
  GetMachineStatusResponse_State,
  GetMachineStatusResponseSchema,
  ModuleStatus_State,
  PackageStatus_State,
  ResourceStatus_State,
} from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { PackageType } from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import type { JobSnapshot } from "../../modules/jobs/job_manager.ts";
import type { ModuleSnapshot } from "../../modules/manager/module_status.ts";
import type { PackageSnapshot } from "../../modules/packages/package_types.ts";
import { toResourceName } from "../../resources/graph/name.ts";
import type { ResourceSnapshot, ResourceState } from "../../resources/graph/node.ts";
import type { CloudMetadata, MachineState } from "./machine_state.ts";

const STATES: Readonly<Record<ResourceState, ResourceStatus_State>> = {
  unconfigured: ResourceStatus_State.UNCONFIGURED,
  configuring: ResourceStatus_State.CONFIGURING,
  ready: ResourceStatus_State.READY,
  removing: ResourceStatus_State.REMOVING,
  unhealthy: ResourceStatus_State.UNHEALTHY,
};

const MODULE_STATES: Readonly<Record<ModuleSnapshot["state"], ModuleStatus_State>> = {
  pending: ModuleStatus_State.PENDING,
  starting: ModuleStatus_State.STARTING,
  ready: ModuleStatus_State.READY,
  unhealthy: ModuleStatus_State.UNHEALTHY,
  closing: ModuleStatus_State.CLOSING,
};

const PACKAGE_STATES: Readonly<Record<PackageSnapshot["state"], PackageStatus_State>> = {
  downloading: PackageStatus_State.DOWNLOADING,
  loading: PackageStatus_State.LOADING,
  first_run: PackageStatus_State.FIRST_RUN,
  ready: PackageStatus_State.READY,
  failed: PackageStatus_State.FAILED,
};

const PACKAGE_TYPES: Readonly<Record<PackageSnapshot["type"], PackageType>> = {
  ml_model: PackageType.ML_MODEL,
  module: PackageType.MODULE,
  slam_map: PackageType.SLAM_MAP,
  archive: PackageType.ARCHIVE,
};

/** A remote, as status reports it. */
export interface RemoteSnapshot {
  readonly name: string;
  readonly state: ResourceState;
  /** Why it is not connected, and what to do; empty for one that is. */
  readonly error: string;
  readonly lastUpdated: Date;
  readonly revision: string;
}

/** What remotes are in the lists of resources of status: an API without subtype. */
const REMOTE_API = "rdk:remote:";

/** What runs on the machine. */
export interface MachineSnapshot {
  readonly resources: readonly ResourceSnapshot[];
  readonly remotes?: readonly RemoteSnapshot[];
  readonly modules?: readonly ModuleSnapshot[];
  readonly packages?: readonly PackageSnapshot[];
  readonly jobs?: readonly JobSnapshot[];
}

/** The answer to GetMachineStatus, which is also what is reported to the cloud. */
export function machineStatus(
  state: MachineState,
  { resources, remotes = [], modules = [], packages = [], jobs = [] }: MachineSnapshot,
): GetMachineStatusResponse {
  const cloudMetadata = state.cloud.machinePartId === ""
    ? undefined
    : cloudMetadataMessage(state.cloud);
  return create(GetMachineStatusResponseSchema, {
    resources: [
      ...remotes.map((remote) => ({ ...remote, api: REMOTE_API })),
      ...resources,
    ].map((resource) => ({
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
    modules: modules.map((module) => ({
      moduleName: module.name,
      state: MODULE_STATES[module.state],
      lastUpdated: timestampFromDate(module.lastUpdated),
      error: module.error,
      consecutiveFailures: module.consecutiveFailures,
    })),
    packages: packages.map((one) => ({
      name: one.name,
      type: PACKAGE_TYPES[one.type],
      version: one.version,
      state: PACKAGE_STATES[one.state],
      error: one.error,
      lastUpdated: timestampFromDate(one.lastUpdated),
      bytesDownloaded: BigInt(one.bytesDownloaded),
      totalBytes: BigInt(one.totalBytes),
    })),
    jobStatuses: jobs.map(({ name, recentSuccessfulRuns, recentFailedRuns }) => ({
      jobName: name,
      recentSuccessfulRuns: recentSuccessfulRuns.map(timestampFromDate),
      recentFailedRuns: recentFailedRuns.map(timestampFromDate),
    })),
  });
}

export function cloudMetadataMessage(cloud: CloudMetadata): GetCloudMetadataResponse {
  return create(GetCloudMetadataResponseSchema, { ...cloud });
}
