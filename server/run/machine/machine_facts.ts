/** What is reported to modules of the machine they run on. Pure. */
import type { MachineConfig } from "../../../shared/config/machine_config.ts";
import type { MachineFacts } from "../../modules/manager/module_environment.ts";

/**
 * @param partId of the credentials; the configuration's own counts where there are none.
 * @param printsSpans whether calls are traced whatever the configuration specifies.
 */
export function machineFacts(
  config: MachineConfig,
  { partId, printsSpans }: { partId: string | undefined; printsSpans: boolean },
): MachineFacts {
  const { cloud, network } = config;
  const [apiKeyId = "", apiKey = ""] = firstKey(config) ?? [];
  return {
    primaryOrgId: cloud?.primary_org_id ?? "",
    locationId: cloud?.location_id ?? "",
    machineId: cloud?.machine_id ?? "",
    machinePartId: partId ?? cloud?.id ?? "",
    machineFqdn: cloud?.fqdn ?? network?.fqdn ?? "",
    apiKeyId,
    apiKey,
    tracing: printsSpans || (config.tracing?.enabled ?? false),
  };
}

/** Of the keys that open the machine and are known in clear, the one whose id comes first. */
function firstKey({ auth }: MachineConfig): [string, string] | undefined {
  return (auth?.handlers ?? [])
    .filter(({ type }) => type === "api-key")
    .flatMap(({ config }) => Object.entries(config ?? {}))
    .filter((entry): entry is [string, string] =>
      entry[0] !== "keys" && typeof entry[1] === "string" && entry[1] !== ""
    )
    .sort(([a], [b]) => a < b ? -1 : 1)[0];
}
