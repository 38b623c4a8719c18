import type {
  AuthConfig as AuthMessage,
  CloudConfig as CloudMessage,
  ComponentConfig as ComponentMessage,
  JobConfig as JobMessage,
  ModuleConfig as ModuleMessage,
  NetworkConfig as NetworkMessage,
  PackageConfig as PackageMessage,
  ProcessConfig as ProcessMessage,
  RemoteConfig as RemoteMessage,
  ResourceLevelServiceConfig,
  RobotConfig,
  ServiceConfig as ServiceMessage,
} from "../gen/viam/app/v1/robot_pb.ts";
import type { CloudBlock } from "./cloud_block.ts";
import { emptyMachineConfig, type MachineConfig } from "./machine_config.ts";
import type { ModuleConfig, PackageConfig } from "./modules.ts";
import type { AuthConfig, NetworkConfig } from "./network.ts";
import { normalizeResource, type ResourceKind } from "./normalize.ts";
import type { JobConfig } from "./operation.ts";
import { fromFrame } from "./proto/frames.ts";
import { compact, fromCredentialsType, fromDuration } from "./proto/values.ts";
import type { ProcessConfig, RemoteConfig } from "./remotes.ts";
import { formatResourceName, resourceNameFromProto } from "./resource_name.ts";
import type { ResourceConfig } from "./resources.ts";

/**
 * The configuration in a message from a cloud. Nothing is checked: `checkMachineConfig` comes next.
 * What a message cannot distinguish from "not set" (empty texts, false, 0) is left out.
 */
export function fromRobotConfig(message: RobotConfig): MachineConfig {
  return {
    ...emptyMachineConfig(),
    components: message.components.map((entry) => fromResource(entry, "component")),
    services: message.services.map((entry) => fromResource(entry, "service")),
    modules: message.modules.map(fromModule),
    remotes: message.remotes.map(fromRemote),
    processes: message.processes.map(fromProcess),
    packages: message.packages.map(fromPackage),
    log: message.log.map(({ pattern, level }) => ({ pattern, level })),
    jobs: message.jobs.map(fromJob),
    debug: message.debug ?? false,
    disable_log_deduplication: message.disableLogDeduplication,
    enable_web_profile: message.enableWebProfile,
    revision: message.revision,
    ...(message.cloud ? { cloud: fromCloud(message.cloud) } : {}),
    ...(message.network ? { network: fromNetwork(message.network) } : {}),
    ...(message.auth ? { auth: fromAuth(message.auth) } : {}),
    ...fromMaintenance(message.maintenance),
    ...fromTracing(message.tracing),
  };
}

function fromResource(
  message: ComponentMessage | ServiceMessage,
  kind: ResourceKind,
): ResourceConfig {
  const entry = compact({
    name: message.name,
    api: message.api,
    namespace: message.namespace,
    type: message.type,
    model: message.model,
    depends_on: [...message.dependsOn],
    log_configuration: compact({ level: message.logConfiguration?.level }),
    service_configs: fromServiceConfigs(message.serviceConfigs),
    frame: "frame" in message ? fromFrame(message.frame) : undefined,
  });
  const { attributes } = message;
  return normalizeResource({ ...entry, ...(attributes ? { attributes } : {}) }, kind);
}

function fromServiceConfigs(messages: readonly ResourceLevelServiceConfig[]) {
  return messages.map(({ type, attributes }) => ({ type, ...(attributes ? { attributes } : {}) }));
}

function fromModule(message: ModuleMessage): ModuleConfig {
  const type = message.type === "local" || message.type === "registry" ? message.type : undefined;
  return {
    name: message.name,
    ...compact({
      type,
      executable_path: message.path,
      module_id: message.moduleId,
      log_level: message.logLevel,
      env: { ...message.env },
      tcp_mode: message.tcpMode,
      first_run_timeout: fromDuration(message.firstRunTimeout),
      status: compact({ error: message.status?.error }),
    }),
  };
}

function fromPackage(message: PackageMessage): PackageConfig {
  const { name, package: id, version, type, status } = message;
  return {
    name,
    package: id,
    type,
    ...compact({ version, status: compact({ error: status?.error }) }),
  };
}

function fromRemote(message: RemoteMessage): RemoteConfig {
  const credentials = message.auth?.credentials;
  return {
    name: message.name,
    ...compact({
      address: message.address,
      prefix: message.prefix,
      managed_by: message.managedBy,
      insecure: message.insecure,
      secret: message.secret,
      frame: fromFrame(message.frame),
      connection_check_interval: fromDuration(message.connectionCheckInterval),
      reconnect_interval: fromDuration(message.reconnectInterval),
      service_configs: fromServiceConfigs(message.serviceConfigs),
      auth: message.auth && compact({
        entity: message.auth.entity,
        credentials: credentials && {
          type: fromCredentialsType(credentials.type),
          payload: credentials.payload,
        },
      }),
    }),
  };
}

function fromProcess(message: ProcessMessage): ProcessConfig {
  return {
    id: message.id,
    name: message.name,
    ...compact({
      args: [...message.args],
      cwd: message.cwd,
      one_shot: message.oneShot,
      username: message.username,
      env: { ...message.env },
      log: message.log,
      stop_signal: message.stopSignal,
      stop_timeout: fromDuration(message.stopTimeout),
    }),
  };
}

function fromJob(message: JobMessage): JobConfig {
  const { name, schedule, resource, method, command } = message;
  return {
    name,
    schedule,
    resource,
    method,
    ...(command ? { command } : {}),
    ...compact({ log_configuration: compact({ level: message.logConfiguration?.level }) }),
  };
}

function fromNetwork(message: NetworkMessage): NetworkConfig {
  return compact({
    fqdn: message.fqdn,
    bind_address: message.bindAddress,
    tls_cert_file: message.tlsCertFile,
    tls_key_file: message.tlsKeyFile,
    no_tls: message.noTls,
    sessions: compact({ heartbeat_window: fromDuration(message.sessions?.heartbeatWindow) }),
    traffic_tunnel_endpoints: message.trafficTunnelEndpoints.map((endpoint) => ({
      port: endpoint.port,
      ...compact({ connection_timeout: fromDuration(endpoint.connectionTimeout) }),
    })),
  });
}

function fromAuth(message: AuthMessage): AuthConfig {
  const keys = message.externalAuthConfig?.jwks?.json;
  return {
    ...compact({
      handlers: message.handlers.map(({ type, config }) => ({
        type: fromCredentialsType(type),
        ...(config ? { config } : {}),
      })),
      tls_auth_entities: [...message.tlsAuthEntities],
      user_permissions: message.userPermissions.map(({ user, permissions }) => ({
        user: { type: user?.type ?? "", id: user?.id ?? "" },
        permissions: permissions.map((permission) => ({
          resources: [...permission.resources],
          allowed_methods: [...permission.allowedMethods],
        })),
      })),
    }),
    ...(keys ? { external_auth_config: { jwks: keys as KeySet } } : {}),
  };
}

/** Keys are checked later; here they are what the message holds. */
type KeySet = NonNullable<AuthConfig["external_auth_config"]>["jwks"];

function fromCloud(message: CloudMessage): CloudBlock {
  return compact({
    id: message.id,
    secret: message.secret,
    location_secret: message.locationSecret,
    location_secrets: message.locationSecrets.map(({ id, secret }) => ({ id, secret })),
    primary_org_id: message.primaryOrgId,
    location_id: message.locationId,
    machine_id: message.machineId,
    managed_by: message.managedBy,
    fqdn: message.fqdn,
    local_fqdn: message.localFqdn,
    signaling_address: message.signalingAddress,
    signaling_insecure: message.signalingInsecure,
  });
}

function fromMaintenance(message: RobotConfig["maintenance"]): Pick<MachineConfig, "maintenance"> {
  if (message === undefined) return {};
  const { sensorName, maintenanceAllowedKey } = message;
  return {
    maintenance: {
      sensor_name: sensorName ? formatResourceName(resourceNameFromProto(sensorName)) : "",
      maintenance_allowed_key: maintenanceAllowedKey,
    },
  };
}

function fromTracing(message: RobotConfig["tracing"]): Pick<MachineConfig, "tracing"> {
  if (message === undefined) return {};
  const { enabled, disk, console, otlpEndpoint } = message;
  return {
    tracing: { enabled, ...compact({ disk, console, otlpendpoint: otlpEndpoint }) },
  };
}
