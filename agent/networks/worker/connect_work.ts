import { toError } from "../../../shared/base/errors/to_error.ts";
import type { NetworkManager } from "../manager/network_manager.ts";
import type { NetworkEvent } from "../state_machine/network_state.ts";
import { joinNetwork, untilConnected } from "./join_network.ts";
import type { CredentialsAnswer, NetworkDeps } from "./network_deps.ts";
import type { ProvisioningDesk } from "./provisioning_desk.ts";
import { deviceFor, lookAround, radioOf } from "./surroundings.ts";
import type { ChosenCredentials } from "../../provisioning/provisioning_port.ts";

interface Tools {
  readonly manager: NetworkManager;
  readonly deps: NetworkDeps;
}

/** Right after the first address names may not be there yet; the cloud is tried for so long. */
const CLOUD_MS = 15_000;
const CLOUD_EVERY_MS = 2_000;

/** Connects to one of the known networks. */
export async function tryNetwork(
  label: string,
  { manager, deps: { clock, log } }: Tools,
  signal: AbortSignal,
): Promise<NetworkEvent> {
  const around = await lookAround(manager);
  const profile = around.profiles.find((each) => each.label === label);
  const device = profile && deviceFor(profile, around);
  if (!profile || !device) return { type: "tried", label, isConnected: false };
  const active = await manager.activate(profile.path, device);
  const failure = await untilConnected(manager, active, device, { clock, signal });
  if (failure) {
    log.warn("a known network gives no connection", {
      event: "network_without_connection",
      label,
      reason: failure.text,
    });
  }
  return { type: "tried", label, isConnected: failure === undefined };
}

/** Connects to what a person gave and writes the credentials. */
export async function applyStaged(
  desk: ProvisioningDesk,
  { manager, deps }: Tools,
  signal: AbortSignal,
): Promise<NetworkEvent> {
  const { clock, log, credentials: keys } = deps;
  const { network, credentials } = desk.take();
  const failed: NetworkEvent = { type: "applied", isConnected: false };
  if (network) {
    const { network_configuration: settings } = deps.current.value.settings;
    const radio = radioOf(await manager.devices(), settings.hotspot_interface);
    const limits = { clock, signal };
    const power = settings.wifi_power_save;
    const failure = await joinNetwork(manager, network, radio, power, limits);
    if (failure) {
      log.warn("the network that a person chose gives no connection", {
        event: "network_without_connection",
        reason: failure.text,
      });
      desk.fail(failure);
      // They need not be given again with the next network.
      if (credentials) desk.stageCredentials(credentials);
      return failed;
    }
  }
  if (credentials) {
    if (await askUntil(credentials, deps, signal) === "refused") {
      desk.fail({ kind: "cloud-refused", text: "the cloud refuses these machine credentials" });
      return failed;
    }
    try {
      await keys.write(credentials);
    } catch (error) {
      const text = `the credentials cannot be kept: ${toError(error).message}`;
      log.error(text, { event: "credentials_not_kept" });
      desk.fail({ kind: "other", text });
      desk.stageCredentials(credentials);
      return failed;
    }
    log.info("machine credentials were written", { file: keys.file, partId: credentials.partId });
  }
  return { type: "applied", isConnected: true };
}

async function askUntil(
  credentials: ChosenCredentials,
  { clock, credentials: keys }: NetworkDeps,
  signal: AbortSignal,
): Promise<CredentialsAnswer> {
  const endMs = clock.monotonicMs() + CLOUD_MS;
  while (true) {
    const answer = await keys.check(credentials, signal);
    if (answer !== "unreachable" || clock.monotonicMs() >= endMs) return answer;
    await clock.sleep(CLOUD_EVERY_MS, signal);
  }
}
