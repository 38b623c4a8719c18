/**
 * The configuration of a machine as the programs use it. Everything keeps its JSON names and JSON
 * units (durations are Go texts), so a `MachineConfig` is written out with `JSON.stringify`.
 * Keys that are not known here are kept in the objects they stand in.
 */
import type { AgentConfig } from "./agent_fields.ts";
import type { CloudBlock } from "./cloud_block.ts";
import type { ModuleConfig, PackageConfig } from "./modules.ts";
import type { AuthConfig, NetworkConfig } from "./network.ts";
import type { JobConfig, LogRule, MaintenanceConfig, TracingConfig } from "./operation.ts";
import type { ProcessConfig, RemoteConfig } from "./remotes.ts";
import type { ResourceConfig } from "./resources.ts";
import type { TriggerConfig } from "./triggers.ts";

export interface MachineConfig {
  cloud?: CloudBlock;
  components: ResourceConfig[];
  services: ResourceConfig[];
  modules: ModuleConfig[];
  remotes: RemoteConfig[];
  processes: ProcessConfig[];
  packages: PackageConfig[];
  network?: NetworkConfig;
  auth?: AuthConfig;
  log: LogRule[];
  debug: boolean;
  maintenance?: MaintenanceConfig;
  disable_log_deduplication: boolean;
  jobs: JobConfig[];
  tracing?: TracingConfig;
  enable_web_profile: boolean;
  /** Opaque; empty when unknown. */
  revision: string;
  triggers: TriggerConfig[];
  /** Kept as they are. */
  fragments: unknown[];
  /** Kept as they are. */
  fragment_mods: unknown[];
  agent?: AgentConfig;
}

/** A configuration with nothing in it. */
export function emptyMachineConfig(): MachineConfig {
  return {
    components: [],
    services: [],
    modules: [],
    remotes: [],
    processes: [],
    packages: [],
    log: [],
    debug: false,
    disable_log_deduplication: false,
    jobs: [],
    enable_web_profile: false,
    revision: "",
    triggers: [],
    fragments: [],
    fragment_mods: [],
  };
}
