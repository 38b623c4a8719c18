/** The parts of a machine that most machines lack: each is loaded when a configuration has one. */
import { join } from "node:path";
import type { DescService } from "@bufbuild/protobuf";
import { PackageService } from "../../../shared/gen/viam/app/packages/v1/packages_pb.ts";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import type { RpcRouter } from "../../../shared/rpc/server/router.ts";
import { agentInfo } from "../../cloud/link/agent_info.ts";
import type { JobManager } from "../../modules/jobs/job_manager.ts";
import type { MachineFacts } from "../../modules/manager/module_environment.ts";
import type { ModuleManager, ModuleManagerOptions } from "../../modules/manager/module_manager.ts";
import type {
  PackageManager,
  PackageManagerOptions,
} from "../../modules/packages/package_manager.ts";
import type { ProcessManager } from "../../modules/processes/process_manager.ts";
import type { CloudSignaling } from "../../remotes/dial.ts";
import type { RemoteManager } from "../../remotes/remote_manager.ts";
import type { ResourceManager } from "../../resources/graph/manager.ts";
import { fullName } from "../../resources/graph/name.ts";
import type { ResourceSpec } from "../../resources/graph/target.ts";
import type { LearnedApis } from "../../serving/apis/learned_apis.ts";
import type { MachineContext } from "./machine_context.ts";

/** What the parts use of the machine. */
export interface PartsOptions {
  readonly resources: ResourceManager;
  readonly apis: LearnedApis;
  /** Adds what modules may call of the server; the returned function ends that. */
  readonly mountForModules: (router: RpcRouter) => () => void;
  /** Run around what modules and jobs call. */
  readonly interceptors: readonly Interceptor[];
  readonly facts: () => MachineFacts;
  /** Where the machine's cloud signals, for remotes; undefined without a cloud. */
  readonly cloudSignaling: () => CloudSignaling | undefined;
  /** Called after each change of what status shows. */
  readonly onChange: () => void;
}

export async function loadPackages(
  context: MachineContext,
  onChange: () => void,
): Promise<PackageManager> {
  const { PackageManager } = await import("../../modules/packages/package_manager.ts");
  const { environment: { home }, db, clock, log } = context;
  return new PackageManager({
    ...{ home, db, cloud: packageCloud(context), clock, onChange },
    log: log.child("package_manager"),
  });
}

/** How packages are had from the cloud; undefined without one. */
function packageCloud(
  { cloud, build, switches }: MachineContext,
): PackageManagerOptions["cloud"] {
  return cloud && {
    client: cloud.connection.client(PackageService),
    address: cloud.credentials.appAddress,
    credentials: cloud.credentials.credentials,
    allowInsecure: switches.allowInsecure,
    platform: agentInfo(build).platform ?? "",
  };
}

export async function loadModules(
  context: MachineContext,
  options: PartsOptions,
  events: Pick<ModuleManagerOptions, "onChangedOver" | "onFirstRun">,
): Promise<ModuleManager> {
  const { ModuleManager } = await import("../../modules/manager/module_manager.ts");
  const { ParentServer } = await import("../../modules/manager/parent_server.ts");
  const { environment } = context;
  const log = context.log.child("modmanager");
  return new ModuleManager({
    registry: context.registry,
    resourcesChanged: () => options.resources.refresh(),
    learned: options.apis,
    parent: new ParentServer({
      mount: options.mountForModules,
      interceptors: options.interceptors,
      log,
      folderFile: join(environment.home, "module-sockets"),
    }),
    processes: context.processes,
    clock: context.clock,
    log,
    writeLog: (line) => context.logSettings.forward(line),
    facts: options.facts,
    home: environment.home,
    readVariables: context.variables,
    startupTimeoutMs: environment.moduleStartupTimeoutMs,
    tcpSockets: environment.tcpSockets,
    untrusted: context.switches.untrusted,
    onChange: options.onChange,
    ...events,
  });
}

export async function loadJobs(
  { clock, log }: MachineContext,
  { apis, resources, onChange, interceptors }: PartsOptions,
): Promise<JobManager> {
  const { JobManager } = await import("../../modules/jobs/job_manager.ts");
  const { createJobCaller } = await import("../../modules/jobs/job_caller.ts");
  const { RpcRouter } = await import("../../../shared/rpc/server/router.ts");
  const router = new RpcRouter();
  apis.mount(router);
  const call = createJobCaller({
    router,
    interceptors,
    apisOf: (name) =>
      resources.snapshot().filter((one) =>
        one.name === name || fullName(one.api, one.name) === name
      ),
    serviceOf: (api): DescService | undefined => apis.serviceOf(api),
  });
  return new JobManager({ clock, call, log: log.child("job_manager"), onChange });
}

/** @param onSpecs receives the resources of all remotes whenever they change. */
export async function loadRemotes(
  { clock, switches: { webrtc, allowInsecure }, log: root }: MachineContext,
  { apis, resources, cloudSignaling, onChange }: PartsOptions,
  { ownId, onSpecs }: {
    readonly ownId: string;
    readonly onSpecs: (specs: readonly ResourceSpec[]) => void;
  },
): Promise<RemoteManager> {
  const { RemoteManager } = await import("../../remotes/remote_manager.ts");
  const { dialRemote } = await import("../../remotes/dial.ts");
  const log = root.child("remotes");
  const peers = async () => {
    const { weriftPeers } = await import("../../../shared/rtc/webrtc/werift_peers.ts");
    return weriftPeers({ clock, log });
  };
  const options = { webrtc, allowInsecure, cloudSignaling, peers, clock, log };
  return new RemoteManager({
    ownId,
    apis,
    dial: (settings, signal) => dialRemote(settings, options, signal),
    clock,
    log,
    onChange: (specs, facts) => {
      onSpecs(specs);
      resources.setFound(specs, facts);
      onChange();
    },
  });
}

export async function loadProcesses(context: MachineContext): Promise<ProcessManager> {
  const { ProcessManager } = await import("../../modules/processes/process_manager.ts");
  const { processes, clock, log, switches, variables, environment: { home } } = context;
  return new ProcessManager({
    ...{ processes, clock, log: log.child("process"), untrusted: switches.untrusted },
    ...{ environment: variables(), home },
  });
}
