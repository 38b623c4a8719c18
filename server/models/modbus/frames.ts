/** Messages of Modbus, as they travel over TCP and over serial lines (RTU). */
import { Code, ConnectError } from "@connectrpc/connect";
import type { ModbusRegister } from "./modbus_attributes.ts";

const FUNCTIONS = { coil: 1, discrete: 2, holding: 3, input: 4 } as const;

const EXCEPTIONS: ReadonlyMap<number, string> = new Map([
  [1, "it does not know this kind of register"],
  [2, "it has no such address"],
  [3, "it does not take this value"],
  [4, "it failed"],
  [6, "it is busy"],
  [10, "the gateway has no way to it"],
  [11, "it does not answer the gateway"],
]);

/** Registers of two bytes that a value takes; 1 for a bit. */
function width({ kind, data_type = "uint16" }: ModbusRegister): number {
  return (kind === "holding" || kind === "input") && data_type?.endsWith("32") ? 2 : 1;
}

/** A request for a value: function, address, count. */
export function requestFor(register: ModbusRegister): Uint8Array<ArrayBuffer> {
  const view = new DataView(new ArrayBuffer(5));
  view.setUint8(0, FUNCTIONS[register.kind]);
  view.setUint16(1, register.address);
  view.setUint16(3, width(register));
  return new Uint8Array(view.buffer);
}

/**
 * The value in an answer.
 *
 * @param answer function, number of bytes, bytes.
 * @throws {ConnectError} with what the device says is wrong.
 */
export function valueIn(answer: Uint8Array, register: ModbusRegister): number | boolean {
  const wanted = FUNCTIONS[register.kind];
  const place = `${register.kind} ${register.address}`;
  if (answer[0] === (wanted | 0x80)) {
    const why = EXCEPTIONS.get(answer[1] ?? 0) ?? `exception ${answer[1]}`;
    throw new ConnectError(`the device refuses ${place}: ${why}`, Code.FailedPrecondition);
  }
  const isBit = register.kind === "coil" || register.kind === "discrete";
  const bytes = isBit ? 1 : 2 * width(register);
  if (answer[0] !== wanted || answer[1] !== bytes || answer.length < 2 + bytes) {
    throw new ConnectError(`the device's answer for ${place} is none of Modbus`, Code.DataLoss);
  }
  if (isBit) return (answer[2]! & 1) === 1;
  const data = new Uint8Array(answer.subarray(2, 2 + bytes));
  if (bytes === 4 && register.word_order === "little") {
    data.set([data[2]!, data[3]!, data[0]!, data[1]!]);
  }
  const view = new DataView(data.buffer);
  const { scale = 1, offset = 0 } = register;
  return raw(view, register.data_type ?? "uint16") * (scale ?? 1) + (offset ?? 0);
}

function raw(view: DataView, type: NonNullable<ModbusRegister["data_type"]>): number {
  switch (type) {
    case "uint16":
      return view.getUint16(0);
    case "int16":
      return view.getInt16(0);
    case "uint32":
      return view.getUint32(0);
    case "int32":
      return view.getInt32(0);
    case "float32":
      return view.getFloat32(0);
  }
}

/** How messages are wrapped. */
export interface Framing {
  wrap(unit: number, id: number, message: Uint8Array): Uint8Array<ArrayBuffer>;
  /**
   * The message at the beginning of what came; undefined while it is not whole.
   *
   * @throws {ConnectError} when that is no message of this unit and number.
   */
  unwrap(unit: number, id: number, bytes: Uint8Array): Uint8Array | undefined;
}

const BROKEN = "what comes is no answer of Modbus; check the line's speed and parity";

/** Over TCP: number, 0, length, unit. */
export const TCP_FRAMING: Framing = {
  wrap(unit, id, message) {
    const bytes = new Uint8Array(7 + message.length);
    const view = new DataView(bytes.buffer);
    view.setUint16(0, id);
    view.setUint16(4, 1 + message.length);
    bytes[6] = unit;
    bytes.set(message, 7);
    return bytes;
  },
  unwrap(unit, id, bytes) {
    if (bytes.length < 8) return undefined;
    const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
    const length = view.getUint16(4);
    if (view.getUint16(2) !== 0 || length < 3 || length > 254 || bytes[6] !== unit) {
      throw new ConnectError(BROKEN, Code.DataLoss);
    }
    if (view.getUint16(0) !== id) {
      throw new ConnectError("an answer to an older request", Code.DataLoss);
    }
    return bytes.length < 6 + length ? undefined : bytes.subarray(7, 6 + length);
  },
};

/** On serial lines: unit, message, checksum. */
export const RTU_FRAMING: Framing = {
  wrap(unit, _id, message) {
    const bytes = new Uint8Array(3 + message.length);
    bytes[0] = unit;
    bytes.set(message, 1);
    new DataView(bytes.buffer).setUint16(1 + message.length, crc16(bytes.subarray(0, -2)), true);
    return bytes;
  },
  unwrap(unit, _id, bytes) {
    if (bytes.length < 3) return undefined;
    const length = (bytes[1]! & 0x80) !== 0 ? 5 : 5 + bytes[2]!;
    if (bytes[0] !== unit) throw new ConnectError(BROKEN, Code.DataLoss);
    if (bytes.length < length) return undefined;
    const sum = bytes[length - 2]! | bytes[length - 1]! << 8;
    if (crc16(bytes.subarray(0, length - 2)) !== sum) throw new ConnectError(BROKEN, Code.DataLoss);
    return bytes.subarray(1, length - 2);
  },
};

/** CRC-16/MODBUS. */
export function crc16(bytes: Uint8Array): number {
  let crc = 0xffff;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit++) crc = crc & 1 ? (crc >> 1) ^ 0xa001 : crc >> 1;
  }
  return crc;
}
