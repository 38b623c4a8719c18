/** What a module finds in its environment. */
import type { WantedModule } from "./wanted_module.ts";

/** What is reported to modules of the machine; "" for what it has not. */
export interface MachineFacts {
  readonly primaryOrgId: string;
  readonly locationId: string;
  readonly machineId: string;
  readonly machinePartId: string;
  readonly machineFqdn: string;
  /** The first API key, by id, that opens the machine. */
  readonly apiKeyId: string;
  readonly apiKey: string;
  /** True when modules shall write spans of what they do. */
  readonly tracing: boolean;
}

export interface EnvironmentInput {
  /** What the server's programs get of its own variables. */
  readonly inherited: Readonly<Record<string, string>>;
  readonly facts: MachineFacts;
  readonly module: WantedModule;
  /** Folder of the server's state. */
  readonly home: string;
  /** The module's own folder for data. */
  readonly dataFolder: string;
  /** Absolute path of MODULE_ROOT. */
  readonly root: string;
  /** Where the module is to serve; the same as its first argument. */
  readonly address: string;
  /** What lets its processes in at the parent server. Default: nothing is needed. */
  readonly admission?: Readonly<Record<string, string>>;
}

/**
 * The whole environment: what the server passes on, then what the configuration specifies,
 * then our own values, each as MACHINE_X and as the VIAM_X that existing modules read.
 */
export function moduleEnvironment(input: EnvironmentInput): Record<string, string> {
  const { inherited, facts, module, home, dataFolder, root, address } = input;
  const env: Record<string, string> = { ...inherited };
  const give = (machineName: string, value: string, viamName = machineName) => {
    // An empty value would hide a fallback that existing modules have.
    if (value === "") return;
    env[`MACHINE_${machineName}`] = value;
    env[`VIAM_${viamName}`] = value;
  };
  give("HOME", home);
  give("MODULE_DATA", dataFolder);
  give("MODULE_NAME", module.name);
  give("MODULE_ID", module.moduleId ?? "");
  give("MODULE_ROOT", root);
  give("MODULE_ADDRESS", address);
  give("PRIMARY_ORG_ID", facts.primaryOrgId);
  give("LOCATION_ID", facts.locationId);
  give("FQDN", facts.machineFqdn, "MACHINE_FQDN");
  give("ID", facts.machineId, "MACHINE_ID");
  give("PART_ID", facts.machinePartId, "MACHINE_PART_ID");
  give("API_KEY_ID", facts.apiKeyId);
  give("API_KEY", facts.apiKey);
  give("MODULE_TRACING", facts.tracing ? "1" : "");
  return { ...env, ...module.env, ...input.admission };
}
