/** Commands of a board for devices on its buses. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import {
  AttributeError,
  type Check,
  integer,
  listOf,
  objectOf,
  optional,
} from "../../resources/graph/attributes.ts";
import type { Kernel } from "../kernel/kernel.ts";
import { MOST_BYTES, transferI2c, transferSpi } from "./buses.ts";

const bytes = listOf(integer("A byte.", { min: 0, max: 255 }), "Bytes to send.");

const I2C: Check<{ bus: number; address: number; write?: number[]; read?: number }> = objectOf({
  bus: integer("1 is /dev/i2c-1.", { min: 0, max: 255 }),
  address: integer("7 bits.", { min: 0, max: 127 }),
  write: optional(bytes) as Check<number[]>,
  read: optional(integer("Bytes to read.", { min: 0, max: MOST_BYTES })) as Check<number>,
}, "A device on an I2C bus.");

const SPI: Check<
  { bus: number; chip_select: number; speed_hz?: number; mode?: number; write: number[] }
> = objectOf({
  bus: integer("0 with chip select 1 is /dev/spidev0.1.", { min: 0, max: 255 }),
  chip_select: integer("See bus.", { min: 0, max: 255 }),
  speed_hz: optional(integer("Bits a second.", { min: 1 })) as Check<number>,
  mode: optional(integer("Clock polarity and phase.", { min: 0, max: 3 })) as Check<number>,
  write: bytes,
}, "A device on an SPI bus.");

/**
 * `{"i2c": {"bus": 1, "address": 72, "write": [0], "read": 2}}` or
 * `{"spi": {"bus": 0, "chip_select": 0, "write": [1, 128, 0]}}`; both answer `{"read": [bytes]}`.
 *
 * @throws {ConnectError} INVALID_ARGUMENT for anything else.
 */
export function runBusCommand(kernel: Kernel, command: JsonObject): JsonObject {
  if (isJsonObject(command["i2c"])) {
    const { bus, address, write = [], read = 0 } = checked(I2C, command["i2c"], "i2c");
    if (write.length === 0 && read === 0) {
      throw new ConnectError("i2c: name bytes to write or how many to read", Code.InvalidArgument);
    }
    return { read: [...transferI2c(kernel, { bus, address }, new Uint8Array(write), read)] };
  }
  if (isJsonObject(command["spi"])) {
    const { bus, chip_select: chipSelect, speed_hz: speedHz, mode, write } = checked(
      SPI,
      command["spi"],
      "spi",
    );
    if (write.length > MOST_BYTES) {
      throw new ConnectError(`spi.write: at most ${MOST_BYTES} bytes`, Code.InvalidArgument);
    }
    return {
      read: [...transferSpi(kernel, { bus, chipSelect, speedHz, mode }, new Uint8Array(write))],
    };
  }
  throw new ConnectError(
    'the board knows the commands {"i2c": {…}} and {"spi": {…}}; see docs/drivers.md',
    Code.InvalidArgument,
  );
}

function checked<T>(check: Check<T>, value: JsonValue, path: string): T {
  try {
    return check.parse(value, path);
  } catch (error) {
    if (error instanceof AttributeError) {
      throw new ConnectError(error.message, Code.InvalidArgument);
    }
    throw error;
  }
}
