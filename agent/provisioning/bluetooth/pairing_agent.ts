import {
  type CallReply,
  DBusCallError,
  type ExportedObject,
  type IncomingCall,
} from "../../dbus/system_bus.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { AGENT } from "./gatt_names.ts";

/** How long a person has for pairing after unlock_pairing. */
const UNLOCKED_MS = 5 * 60_000;

export interface PairingAgentOptions {
  readonly log: Logger;
  /** Unique name of BlueZ on the bus; nobody else is answered. */
  readonly bluez: string;
  /** The device may connect again automatically. */
  readonly onPaired: (device: string) => void;
}

/** When devices may pair: always with `bluetooth_trust_all`, else one after unlock_pairing. */
export class PairingLock {
  #unlockedAt: number | undefined;

  constructor(
    private readonly trustAll: boolean,
    private readonly clock: Pick<Clock, "monotonicMs">,
  ) {}

  set(isUnlocked: boolean): void {
    this.#unlockedAt = isUnlocked ? this.clock.monotonicMs() : undefined;
  }

  /** Whether a device may pair now; without trustAll that is used up. */
  use(): boolean {
    if (this.trustAll) return true;
    const at = this.#unlockedAt;
    this.#unlockedAt = undefined;
    return at !== undefined && this.clock.monotonicMs() - at <= UNLOCKED_MS;
  }
}

/** `org.bluez.Agent1`: what BlueZ asks before a device pairs. */
export function pairingAgent(
  { bluez, log, onPaired }: PairingAgentOptions,
  lock: PairingLock,
): ExportedObject {
  let pairing: string | undefined;
  const allow = (call: IncomingCall): CallReply => {
    const device = String(call.body[0]);
    // A pairing asks twice: for its number, and whether it may be.
    if (pairing !== device && !lock.use()) {
      log.warn("refused to pair with a device; write unlock_pairing first", { device });
      throw new DBusCallError("org.bluez.Error.Rejected", "pairing is locked");
    }
    if (pairing !== device) {
      log.info("a device pairs", { device });
      onPaired(device);
    }
    pairing = device;
    return {};
  };
  return {
    call(call) {
      if (call.sender !== bluez || call.interface !== AGENT) return undefined;
      switch (call.member) {
        case "RequestConfirmation":
        case "RequestAuthorization":
        case "AuthorizeService":
          return allow(call);
        case "DisplayPasskey":
        case "DisplayPinCode":
        case "Release":
          return {};
        case "Cancel":
          pairing = undefined;
          return {};
        case "RequestPinCode":
        case "RequestPasskey":
          throw new DBusCallError(
            "org.bluez.Error.Rejected",
            "this machine has no keys to type on",
          );
      }
      return undefined;
    },
  };
}
