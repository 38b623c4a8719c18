import type { Action } from "./roles.ts";

/**
 * What a call to a machine's server needs:
 * - `open`: nothing;
 * - `see`: a caller who signed in; every program needs these to connect, whatever it then does;
 * - `operate`: the role operator or owner;
 * - `manage`: the role owner.
 */
export type MethodRight = "open" | Extract<Action, "see" | "operate" | "manage">;

type RightsByMethod = Readonly<Record<string, MethodRight>>;

/** Services about the machine as a whole, method by method: one that is missing needs `manage`. */
const MACHINE_SERVICES: Readonly<Record<string, RightsByMethod>> = {
  "proto.rpc.v1.AuthService": { Authenticate: "open" },
  "grpc.health.v1.Health": { Check: "open", List: "open", Watch: "open" },
  "grpc.reflection.v1.ServerReflection": { ServerReflectionInfo: "see" },
  "grpc.reflection.v1alpha.ServerReflection": { ServerReflectionInfo: "see" },
  "proto.rpc.webrtc.v1.SignalingService": {
    Answer: "manage",
    Call: "see",
    CallUpdate: "see",
    OptionalWebRTCConfig: "see",
    ReportConnectionMetadata: "see",
  },
  "machine.server.v1.DiagnosticsService": { GetHistory: "operate" },
  "proto.stream.v1.StreamService": {
    AddStream: "operate",
    GetStreamOptions: "operate",
    ListStreams: "see",
    RemoveStream: "operate",
    SetStreamOptions: "operate",
  },
  "proto.rpc.examples.echo.v1.EchoService": {
    Echo: "operate",
    EchoBiDi: "operate",
    EchoMultiple: "operate",
  },
  "viam.robot.v1.RobotService": {
    BlockForOperation: "operate",
    CancelOperation: "operate",
    FrameSystemConfig: "operate",
    GetCloudMetadata: "see",
    GetMachineStatus: "see",
    GetModelsFromModules: "operate",
    GetOperations: "see",
    GetPose: "operate",
    GetSessions: "operate",
    GetStatus: "operate",
    GetVersion: "see",
    ListTunnels: "manage",
    Log: "operate",
    ResourceNames: "see",
    ResourceRPCSubtypes: "see",
    RestartModule: "manage",
    SendSessionHeartbeat: "see",
    SendTraces: "operate",
    Shutdown: "manage",
    StartSession: "see",
    // Whoever may move something may stop it, and everything next to it.
    StopAll: "operate",
    StreamStatus: "operate",
    TransformPCD: "operate",
    TransformPose: "operate",
    Tunnel: "manage",
    // Reads any file of the machine that the server may read.
    UploadDataFromPath: "manage",
  },
};

/** Services of resources that are more than the use of a resource. */
const RESOURCE_SERVICES: Readonly<Record<string, RightsByMethod>> = {
  "viam.service.shell.v1.ShellService": {
    CopyFilesFromMachine: "manage",
    CopyFilesToMachine: "manage",
    DoCommand: "manage",
    GetStatus: "operate",
    Shell: "manage",
  },
};

/** What methods need, by service, where a row says it; {@link machineRight} knows it of all. */
export const LISTED_RIGHTS: Readonly<Record<string, RightsByMethod>> = {
  ...MACHINE_SERVICES,
  ...RESOURCE_SERVICES,
};

/** Packages whose services are those of this table and nothing that a module could bring. */
const OWN_PACKAGES = ["proto.", "grpc.", "viam.robot.", "viam.module.", "viam.app.", "machine."];

/** Whether a service is about the machine as a whole, so that its requests name no resource. */
export function isMachineWide(service: string): boolean {
  return Object.hasOwn(MACHINE_SERVICES, service) ||
    OWN_PACKAGES.some((name) => service.startsWith(name));
}

/**
 * What a method of a machine's server needs. Every other service is a resource's, built in or of a
 * module, and using a resource needs `operate`.
 *
 * @param service `viam.robot.v1.RobotService`
 * @param method `Shutdown`
 */
export function machineRight(service: string, method: string): MethodRight {
  const rights = listed(service);
  if (rights) return Object.hasOwn(rights, method) ? rights[method] ?? "manage" : "manage";
  return isMachineWide(service) ? "manage" : "operate";
}

function listed(service: string): RightsByMethod | undefined {
  return Object.hasOwn(LISTED_RIGHTS, service) ? LISTED_RIGHTS[service] : undefined;
}
