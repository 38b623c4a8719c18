import {
  DBusCallError,
  DBusClosed,
  DBusTimeout,
  getProperty,
  setProperty,
  type SystemBus,
  variant,
} from "../../dbus/system_bus.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import { callBluez, findAdapter, findBluez, prepareAdapter } from "./bluez_adapter.ts";
import { answerProperties, GattApplication, type GattValues } from "./gatt_application.ts";
import {
  ADAPTER,
  ADVERTISEMENT,
  ADVERTISEMENT_PATH,
  ADVERTISING_MANAGER,
  AGENT_MANAGER,
  AGENT_MANAGER_PATH,
  AGENT_PATH,
  APPLICATION_PATH,
  BLUEZ,
  DEVICE,
  GATT_MANAGER,
  OBJECT_MANAGER,
  PROPERTIES,
} from "./gatt_names.ts";
import { pairingAgent, type PairingLock } from "./pairing_agent.ts";
import { textBytes } from "./public_values.ts";

/** What fits into a scan response with nothing else. */
const MOST_NAME_BYTES = 29;
/** How often changes are looked for, and whether BlueZ still answers. */
const CHANGES_MS = 2_000;
const ALIVE_MS = 30_000;

type Undo = () => unknown;

export interface ServedBluetoothOptions {
  readonly bus: SystemBus;
  readonly values: GattValues;
  readonly lock: PairingLock;
  /** Of the service. */
  readonly uuid: string;
  /** Of the machine over the air. */
  readonly name: string;
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Serves until the signal aborts, BlueZ ends or restarts, or the adapter goes away; then everything
 * is taken back, as far as somebody is there to take it.
 *
 * @returns why it ended.
 * @throws {NoBluetooth} and what {@link SystemBus.call} throws, when it could not begin.
 */
export async function serveBluetooth(
  options: ServedBluetoothOptions,
  signal: AbortSignal,
): Promise<string> {
  const { bus, values, lock, log } = options;
  const bluez = await findBluez(bus);
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();
  const local: Undo[] = [];
  const remote: Undo[] = [];
  const onAbort = () => end("provisioning is over");
  try {
    signal.throwIfAborted();
    signal.addEventListener("abort", onAbort, { once: true });
    local.push(() => signal.removeEventListener("abort", onAbort));
    void bus.closed.then(() => end("the message bus was disconnected"));
    const adapter = await findAdapter(bus);
    remote.push(...await watchEnd(bus, adapter, end));
    remote.push(await prepareAdapter(bus, adapter, options.name));

    const application = new GattApplication({ bus, service: options.uuid, values, bluez });
    local.push(() => application[Symbol.dispose]());
    await register(options, { adapter, bluez, end, local, remote });

    const onPaired = (device: string) => {
      setProperty(bus, BLUEZ, device, DEVICE, "Trusted", variant("b", true))
        .catch((error: unknown) => log.warn("a paired device is not trusted", { device, error }));
    };
    local.push(bus.export(AGENT_PATH, pairingAgent({ log, bluez, onPaired }, lock)));
    await callBluez(bus, AGENT_MANAGER_PATH, AGENT_MANAGER, "RegisterAgent", "os", [
      AGENT_PATH,
      "DisplayYesNo",
    ]);
    remote.push(() =>
      callBluez(bus, AGENT_MANAGER_PATH, AGENT_MANAGER, "UnregisterAgent", "o", [AGENT_PATH])
    );
    await callBluez(bus, AGENT_MANAGER_PATH, AGENT_MANAGER, "RequestDefaultAgent", "o", [
      AGENT_PATH,
    ]);
    local.push(keepLooking(options, application, adapter, end));
    log.info("serving over Bluetooth", { name: options.name, adapter, service: options.uuid });
    return await ended;
  } finally {
    await takeBack(remote, log);
    for (const run of local.reverse()) await run();
  }
}

/**
 * In reverse; one that does not answer is queried no further: what it has of ours ends with the
 * bus.
 */
async function takeBack(undo: readonly Undo[], log: Logger): Promise<void> {
  for (const run of [...undo].reverse()) {
    try {
      await run();
    } catch (error) {
      if (!isOfBus(error)) throw error;
      log.debug("Bluetooth could not be put back", { error });
      if (!(error instanceof DBusCallError)) return;
    }
  }
}

/** Application and advertisement. */
async function register(
  { bus, uuid, name }: ServedBluetoothOptions,
  { adapter, bluez, end, local, remote }: {
    readonly adapter: string;
    readonly bluez: string;
    readonly end: (why: string) => void;
    readonly local: Undo[];
    readonly remote: Undo[];
  },
): Promise<void> {
  await callBluez(bus, adapter, GATT_MANAGER, "RegisterApplication", "oa{sv}", [
    APPLICATION_PATH,
    {},
  ]);
  remote.push(() =>
    callBluez(bus, adapter, GATT_MANAGER, "UnregisterApplication", "o", [APPLICATION_PATH])
  );
  const properties = {
    Type: variant("s", "peripheral"),
    ServiceUUIDs: variant("as", [uuid]),
    LocalName: variant("s", new TextDecoder().decode(textBytes(name, MOST_NAME_BYTES))),
    Discoverable: variant("b", true),
  };
  local.push(bus.export(ADVERTISEMENT_PATH, {
    call(call) {
      if (call.sender !== bluez) return undefined;
      if (call.interface === ADVERTISEMENT && call.member === "Release") {
        end("BlueZ has released the advertisement");
        return {};
      }
      return answerProperties(call, ADVERTISEMENT, properties);
    },
  }));
  await callBluez(bus, adapter, ADVERTISING_MANAGER, "RegisterAdvertisement", "oa{sv}", [
    ADVERTISEMENT_PATH,
    {},
  ]);
  remote.push(() =>
    callBluez(bus, adapter, ADVERTISING_MANAGER, "UnregisterAdvertisement", "o", [
      ADVERTISEMENT_PATH,
    ])
  );
}

/** Ends with BlueZ, and with the adapter. */
async function watchEnd(
  bus: SystemBus,
  adapter: string,
  end: (why: string) => void,
): Promise<Undo[]> {
  return [
    await bus.subscribe(
      { interface: "org.freedesktop.DBus", member: "NameOwnerChanged", arg0: BLUEZ },
      () => end("BlueZ has exited"),
    ),
    await bus.subscribe(
      { sender: BLUEZ, interface: OBJECT_MANAGER, member: "InterfacesRemoved" },
      ({ body: [path] }) => {
        if (path === adapter) end("the Bluetooth adapter was removed");
      },
    ),
    await bus.subscribe(
      { sender: BLUEZ, path: adapter, interface: PROPERTIES, member: "PropertiesChanged" },
      ({ body: [, changed] }) => {
        const powered = (changed as Record<string, { value: unknown }> | undefined)?.["Powered"];
        if (powered?.value === false) end("the Bluetooth adapter was turned off");
      },
    ),
  ];
}

/** Reports changes, and notices when BlueZ hangs. */
function keepLooking(
  { bus, clock, log }: ServedBluetoothOptions,
  application: GattApplication,
  adapter: string,
  end: (why: string) => void,
): () => void {
  const over = new AbortController();
  const failed = (error: unknown) => {
    if (over.signal.aborted) return;
    log.debug("a look at Bluetooth failed", { error });
    end("BlueZ does not answer any more");
  };
  const loop = (everyMs: number, turn: () => void | Promise<void>) =>
    void pollLoop(turn, { clock, intervalMs: everyMs, firstMs: everyMs }, over.signal)
      .catch(failed);
  loop(CHANGES_MS, () => application.notifyChanges());
  loop(ALIVE_MS, async () => void await getProperty(bus, BLUEZ, adapter, ADAPTER, "Powered"));
  return () => over.abort();
}

/** What the peer on the bus does, and no mistake of ours. */
export const isOfBus = (error: unknown): boolean =>
  error instanceof DBusCallError || error instanceof DBusClosed || error instanceof DBusTimeout;
