/** What all resource APIs share: find the resource, count the call, distinguish drivers' errors. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { JsonObject } from "@bufbuild/protobuf";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { toGeometry } from "../../../shared/config/proto/geometry.ts";
import type { Frame } from "../../../shared/config/resources.ts";
import type {
  DoCommandResponse,
  Geometry,
  GetGeometriesResponse,
  GetStatusResponse,
} from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { fullName } from "../../resources/graph/name.ts";
import type { CallContext, Resource } from "../../resources/graph/resource.ts";
import type { ResourceIndex } from "../../resources/graph/resource_index.ts";

/** A driver's error as the caller sees it: UNKNOWN with the driver's own words. */
export function driverError(error: unknown): ConnectError {
  if (error instanceof ConnectError) return error;
  return new ConnectError(toError(error).message, Code.Unknown, undefined, undefined, error);
}

/** The resource cannot do what was requested. */
export function notSupported(api: string, name: string, method: string): ConnectError {
  return new ConnectError(
    `${fullName(api, name)} does not support ${method}`,
    Code.Unimplemented,
  );
}

/** Calls `use` with the resource; see {@link ResourceIndex.acquire} for the errors. */
export async function callDriver<T>(
  resources: ResourceIndex,
  api: string,
  name: string,
  use: (resource: Resource) => T | Promise<T>,
): Promise<T> {
  const node = resources.acquire(api, name);
  try {
    return await use(node.instance!);
  } catch (error) {
    throw driverError(error);
  } finally {
    resources.release(node);
  }
}

/** Fields of a response without fields. */
type EmptyResponse = Record<string, never>;

/** The methods whose driver form is that of {@link Resource}; an API has those of its service. */
export function commonMethods(api: string, resources: ResourceIndex) {
  return {
    async doCommand(
      { name, command }: { name: string; command?: JsonObject | undefined },
      call: CallContext,
    ): Promise<DoCommandResponse> {
      const result = await callDriver(resources, api, name, (resource) => {
        if (!resource.doCommand) throw notSupported(api, name, "DoCommand");
        return resource.doCommand(command ?? {}, call);
      });
      return { $typeName: "viam.common.v1.DoCommandResponse", result };
    },
    async getStatus({ name }: { name: string }, call: CallContext): Promise<GetStatusResponse> {
      const result = await callDriver(
        resources,
        api,
        name,
        (resource) => resource.getStatus?.(call) ?? {},
      );
      return { $typeName: "viam.common.v1.GetStatusResponse", result };
    },
    async stop({ name }: { name: string }, call: CallContext): Promise<EmptyResponse> {
      await callDriver(resources, api, name, (resource) => {
        if (!resource.stop) throw notSupported(api, name, "Stop");
        return resource.stop(call);
      });
      return {};
    },
    async getGeometries(
      { name }: { name: string },
      call: CallContext,
    ): Promise<GetGeometriesResponse> {
      const geometries = await callDriver(
        resources,
        api,
        name,
        (resource) => resource.getGeometries?.(call) ?? configuredShape(resources, api, name),
      );
      return { $typeName: "viam.common.v1.GetGeometriesResponse", geometries };
    },
  };
}

/** The shape that the frame of the resource's configuration describes. */
function configuredShape(resources: ResourceIndex, api: string, name: string): Geometry[] {
  const frame = resources.find(api, name)?.target.spec.extra?.["frame"] as Frame | undefined;
  const geometry = toGeometry(frame?.geometry);
  if (!geometry) return [];
  geometry.label ||= name;
  return [geometry];
}
