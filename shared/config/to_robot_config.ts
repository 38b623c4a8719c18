import { create } from "@bufbuild/protobuf";
import {
  AppValidationStatusSchema,
  type AuthConfig as AuthMessage,
  AuthConfigSchema,
  CloudConfigSchema,
  ComponentConfigSchema,
  type JobConfig as JobMessage,
  JobConfigSchema,
  LogConfigurationSchema,
  LogPatternConfigSchema,
  MaintenanceConfigSchema,
  type ModuleConfig as ModuleMessage,
  ModuleConfigSchema,
  type NetworkConfig as NetworkMessage,
  NetworkConfigSchema,
  PackageConfigSchema,
  type ProcessConfig as ProcessMessage,
  ProcessConfigSchema,
  type RemoteConfig as RemoteMessage,
  RemoteConfigSchema,
  ResourceLevelServiceConfigSchema,
  type RobotConfig,
  RobotConfigSchema,
  ServiceConfigSchema,
  TracingConfigSchema,
} from "../gen/viam/app/v1/robot_pb.ts";
import type { MachineConfig } from "./machine_config.ts";
import type { ModuleConfig } from "./modules.ts";
import type { AuthConfig, NetworkConfig } from "./network.ts";
import type { JobConfig } from "./operation.ts";
import { toFrame } from "./proto/frames.ts";
import { durationOfMs, toCredentialsType, toDuration, toStruct } from "./proto/values.ts";
import { reloaded } from "./reload.ts";
import { parseResourceName, resourceNameToProto } from "./resource_name.ts";
import type { ProcessConfig, RemoteConfig } from "./remotes.ts";
import type { ResourceConfig, ServiceConfigEntry } from "./resources.ts";
import { parseSignal } from "./stop_signal.ts";

/** What the cloud knows about a machine and sends in the `cloud` part of its configuration. */
export interface CloudConfigInput {
  partId: string;
  machineId: string;
  locationId: string;
  primaryOrgId: string;
  fqdn: string;
  localFqdn: string;
  /** host:port of the signalling service. */
  signalingAddress?: string;
  signalingInsecure?: boolean;
  managedBy?: string;
  /** Part secret; only where the machine is to have it. */
  secret?: string;
  /** Accepted by the machine's own server as robot-location-secret. */
  locationSecrets?: readonly { id: string; secret: string }[];
}

const NS_PER_MS = 1e6;
/**
 * The message a machine gets for its configuration. Triggers, agent and fragments stay in the cloud,
 * as do keys that are not known. Resources carry the API both whole and as namespace and type,
 * because servers read either.
 *
 * @param config checked: `parseMachineConfig` has left out what is wrong
 * @param options.revision in place of the configuration's own
 */
export function toRobotConfig(
  config: MachineConfig,
  cloud: CloudConfigInput | undefined,
  options: { revision?: string } = {},
): RobotConfig {
  const message = create(RobotConfigSchema, {
    remotes: config.remotes.map(toRemote),
    components: config.components.map((entry) =>
      create(ComponentConfigSchema, { ...resourceFields(entry), ...frameField(entry) })
    ),
    services: config.services.map((entry) => create(ServiceConfigSchema, resourceFields(entry))),
    processes: config.processes.map(toProcess),
    modules: config.modules.map(toModule),
    packages: config.packages.map(({ name, package: id, version, type, status }) =>
      create(PackageConfigSchema, {
        name,
        package: id,
        version: version ?? "",
        type,
        ...statusField(status),
      })
    ),
    log: config.log.map(({ pattern, level }) => create(LogPatternConfigSchema, { pattern, level })),
    jobs: config.jobs.map(toJob),
    debug: config.debug,
    enableWebProfile: config.enable_web_profile,
    disableLogDeduplication: config.disable_log_deduplication,
    revision: options.revision ?? config.revision,
  });
  if (cloud) message.cloud = toCloud(cloud);
  if (config.network) message.network = toNetwork(config.network);
  if (config.auth) message.auth = toAuth(config.auth);
  if (config.maintenance) {
    const { sensor_name: sensor, maintenance_allowed_key: key } = config.maintenance;
    message.maintenance = create(MaintenanceConfigSchema, {
      sensorName: resourceNameToProto(parseResourceName(sensor)),
      maintenanceAllowedKey: key,
    });
  }
  if (config.tracing) {
    const { enabled = false, disk = false, console = false, otlpendpoint } = config.tracing;
    message.tracing = create(TracingConfigSchema, {
      enabled,
      disk,
      console,
      otlpEndpoint: otlpendpoint ?? "",
    });
  }
  return message;
}

function toCloud(cloud: CloudConfigInput) {
  const { partId, locationSecrets = [], ...rest } = cloud;
  return create(CloudConfigSchema, {
    ...rest,
    id: partId,
    locationSecrets: locationSecrets.map((secret) => ({ ...secret })),
  });
}

function resourceFields(entry: ResourceConfig) {
  const [namespace = "", , subtype = ""] = entry.api.split(":");
  const attributes = toStruct(entry.attributes);
  const level = entry.log_configuration?.level;
  return {
    name: entry.name,
    namespace,
    type: subtype,
    api: entry.api,
    model: entry.model,
    dependsOn: entry.depends_on ?? [],
    serviceConfigs: toServiceConfigs(entry.service_configs),
    ...(attributes ? { attributes } : {}),
    ...(level ? { logConfiguration: create(LogConfigurationSchema, { level }) } : {}),
  };
}

function frameField(entry: { frame?: ResourceConfig["frame"] }) {
  const frame = toFrame(entry.frame);
  return frame ? { frame } : {};
}

function toServiceConfigs(entries: readonly ServiceConfigEntry[] | undefined) {
  return (entries ?? []).map((entry) => {
    const attributes = toStruct(entry.attributes);
    return create(ResourceLevelServiceConfigSchema, {
      type: entry.type,
      ...(attributes ? { attributes } : {}),
    });
  });
}

function statusField(status: ModuleConfig["status"]) {
  return status?.error
    ? { status: create(AppValidationStatusSchema, { error: status.error }) }
    : {};
}

function toModule(written: ModuleConfig): ModuleMessage {
  const module = reloaded(written);
  const timeout = module.first_run_timeout;
  const firstRunTimeout = typeof timeout === "number"
    ? durationOfMs(timeout / NS_PER_MS)
    : toDuration(timeout);
  return create(ModuleConfigSchema, {
    name: module.name,
    path: module.executable_path ?? "",
    logLevel: module.log_level ?? "",
    type: module.type || (module.module_id ? "registry" : "local"),
    moduleId: module.module_id ?? "",
    env: module.env ?? {},
    tcpMode: module.tcp_mode ?? false,
    ...statusField(module.status),
    ...(firstRunTimeout ? { firstRunTimeout } : {}),
  });
}

function toRemote(remote: RemoteConfig): RemoteMessage {
  const check = toDuration(remote.connection_check_interval);
  const reconnect = toDuration(remote.reconnect_interval);
  const credentials = remote.auth?.credentials;
  return create(RemoteConfigSchema, {
    name: remote.name,
    address: remote.address ?? "",
    prefix: remote.prefix ?? "",
    managedBy: remote.managed_by ?? "",
    insecure: remote.insecure ?? false,
    secret: remote.secret ?? "",
    serviceConfigs: toServiceConfigs(remote.service_configs),
    ...frameField(remote),
    ...(check ? { connectionCheckInterval: check } : {}),
    ...(reconnect ? { reconnectInterval: reconnect } : {}),
    ...(remote.auth
      ? {
        auth: {
          entity: remote.auth.entity ?? "",
          ...(credentials
            ? {
              credentials: {
                type: toCredentialsType(credentials.type),
                payload: credentials.payload,
              },
            }
            : {}),
        },
      }
      : {}),
  });
}

function toProcess(process: ProcessConfig): ProcessMessage {
  const stopTimeout = toDuration(process.stop_timeout);
  return create(ProcessConfigSchema, {
    id: process.id,
    name: process.name,
    args: process.args ?? [],
    cwd: process.cwd ?? "",
    oneShot: process.one_shot ?? false,
    username: process.username ?? "",
    env: process.env ?? {},
    log: process.log ?? false,
    stopSignal: signalNumber(process.stop_signal),
    ...(stopTimeout ? { stopTimeout } : {}),
  });
}

/** 0, the standard one, without a signal or with one that is none. */
function signalNumber(signal: ProcessConfig["stop_signal"]): number {
  return signal === undefined ? 0 : parseSignal(signal)?.number ?? 0;
}

function toNetwork(network: NetworkConfig): NetworkMessage {
  const heartbeatWindow = toDuration(network.sessions?.heartbeat_window);
  return create(NetworkConfigSchema, {
    fqdn: network.fqdn ?? "",
    bindAddress: network.bind_address ?? "",
    tlsCertFile: network.tls_cert_file ?? "",
    tlsKeyFile: network.tls_key_file ?? "",
    noTls: network.no_tls ?? false,
    trafficTunnelEndpoints: (network.traffic_tunnel_endpoints ?? []).map((endpoint) => {
      const connectionTimeout = toDuration(endpoint.connection_timeout);
      return { port: endpoint.port, ...(connectionTimeout ? { connectionTimeout } : {}) };
    }),
    ...(heartbeatWindow ? { sessions: { heartbeatWindow } } : {}),
  });
}

function toAuth(auth: AuthConfig): AuthMessage {
  const keys = toStruct(auth.external_auth_config?.jwks);
  return create(AuthConfigSchema, {
    handlers: (auth.handlers ?? []).map((handler) => {
      const config = toStruct(handler.config);
      return { type: toCredentialsType(handler.type), ...(config ? { config } : {}) };
    }),
    tlsAuthEntities: auth.tls_auth_entities ?? [],
    userPermissions: (auth.user_permissions ?? []).map(({ user, permissions = [] }) => ({
      user: { type: user?.type ?? "", id: user?.id ?? "" },
      permissions: permissions.map((permission) => ({
        resources: permission.resources ?? [],
        allowedMethods: permission.allowed_methods ?? [],
      })),
    })),
    ...(keys ? { externalAuthConfig: { jwks: { json: keys } } } : {}),
  });
}

function toJob(job: JobConfig): JobMessage {
  const command = toStruct(job.command);
  const level = job.log_configuration?.level;
  return create(JobConfigSchema, {
    name: job.name,
    schedule: job.schedule,
    resource: job.resource,
    method: job.method,
    ...(command ? { command } : {}),
    ...(level ? { logConfiguration: { level } } : {}),
  });
}
