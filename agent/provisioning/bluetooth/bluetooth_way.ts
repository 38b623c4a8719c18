import { toError } from "../../../shared/base/errors/to_error.ts";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Timer } from "../../../shared/base/time/clock.ts";
import { DelayedCommit } from "../delayed_commit.ts";
import type { ProvisioningSite, ProvisioningWay, WayDeps } from "../provisioning_way.ts";
import { NoBluetooth } from "./bluez_adapter.ts";
import type { GattValues } from "./gatt_application.ts";
import { type ReadName, serviceUuid } from "./identifiers.ts";
import { PairingLock } from "./pairing_agent.ts";
import { errorList, networkList, statusByte, textBytes } from "./public_values.ts";
import { SealedValues } from "./sealed_values.ts";
import { isOfBus, serveBluetooth } from "./served_bluetooth.ts";
import { WrittenValues } from "./written_values.ts";

/** Between two tries; it retries without end. */
const RETRY = { minMs: 5_000, maxMs: 5 * 60_000, jitter: false };
/** For putting everything back at the end, also when BlueZ hangs. */
const END_MS = 3_000;
/** Networks are searched for while somebody reads their list. */
const SCAN_MS = 30_000;

/** Bluetooth Low Energy by BlueZ. A radio that cannot be used now is tried again, forever. */
export function bluetoothWay(deps: Omit<WayDeps, "version">): ProvisioningWay {
  return {
    name: "bluetooth",
    over: "bluetooth",
    start: (site) => startBluetooth(site, deps),
  };
}

async function startBluetooth(
  { port, settings, name }: ProvisioningSite,
  { openBus, clock, log }: Omit<WayDeps, "version">,
): Promise<AsyncDisposable> {
  const sealed = await SealedValues.begin(settings.hotspot_password, clock);
  const commit = new DelayedCommit(port, clock, log);
  const lock = new PairingLock(settings.bluetooth_trust_all, clock);
  const onUnlock = (isUnlocked: boolean) => lock.set(isUnlocked);
  const written = new WrittenValues({ port, commit, onUnlock });
  let scannedAt = -Infinity;
  const read: Record<ReadName, () => Uint8Array> = {
    pub_key: () => sealed.publicKey,
    status: () => statusByte(port.status()),
    manufacturer: () => textBytes(port.status().manufacturer),
    model: () => textBytes(port.status().model),
    fragment_id: () => textBytes(port.status().fragmentId),
    networks: () => {
      if (clock.monotonicMs() - scannedAt >= SCAN_MS) {
        scannedAt = clock.monotonicMs();
        port.requestScan();
      }
      return networkList(port.networks());
    },
    errors: () => errorList([...written.errors, ...port.status().errors]),
    agent_version: () => textBytes(port.status().agentVersion),
  };
  const values: GattValues = {
    read: (name) => read[name](),
    write: async (name, bytes, device) =>
      written.write(name, await sealed.open(bytes, device), device),
  };
  const over = new AbortController();
  const uuid = serviceUuid(settings.bluetooth_service_brand);
  const serving = keepServing(over.signal, async (signal) => {
    const bus = await openBus();
    let late: Timer | undefined;
    // With the connection everything of ours ends, and whoever waits for BlueZ waits no longer.
    const onAbort = () => late = clock.setTimer(END_MS, () => bus.close());
    signal.addEventListener("abort", onAbort, { once: true });
    try {
      return await serveBluetooth({ bus, values, lock, uuid, name, clock, log }, signal);
    } finally {
      signal.removeEventListener("abort", onAbort);
      late?.cancel();
      bus.close();
    }
  }, { clock, log });
  return {
    [Symbol.asyncDispose]: async () => {
      over.abort();
      commit[Symbol.dispose]();
      await serving;
    },
  };
}

/** Serves again and again; reports each reason once in a row. */
async function keepServing(
  signal: AbortSignal,
  serve: (signal: AbortSignal) => Promise<string>,
  { clock, log }: Pick<WayDeps, "clock" | "log">,
): Promise<void> {
  const backoff = new Backoff(RETRY);
  let told: string | undefined;
  while (!signal.aborted) {
    const startedAt = clock.monotonicMs();
    try {
      const why = await serve(signal);
      if (signal.aborted) return;
      told = undefined;
      log.warn("Bluetooth provisioning was interrupted and is restarted", {
        event: "provisioning_failed",
        why,
      });
    } catch (error) {
      if (signal.aborted) return;
      const why = toError(error).message;
      if (why !== told) {
        const isKnown = error instanceof NoBluetooth || isOfBus(error);
        log.warn("no Bluetooth provisioning for now", isKnown ? { why } : { why, error });
      }
      told = why;
    }
    if (clock.monotonicMs() - startedAt > RETRY.maxMs) backoff.reset();
    await clock.sleep(backoff.next(), signal).catch(() => undefined);
  }
}
