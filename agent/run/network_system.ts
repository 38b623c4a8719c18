import { existsSync, readdirSync } from "node:fs";
import type { SystemBus } from "../dbus/system_bus.ts";
import type { BootClock } from "../networks/store/boot_clock.ts";
import { systemBootClock } from "../networks/store/boot_clock.ts";
import type { RunProgram } from "../../shared/base/process/run_program.ts";
import { systemClock } from "../../shared/base/time/clock.ts";

/** What the agent tends the networks of its host with. Heavy parts load at their first use. */
export interface NetworkSystem {
  /** There may be somebody to speak with; false: nothing needs to be loaded. */
  readonly hasBus: () => boolean;
  readonly openBus: () => Promise<SystemBus>;
  readonly hasBluetooth: () => boolean;
  /** Reboots the host. @returns why it cannot. */
  readonly reboot: () => Promise<string | undefined>;
  readonly bootClock: BootClock;
  /** What NetworkManager's shared mode starts its dnsmasq with. */
  readonly dnsmasqFolder: string;
}

const SOCKET = "/run/dbus/system_bus_socket";
const BUS_VARIABLE = "DBUS_SYSTEM_BUS_ADDRESS";
const ADAPTERS = "/sys/class/bluetooth";

/**
 * The networks of this host.
 *
 * @param devMode developers keep their own networks, unless they name a message bus.
 * @returns why there are none to tend, as the end of a sentence.
 */
export function networkSystem(
  os: typeof Deno.build.os,
  env: Readonly<Record<string, string>>,
  devMode: boolean,
  runProgram: RunProgram,
): NetworkSystem | string {
  if (os !== "linux") return "networks are tended on Linux with NetworkManager only";
  if (devMode && env[BUS_VARIABLE] === undefined) {
    return "with --dev-mode the networks of the host are left alone";
  }
  return {
    hasBus: () => env[BUS_VARIABLE] !== undefined || existsSync(SOCKET),
    openBus: async () => {
      const { connectSystemBus } = await import("../dbus/dbus_connection.ts");
      return await connectSystemBus({ clock: systemClock });
    },
    hasBluetooth: () => existsSync(ADAPTERS) && readdirSync(ADAPTERS).length > 0,
    reboot: async () => {
      const { code, stderr } = await runProgram("systemctl", ["reboot"]);
      return code === 0 ? undefined : stderr.trim() || `systemctl reboot exited with ${code}`;
    },
    bootClock: systemBootClock(),
    dnsmasqFolder: "/etc/NetworkManager/dnsmasq-shared.d",
  };
}
