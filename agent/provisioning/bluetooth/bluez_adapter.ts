import {
  DBusCallError,
  getProperty,
  setProperty,
  type SystemBus,
  type Variant,
  variant,
} from "../../dbus/system_bus.ts";
import { ADAPTER, ADVERTISING_MANAGER, BLUEZ, GATT_MANAGER, OBJECT_MANAGER } from "./gatt_names.ts";

/** One that hangs is noticed by it. */
const CALL_TIMEOUT_MS = 10_000;

/** Bluetooth cannot be used now. The message says why, and what to do. */
export class NoBluetooth extends Error {
  override readonly name = "NoBluetooth";
}

/** Calls a method of BlueZ. Errors as {@link SystemBus.call}. */
export function callBluez(
  bus: SystemBus,
  path: string,
  iface: string,
  member: string,
  signature = "",
  body: readonly unknown[] = [],
): Promise<unknown[]> {
  return bus.call({
    destination: BLUEZ,
    path,
    interface: iface,
    member,
    signature,
    body,
    timeoutMs: CALL_TIMEOUT_MS,
  });
}

/**
 * The unique name of BlueZ on the bus, which is started where the system does that.
 *
 * @throws {NoBluetooth}
 */
export async function findBluez(bus: SystemBus): Promise<string> {
  try {
    // Any call starts it.
    await callBluez(bus, "/", "org.freedesktop.DBus.Peer", "Ping");
  } catch (error) {
    if (
      !(error instanceof DBusCallError) || !/ServiceUnknown|NameHasNoOwner/.test(error.errorName)
    ) {
      throw error;
    }
    throw new NoBluetooth("BlueZ is not there: install bluez and start bluetooth.service");
  }
  const [name] = await bus.call({
    destination: "org.freedesktop.DBus",
    path: "/org/freedesktop/DBus",
    interface: "org.freedesktop.DBus",
    member: "GetNameOwner",
    signature: "s",
    body: [BLUEZ],
  });
  return String(name);
}

type Objects = Record<string, Record<string, Record<string, Variant>>>;

/**
 * The first adapter that can serve and advertise.
 *
 * @returns its path, "/org/bluez/hci0".
 * @throws {NoBluetooth}
 */
export async function findAdapter(bus: SystemBus): Promise<string> {
  const [answer] = await callBluez(bus, "/", OBJECT_MANAGER, "GetManagedObjects");
  const adapters = Object.entries(answer as Objects).filter(([, all]) => ADAPTER in all).sort();
  if (adapters.length === 0) throw new NoBluetooth("this machine has no Bluetooth adapter");
  const able = adapters.find(([, all]) => GATT_MANAGER in all && ADVERTISING_MANAGER in all);
  if (!able) {
    throw new NoBluetooth(
      "the Bluetooth adapter cannot advertise (Bluetooth Low Energy is needed)",
    );
  }
  return able[0];
}

/**
 * Turns the adapter on and gives it a name.
 *
 * @returns puts both back.
 * @throws {NoBluetooth} when the radio is blocked.
 */
export async function prepareAdapter(
  bus: SystemBus,
  path: string,
  name: string,
): Promise<() => Promise<void>> {
  const get = (property: string) => getProperty(bus, BLUEZ, path, ADAPTER, property);
  const set = (property: string, value: Variant) =>
    setProperty(bus, BLUEZ, path, ADAPTER, property, value);
  const wasPowered = await get("Powered") === true;
  const [alias, ownName] = [await get("Alias"), await get("Name")];
  try {
    if (!wasPowered) await set("Powered", variant("b", true));
  } catch (error) {
    if (!(error instanceof DBusCallError)) throw error;
    throw new NoBluetooth(
      `the Bluetooth adapter cannot be turned on (${error.message}): run rfkill unblock bluetooth`,
      { cause: error },
    );
  }
  await set("Alias", variant("s", name));
  return async () => {
    // An empty alias is the name of the system. Ours is of an agent that was killed.
    const isNone = alias === ownName || alias === name;
    await set("Alias", variant("s", isNone ? "" : String(alias ?? "")));
    if (!wasPowered) await set("Powered", variant("b", false));
  };
}
