import { networkConfigurationFields } from "../../../shared/config/agent_fields.ts";
import type { AgentSettings } from "../../../shared/config/agent_fields.ts";

/** What people, the cloud and the status file get about the machine's networks. */
export interface NetworkReport {
  /**
   * online, offline, trying networks, provisioning, user active, connecting or verifying; or
   * `disabled` and `unavailable` where the agent leaves networks alone.
   */
  readonly state: string;
  readonly since: Date;
  /** One clause more, for people; may be empty. */
  readonly detail: string;
  /** What does not work, one sentence each; the rest does. */
  readonly problems: readonly string[];
  /** Reboots of the host since it was online last, because it was offline. */
  readonly reboots: number;
}

/** What is said before anything is known. */
export function unknownNetworks(now: Date): NetworkReport {
  return { state: "offline", since: now, detail: "not looked yet", problems: [], reboots: 0 };
}

/** The agent leaves networks alone, and why. */
export function noNetworks(
  settings: AgentSettings,
  state: "disabled" | "unavailable",
  detail: string,
  now: Date,
): NetworkReport {
  const named = namedSettings(settings);
  const problems = state === "unavailable" && named.length > 0
    ? [
      `agent.${named.join(" and agent.")} ${
        named.length > 1 ? "have" : "has"
      } no effect: ${detail}`,
    ]
    : [];
  return { state, since: now, detail, problems, reboots: 0 };
}

/** The sections that request something. */
function namedSettings({ network_configuration, additional_networks }: AgentSettings): string[] {
  const given: Readonly<Record<string, unknown>> = network_configuration;
  const isSet = Object.entries(networkConfigurationFields).some(([name, field]) =>
    given[name] !== field.default
  );
  return [
    ...(isSet ? ["network_configuration"] : []),
    ...(Object.keys(additional_networks).length > 0 ? ["additional_networks"] : []),
  ];
}
