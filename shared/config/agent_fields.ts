/**
 * The fields of the `agent` object (spec §2.4): type, default, range and meaning of each.
 *
 * This table is the one description: the agent reads its settings with it (agent_settings.ts), the
 * cloud checks saves with it, and the zod schema and the JSON Schema are made from it
 * (agent_schema.ts). It is plain data because the agent runs without zod.
 */

interface Documented {
  /** Meaning, for editors and documentation. */
  readonly doc: string;
  /** Name the same field has in configurations written for other programs of the family. */
  readonly alias?: string;
}

/** True or false. */
export interface BooleanField extends Documented {
  readonly kind: "boolean";
  readonly default: boolean;
}
/** True, false, or null for "leave it as the system has it". */
export interface TriStateField extends Documented {
  readonly kind: "tristate";
  readonly default: boolean | null;
}
/** A whole number in a range. */
export interface IntegerField extends Documented {
  readonly kind: "integer";
  readonly default: number;
  readonly min: number;
  readonly max: number;
}
/** Minutes: a number, or a duration text such as `1h20m`. `zeroDisables`: 0 is fine below `min`. */
export interface MinutesField extends Documented {
  readonly kind: "minutes";
  readonly default: number;
  readonly min: number;
  readonly zeroDisables?: boolean;
}
/** What a text must look like, beyond being a text. */
export type TextForm =
  | "any"
  | "version"
  | "interface"
  | "ssid"
  | "psk"
  | "hotspot-password"
  | "hotspot-prefix"
  | "bluetooth-brand"
  | "http-url"
  | "ipv4"
  | "ipv4-cidr";
/** A text of some form. */
export interface TextField extends Documented {
  readonly kind: "text";
  readonly default: string;
  readonly form: TextForm;
}
/** One of some texts. */
export interface ChoiceField extends Documented {
  readonly kind: "choice";
  readonly default: string;
  readonly choices: readonly string[];
}
/** A list of IPv4 addresses. */
export interface AddressesField extends Documented {
  readonly kind: "ipv4-list";
  readonly default: readonly string[];
}
/** An object of texts; values are secret. */
export interface EnvironmentField extends Documented {
  readonly kind: "environment";
  readonly default: Readonly<Record<string, string>>;
}

export type AgentField =
  | BooleanField
  | TriStateField
  | IntegerField
  | MinutesField
  | TextField
  | ChoiceField
  | AddressesField
  | EnvironmentField;

export type AgentFieldTable = Readonly<Record<string, AgentField>>;

const flag = (doc: string, alias?: string): BooleanField => ({
  kind: "boolean",
  default: false,
  doc,
  ...(alias === undefined ? {} : { alias }),
});

const text = (form: TextForm, standard: string, doc: string): TextField => ({
  kind: "text",
  form,
  default: standard,
  doc,
});

/** `agent.version_control` */
export const versionControlFields = {
  "agent": text(
    "version",
    "stable",
    "Agent version: a semantic version, a range, stable, dev, or a URL (http, https, file). With " +
      "stable the agent upgrades itself when a new release appears.",
  ),
  "machine-server": {
    ...text(
      "version",
      "stable",
      "Server version: a semantic version, a range, stable, dev, or a URL (http, https, file) of a " +
        "binary; #sha256=HEX behind a URL pins what the file must be.",
    ),
    alias: "viam-server",
  },
} as const satisfies AgentFieldTable;

/** `agent.advanced_settings` */
export const advancedSettingsFields = {
  debug: flag("Debug logging for the agent."),
  disable_network_configuration: flag(
    "Disable network, hotspot and additional-network configuration.",
  ),
  disable_system_configuration: flag("Disable system configuration."),
  download_limit_kilobytes_per_second: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 10_000_000,
    doc: "Downloads of new versions are no faster than this. 0: as fast as the network.",
  },
  disable_machine_server: flag(
    "Disable the server remotely, for developers.",
    "disable_viam_server",
  ),
  machine_server_env: {
    kind: "environment",
    default: {},
    alias: "viam_server_env",
    doc: "Environment variables passed to the server and all its children, modules included.",
  },
  machine_server_start_timeout_minutes: {
    kind: "minutes",
    default: 10,
    min: 1,
    alias: "viam_server_start_timeout_minutes",
    doc: "If the server has not started after this time, the agent kills and restarts it.",
  },
  machine_server_hang_timeout_minutes: {
    kind: "minutes",
    default: 5,
    min: 0.5,
    doc:
      "If the running server has given no answer for this time, the agent kills and restarts it.",
  },
  wait_for_update_check: flag(
    "Wait for a network connection and an update check before the server is started.",
  ),
} as const satisfies AgentFieldTable;

/** `agent.network_configuration` */
export const networkConfigurationFields = {
  connectivity_probe_url: text(
    "http-url",
    "",
    "The machine also counts as online while a GET of this http(s) URL is answered with 2xx.",
  ),
  device_reboot_after_offline_minutes: {
    kind: "minutes",
    default: 0,
    min: 1,
    zeroDisables: true,
    doc: "Reboot the device after being offline this long. 0: never.",
  },
  disable_bt_provisioning: flag("Disable Bluetooth provisioning."),
  disable_captive_portal_redirect: flag(
    "Redirect only domains that end in .setup, not every DNS lookup through the hotspot.",
  ),
  disable_wifi_provisioning: flag("Disable the WiFi hotspot."),
  bluetooth_trust_all: flag(
    "Accept all Bluetooth pairing requests without an unlock command.",
  ),
  bluetooth_service_brand: text(
    "bluetooth-brand",
    "machine",
    "Apps find the machine by the Bluetooth service <bluetooth_service_brand>-provisioning.",
  ),
  fragment_id: text(
    "any",
    "",
    "Fragment for new machines; needed for Bluetooth and app provisioning.",
  ),
  hotspot_interface: text(
    "interface",
    "",
    "Interface for hotspot, provisioning and WiFi, e.g. wlan0. Default: the first 802.11 device.",
  ),
  hotspot_password: text(
    "hotspot-password",
    "machinesetup",
    "WiFi or Bluetooth password for provisioning. Keeping the default is a security risk.",
  ),
  hotspot_prefix: text(
    "hotspot-prefix",
    "machine-setup",
    "The SSID or Bluetooth name is <hotspot_prefix>-<hostname>.",
  ),
  manufacturer: text("any", "machine", "Informative only."),
  model: text("any", "custom", "Informative only."),
  offline_before_starting_hotspot_minutes: {
    kind: "minutes",
    default: 2,
    min: 1,
    doc: "Minutes offline before the hotspot starts.",
  },
  retry_connection_timeout_minutes: {
    kind: "minutes",
    default: 10,
    min: 1,
    doc: "Provisioning ends after this time so that other connections can be tried.",
  },
  turn_on_hotspot_if_wifi_has_no_internet: flag(
    "WiFi without internet counts as offline; needed for additional_networks to be tried.",
  ),
  user_idle_minutes: {
    kind: "minutes",
    default: 5,
    min: 1,
    doc: "Idle time of a portal or app user before normal behaviour resumes.",
  },
  wifi_power_save: {
    kind: "tristate",
    default: null,
    doc: "Turn power save of managed WiFi connections on or off. null: as the system has it.",
  },
} as const satisfies AgentFieldTable;

/** One entry of `agent.additional_networks`. */
export const additionalNetworkFields = {
  type: {
    kind: "choice",
    default: "",
    choices: ["wifi", "wired"],
    doc: "wifi or wired.",
  },
  interface: text("interface", "", "Interface name, for example wlan0 or eth0."),
  ssid: text("ssid", "", "WiFi SSID, at most 32 bytes."),
  psk: text("psk", "", "Pre-shared key: 8 to 64 characters."),
  priority: {
    kind: "integer",
    default: 0,
    min: -999,
    max: 999,
    doc: "Higher wins.",
  },
  ipv4_address: text("ipv4-cidr", "auto", "auto, or an address such as 192.168.0.10/24."),
  ipv4_gateway: text("ipv4", "", "IPv4 gateway."),
  ipv4_dns: { kind: "ipv4-list", default: [], doc: "IPv4 DNS servers." },
  ipv4_route_metric: {
    kind: "integer",
    default: 0,
    min: 0,
    max: 4294967295,
    doc: "Lower is preferred. 0: 100 for wired and 600 for wireless.",
  },
} as const satisfies AgentFieldTable;

const journaldLimit = { kind: "integer", default: 512, min: -1, max: 1048576 } as const;

/** `agent.system_configuration` */
export const systemConfigurationFields = {
  forward_system_logs: text(
    "any",
    "",
    "Forward journald logs: SYSLOG_IDENTIFIERs with commas between, - before one excludes it, " +
      "all means everything. Empty: nothing.",
  ),
  logging_journald_runtime_max_use_megabytes: {
    ...journaldLimit,
    doc: "Space for temporary journald logs. -1: no limit is set.",
  },
  logging_journald_system_max_use_megabytes: {
    ...journaldLimit,
    doc: "Space for persistent journald logs. -1: no limit is set.",
  },
  os_auto_upgrade_type: {
    kind: "choice",
    default: "",
    // The managed forms are not ours; configurations for other agents of the family hold them.
    choices: ["", "all", "security", "disable", "managed-all", "managed-security"],
    doc: "all, security, disable, or empty to leave the system's settings as they are.",
  },
} as const satisfies AgentFieldTable;

type Widen<T> = T extends boolean ? boolean : T extends number ? number : T extends string ? string
: T;
type ValueOf<F extends AgentField> = F extends BooleanField ? boolean
  : F extends TriStateField ? boolean | null
  : F extends AddressesField ? string[]
  : F extends EnvironmentField ? Record<string, string>
  : Widen<F["default"]>;
type Values<T extends AgentFieldTable> = { -readonly [K in keyof T]: ValueOf<T[K]> };

export type VersionControl = Values<typeof versionControlFields>;
export type AdvancedSettings = Values<typeof advancedSettingsFields>;
export type NetworkSettings = Values<typeof networkConfigurationFields>;
export type AdditionalNetwork =
  & Omit<Values<typeof additionalNetworkFields>, "type">
  & { type: "wifi" | "wired" };
export type SystemSettings = Values<typeof systemConfigurationFields>;

/** The agent's settings with every field filled in; names as in the spec §2.4. */
export interface AgentSettings {
  version_control: VersionControl;
  advanced_settings: AdvancedSettings;
  network_configuration: NetworkSettings;
  /** By label. */
  additional_networks: Record<string, AdditionalNetwork>;
  system_configuration: SystemSettings;
}

/**
 * The `agent` object as written: anything may be missing. `null` for a variable or a network removes
 * what a layer below set (see `mergeAgentSettings`).
 */
export interface AgentConfig {
  /** Names of groups of machines that a release is rolled out to first. */
  tags?: string[];
  version_control?: Partial<VersionControl>;
  advanced_settings?: Partial<
    Omit<AdvancedSettings, "machine_server_env"> & {
      machine_server_env: Record<string, string | null>;
    }
  >;
  network_configuration?: Partial<NetworkSettings>;
  additional_networks?: Record<string, AdditionalNetwork | null>;
  system_configuration?: Partial<SystemSettings>;
}
