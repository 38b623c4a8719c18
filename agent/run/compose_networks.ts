import type { Worker } from "../../shared/workers/run_workers.ts";
import { anyChange, Watched } from "../../shared/workers/watched.ts";
import {
  type NetworkReport,
  noNetworks,
  unknownNetworks,
} from "../networks/report/network_report.ts";
import type { CredentialsPort } from "../networks/worker/network_deps.ts";
import type { CurrentSettings } from "../settings/settings_source.ts";
import type { AgentState } from "../state/agent_state.ts";
import type { AgentDeps } from "./deps.ts";

export interface NetworkParts {
  readonly deps: AgentDeps;
  readonly state: AgentState;
  readonly options: { readonly credentialsFile: string };
  readonly current: Watched<CurrentSettings>;
  readonly cloudAnswered: Watched<boolean>;
  readonly credentials: { readonly appAddress: string };
  readonly mayReboot: () => boolean;
}

export interface ComposedNetworks {
  readonly report: Watched<NetworkReport>;
  readonly worker: Worker;
}

const LOOK_FOR_BUS_MS = 60_000;
const DISABLED = "disable_network_configuration is set";

/** The networks of a machine that has its credentials. */
export function composeNetworks(parts: NetworkParts): ComposedNetworks {
  const file = parts.options.credentialsFile;
  const refuse = () => Promise.reject(new Error(`${file} is there already`));
  return networksWith(
    { ...parts, appAddress: () => parts.credentials.appAddress },
    { has: () => true, file, check: () => Promise.resolve("refused"), write: refuse },
  );
}

/**
 * The worker that tends the networks. Nothing of it is loaded where networking is off or there is
 * no message bus.
 */
export function networksWith(
  { deps, state, current, cloudAnswered, appAddress, mayReboot }:
    & Omit<NetworkParts, "credentials" | "options">
    & { readonly appAddress: () => string | undefined },
  credentials: CredentialsPort,
): ComposedNetworks {
  const { clock, networks: system } = deps;
  const log = deps.log.child("networks");
  const report = new Watched(unknownNetworks(clock.now()));
  let told = "";
  const leave = (state: "disabled" | "unavailable", detail: string) => {
    const next = noNetworks(current.value.settings, state, detail, clock.now());
    const text = JSON.stringify([state, detail, next.problems]);
    if (text === told) return;
    told = text;
    report.value = next;
    log.info(`networks are left alone: ${detail}`);
    for (const problem of next.problems) log.warn(problem);
  };
  const run = async (signal: AbortSignal): Promise<void> => {
    while (!signal.aborted) {
      const { disable_network_configuration: isOff } = current.value.settings.advanced_settings;
      if (isOff) leave("disabled", DISABLED);
      else if (typeof system === "string") leave("unavailable", system);
      else if (!system.hasBus()) leave("unavailable", "there is no D-Bus system bus");
      else {
        told = "";
        const { tendNetworks } = await import("../networks/worker/network_worker.ts");
        const { answersOverHttp } = await import("../networks/connectivity/connectivity.ts");
        const { captiveDnsIn } = await import("../networks/hotspot/captive_dns.ts");
        const { provisioningWays } = await import("../provisioning/ways.ts");
        const { hostName, version } = deps;
        await tendNetworks({
          ...system,
          captiveDns: captiveDnsIn(system.dnsmasqFolder),
          current,
          report,
          db: state.database,
          cloudAnswered,
          askCloud: async (stop) => {
            const address = appAddress();
            return address !== undefined && await answersOverHttp(address, stop);
          },
          askUrl: (url, stop) =>
            answersOverHttp(url, stop, (status) => status >= 200 && status < 300),
          credentials,
          mayReboot,
          ways: provisioningWays,
          hostName,
          version,
          clock,
          log,
        }, signal);
        continue;
      }
      await anyChange([current], signal, { clock, ms: LOOK_FOR_BUS_MS });
    }
  };
  return { report, worker: { name: "networks", run } };
}
