import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import type { CallContext, Readings, Sensor } from "../../resources/graph/resource.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import { hostHardware } from "../kernel/host_hardware.ts";
import { Polled } from "../readings/polled.ts";
import type { ByteLink } from "../serial/byte_link.ts";
import { type LinkPlace, openLink, placeName } from "../serial/open_link.ts";
import { type Framing, requestFor, RTU_FRAMING, TCP_FRAMING, valueIn } from "./frames.ts";
import type { ModbusAttributes, ModbusRegister } from "./modbus_attributes.ts";

const DEFAULT_TIMEOUT_MS = 1_000;
const DEFAULT_BAUD = 9_600;
/** A device that failed is read again after this, so that its problem ends also when nobody reads. */
const AGAIN_MS = 30_000;

/**
 * See {@link modbusModel}. Reads when it is read, and on its own after a failure; the connection
 * stays open in between.
 */
export class ModbusSensor implements Sensor {
  readonly #place: LinkPlace;
  readonly #framing: Framing;
  readonly #polled: Polled<Readings>;
  #link: ByteLink | undefined;
  #id = 0;

  constructor(
    private readonly environment: BuiltinEnvironment,
    private readonly attributes: ModbusAttributes,
  ) {
    const isTcp = attributes.connection_type === "tcp";
    this.#framing = isTcp ? TCP_FRAMING : RTU_FRAMING;
    this.#place = isTcp ? { kind: "tcp", ...attributes.address! } : {
      kind: "serial",
      path: attributes.serial_path!,
      baudRate: attributes.serial_baud_rate ?? DEFAULT_BAUD,
      parity: attributes.serial_parity,
    };
    this.#polled = new Polled({
      clock: environment.clock,
      intervalMs: attributes.interval ?? 0,
      againMs: AGAIN_MS,
      ask: (signal) => this.#readAll(signal),
    });
  }

  getReadings(_extra: JsonObject | undefined, { signal }: CallContext): Promise<Readings> {
    return this.#polled.read(signal);
  }

  getStatus() {
    const problem = this.problem();
    return problem === undefined ? {} : { error: problem };
  }

  problem(): string | undefined {
    return this.#polled.problem;
  }

  async close(): Promise<void> {
    await this.#polled.close();
    await this.#hangUp();
  }

  async #readAll(signal: AbortSignal): Promise<Readings> {
    try {
      const readings: Record<string, number | boolean> = {};
      for (const register of this.attributes.registers) {
        readings[register.name] = await this.#readOne(register, signal);
      }
      return readings;
    } catch (error) {
      const { code, rawMessage } = ConnectError.from(toError(error));
      // What comes late must not be taken for the next answer.
      if (code !== Code.FailedPrecondition || !rawMessage.startsWith("the device refuses")) {
        await this.#hangUp();
      }
      throw new ConnectError(`${placeName(this.#place)}: ${rawMessage}`, code);
    }
  }

  async #readOne(register: ModbusRegister, signal: AbortSignal): Promise<number | boolean> {
    const { unit_id: unit = 1, timeout = DEFAULT_TIMEOUT_MS } = this.attributes;
    const ending = linkedController(signal);
    const timer = this.environment.clock.setTimer(timeout ?? DEFAULT_TIMEOUT_MS, () =>
      ending.abort(
        new ConnectError(
          `the device ${unit} does not answer; check its unit_id, power and wires`,
          Code.DeadlineExceeded,
        ),
      ));
    try {
      this.#link ??= await openLink(
        this.#place,
        () => hostHardware(this.environment),
        this.environment.clock,
        ending.signal,
      );
      const id = this.#id = (this.#id + 1) & 0xffff;
      await this.#link.write(this.#framing.wrap(unit ?? 1, id, requestFor(register)));
      return valueIn(await this.#answer(this.#link, unit ?? 1, id, ending.signal), register);
    } finally {
      timer.cancel();
      ending.abort();
    }
  }

  async #answer(
    link: ByteLink,
    unit: number,
    id: number,
    signal: AbortSignal,
  ): Promise<Uint8Array> {
    const left = Promise.withResolvers<never>();
    left.promise.catch(() => {});
    const leave = () => left.reject(signal.reason);
    signal.addEventListener("abort", leave, { once: true });
    try {
      let bytes: Uint8Array = new Uint8Array();
      for (;;) {
        signal.throwIfAborted();
        const more = await Promise.race([link.read(), left.promise]);
        if (!more) throw new ConnectError("the device ended the connection", Code.Unavailable);
        const all = new Uint8Array(bytes.length + more.length);
        all.set(bytes);
        all.set(more, bytes.length);
        bytes = all;
        const message = this.#framing.unwrap(unit, id, bytes);
        if (message) return message;
      }
    } finally {
      signal.removeEventListener("abort", leave);
    }
  }

  async #hangUp(): Promise<void> {
    const link = this.#link;
    this.#link = undefined;
    await link?.close();
  }
}
