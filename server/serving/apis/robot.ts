/** `viam.robot.v1.RobotService`: the machine as a whole. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { durationFromMs, timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError, type HandlerContext, type ServiceImpl } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { identityKey } from "../../../shared/cloud/auth/identity.ts";
import type { ResourceSpans } from "../../../shared/gen/opentelemetry/proto/trace/v1/trace_pb.ts";
import type { LogEntry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import {
  type GetMachineStatusResponse,
  OperationSchema,
  type RobotService,
  type UploadDataFromPathResponseSchema,
} from "../../../shared/gen/viam/robot/v1/robot_pb.ts";
import type { FrameSystem } from "../../resources/frames/frame_system.ts";
import type { Operation, Operations } from "../operations/operations.ts";
import { aborted } from "../../resources/graph/aborted.ts";
import { fullName, toResourceName } from "../../resources/graph/name.ts";
import type { ResourceManager } from "../../resources/graph/manager.ts";
import type { Sessions } from "../sessions/sessions.ts";
import type { MachineState } from "../../config/status/machine_state.ts";
import type { Tunnels } from "../tunnels/tunnels.ts";
import { cloudMetadataMessage } from "../../config/status/machine_status.ts";
import type { ServedApi } from "./served_api.ts";

/** Release of the public API whose messages ours match. */
const API_VERSION = "v0.1.601";

/** Response metadata of ResourceNames: which machine answers, and which stand behind it. */
export const MACHINES_HEADER = "machine-remotes";
/** Request metadata of FrameSystemConfig: ids of the machines that ask, one for the other. */
export const ASKING_HEADER = "machine-asking";

/** Machines of {@link ASKING_HEADER} that are read. */
const MOST_ASKING = 16;
const MACHINE_ID = /^[\w-]{1,64}$/;

/** What RobotService asks of the modules. */
export interface RobotModules {
  models(): { module: string; api: string; model: string; isLocal: boolean }[];
  /** Throws a ConnectError NOT_FOUND when there is no such module. */
  restart(which: { id?: string; name?: string }): Promise<void>;
}

export interface RobotServiceOptions {
  resources: ResourceManager;
  /** All APIs that are served, those of modules too. */
  apis: () => readonly ServedApi[];
  /** What runs modules; undefined on a machine that has had none. */
  modules: () => RobotModules | undefined;
  /**
   * Writes lines that a module or a client sent.
   *
   * @param header metadata `modName` of the call.
   */
  writeLog: (entries: readonly LogEntry[], header: string | undefined) => void;
  /** The answer to GetMachineStatus. */
  status: () => GetMachineStatusResponse;
  state: MachineState;
  operations: Operations;
  sessions: Sessions;
  tunnels: Tunnels;
  frames: FrameSystem;
  /** The machines behind this one, as {@link MACHINES_HEADER} names them. */
  machines: () => string;
  /** Semantic version of this server, without `v`. */
  version: string;
  /** Uploads a file, or all files of a folder. */
  uploadFromPath: (
    path: string,
    marks: { tags: readonly string[]; datasetIds: readonly string[] },
    signal: AbortSignal,
  ) => Promise<MessageInitShape<typeof UploadDataFromPathResponseSchema>>;
  /** Takes spans of a module, "" when it is not known; throws a ConnectError for bad ones. */
  takeSpans: (spans: readonly ResourceSpans[], module: string) => void;
  /** Begins the end of the server; returns before it has ended. */
  shutdown: () => void;
}

export function createRobotService(
  options: RobotServiceOptions,
): Partial<ServiceImpl<typeof RobotService>> {
  const { resources, state, operations, sessions, tunnels, frames } = options;
  return {
    getMachineStatus: () => options.status(),

    resourceNames(_request, { responseHeader }) {
      responseHeader.set(MACHINES_HEADER, options.machines());
      return {
        resources: [...resources.ready()].map(({ api, name }) => toResourceName(api, name)),
      };
    },

    resourceRPCSubtypes: () => ({
      resourceRpcSubtypes: options.apis().map(({ api, service }) => ({
        subtype: toResourceName(api, ""),
        protoService: service.typeName,
      })),
    }),

    getVersion: () => ({
      platform: "rdk",
      version: plainVersion(options.version),
      apiVersion: API_VERSION,
    }),

    getCloudMetadata() {
      if (state.cloud.machinePartId === "") {
        throw new ConnectError(
          "this machine is not connected to a cloud; its configuration has no cloud block",
          Code.FailedPrecondition,
        );
      }
      return cloudMetadataMessage(state.cloud);
    },

    getModelsFromModules: () => ({
      models: (options.modules()?.models() ?? []).map(({ module, api, model, isLocal }) => ({
        moduleName: module,
        api,
        model,
        fromLocalModule: isLocal,
      })),
    }),

    async restartModule({ idOrName }) {
      const which = idOrName.case === "moduleId"
        ? { id: idOrName.value }
        : idOrName.case === "moduleName"
        ? { name: idOrName.value }
        : {};
      if (!idOrName.value) {
        throw new ConnectError("name the module by module_id or module_name", Code.InvalidArgument);
      }
      const modules = options.modules();
      if (!modules) {
        const asked = `${idOrName.case === "moduleId" ? "id" : "name"} ${idOrName.value}`;
        throw new ConnectError(
          `module not found: this machine's configuration has none of ${asked}; it has no modules`,
          Code.NotFound,
        );
      }
      await modules.restart(which);
      return {};
    },

    log({ logs }, context) {
      options.writeLog(logs, context.requestHeader.get("modname") ?? undefined);
      return {};
    },

    sendTraces({ resourceSpans }, context) {
      options.takeSpans(resourceSpans, context.requestHeader.get("modname") ?? "");
      return {};
    },

    async uploadDataFromPath({ path, uploadMetadata }, { signal }) {
      if (path === "") {
        throw new ConnectError("path is empty; name a file or folder", Code.InvalidArgument);
      }
      const { tags = [], datasetIds = [] } = uploadMetadata ?? {};
      return await options.uploadFromPath(path, { tags, datasetIds }, signal);
    },

    shutdown() {
      options.shutdown();
      return {};
    },

    getOperations: (_request, context) => ({
      operations: operations.list()
        .filter(({ method }) => method !== `/${context.service.typeName}/${context.method.name}`)
        .map(operationMessage),
    }),

    cancelOperation({ id }) {
      operations.cancel(id);
      return {};
    },

    async blockForOperation({ id }, { signal }) {
      await Promise.race([operations.wait(id), aborted(signal)]);
      return {};
    },

    async stopAll(_request, context) {
      await stopEverything(resources, context);
      return {};
    },

    startSession: ({ resume }, context) => ({
      id: sessions.start(ownerOf(context), resume, context.values.get(identityKey)),
      heartbeatWindow: durationFromMs(sessions.heartbeatWindowMs),
    }),

    sendSessionHeartbeat({ id }, context) {
      sessions.heartbeat(ownerOf(context), id);
      return {};
    },

    tunnel: (requests, { signal }) => tunnels.open(requests, signal),

    listTunnels: () => tunnels.list(),

    frameSystemConfig({ supplementalTransforms }, { signal, requestHeader }) {
      const asking = requestHeader.get(ASKING_HEADER)?.split(",", MOST_ASKING)
        .filter((id) => MACHINE_ID.test(id)) ?? [];
      return frames.config(supplementalTransforms, signal, asking);
    },

    getPose: (request, { signal }) => frames.pose(request, signal),

    transformPose: (request, { signal }) => frames.transformPose(request, signal),

    transformPCD: (request, { signal }) => frames.transformPcd(request, signal),

    getSessions: () => ({ sessions: sessions.list().map((id) => ({ id })) }),
  };
}

/** `v1.2.3` of `1.2.3-4-gabc`: published clients take nothing behind the third number. */
function plainVersion(version: string): string {
  return `v${version.match(/^\d+\.\d+\.\d+/)?.[0] ?? "0.0.0"}`;
}

function operationMessage({ id, method, started, sessionId }: Operation) {
  return create(OperationSchema, {
    id,
    method,
    started: timestampFromDate(started),
    ...(sessionId && { sessionId }),
  });
}

function ownerOf(context: HandlerContext): string {
  return context.values.get(identityKey)?.entity ?? "";
}

async function stopEverything(resources: ResourceManager, call: HandlerContext): Promise<void> {
  const failures: string[] = [];
  await Promise.all(
    [...resources.ready()].map(async ({ api, name, resource }) => {
      try {
        await resource.stop?.(call);
      } catch (error) {
        failures.push(`${fullName(api, name)}: ${toError(error).message}`);
      }
    }),
  );
  if (failures.length > 0) {
    throw new ConnectError(`could not stop ${failures.join("; ")}`, Code.Unknown);
  }
}
