import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { constants, createPublicKey, publicEncrypt } from "node:crypto";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { type Clock, systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { defaultAgentSettings } from "../../../shared/config/agent_settings_testing.ts";
import type { NetworkSettings } from "../../../shared/config/agent_fields.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { connectSystemBus } from "../../dbus/dbus_connection.ts";
import { DBusCallError } from "../../dbus/system_bus.ts";
import { PrivateBus } from "../../dbus/testing.ts";
import { FakeProvisioning } from "../fake_provisioning.ts";
import { bluetoothWay } from "./bluetooth_way.ts";
import { devicePath, FakeBluez } from "./fake_bluez.ts";
import { uuidOf } from "./identifiers.ts";

export const WAIT = { deadlineMs: 60_000 };
export const PASSWORD = "machinesetup";
export const CREDENTIALS = JSON.stringify({
  cloud: { app_address: "https://cloud.test:8443", id: "part-1", secret: "the-part-secret" },
});

/** Bluetooth provisioning next to a BlueZ of the test, on a real bus. */
export class Rig implements AsyncDisposable {
  readonly port = new FakeProvisioning();
  readonly clock = new FakeClock();
  readonly log = memoryLogger();
  #way: AsyncDisposable | undefined;
  opened = 0;

  private constructor(readonly bus: PrivateBus, readonly bluez: FakeBluez) {}

  static async start(prepare: (bluez: FakeBluez) => void = () => undefined): Promise<Rig> {
    const bus = await PrivateBus.start();
    const connection = await connectSystemBus({ clock: systemClock, address: bus.address });
    const bluez = await FakeBluez.start(connection);
    prepare(bluez);
    return new Rig(bus, bluez);
  }

  /** @param busClock of the calls that the machine makes; a time that is moved on ends them. */
  async begin(
    settings: Partial<NetworkSettings> = {},
    busClock: Clock = systemClock,
  ): Promise<this> {
    const { port, clock, log } = this;
    const openBus = () => {
      this.opened++;
      return connectSystemBus({ clock: busClock, address: this.bus.address });
    };
    this.#way = await bluetoothWay({ openBus, clock, log }).start({
      port,
      address: "",
      settings: { ...defaultAgentSettings().network_configuration, ...settings },
      name: "machine-setup-rover-7",
    });
    return this;
  }

  async serving(): Promise<this> {
    await waitFor(() => this.bluez.agent?.isDefault && this.said("serving over Bluetooth"), WAIT);
    return this;
  }

  said(text: string): boolean {
    return this.log.messages().some((message) => message.includes(text));
  }

  why(): unknown[] {
    return this.log.entries.flatMap(({ fields }) => "why" in fields ? [fields["why"]] : []);
  }

  async seal(value: string, password = PASSWORD): Promise<Uint8Array> {
    const key = createPublicKey({
      key: Buffer.from(await this.bluez.read(uuidOf("pub_key"))),
      format: "der",
      type: "spki",
    });
    const padding = constants.RSA_PKCS1_OAEP_PADDING;
    return publicEncrypt({ key, padding, oaepHash: "sha256" }, Buffer.from(`${password}:${value}`));
  }

  async write(name: string, value: string, device = devicePath(1), password = PASSWORD) {
    await this.bluez.write(uuidOf(name), await this.seal(value, password), device);
  }

  async end(): Promise<void> {
    await this.#way?.[Symbol.asyncDispose]();
    this.#way = undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end();
    await this.bus[Symbol.asyncDispose]();
  }
}

/** The name of the error that a phone gets. */
export const refusal = async (promise: Promise<unknown>): Promise<string> => {
  try {
    await promise;
  } catch (error) {
    assert.ok(error instanceof DBusCallError, String(error));
    return error.errorName.replace("org.bluez.Error.", "");
  }
  assert.fail("it was taken");
};
