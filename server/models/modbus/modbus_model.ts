import {
  AttributeError,
  attributes,
  duration,
  integer,
  listOf,
  number,
  objectOf,
  oneOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import { hostAndPort, serialPath } from "../serial/link_attributes.ts";
import {
  DATA_TYPES,
  type ModbusAttributes,
  type ModbusRegister,
  REGISTER_KINDS,
} from "./modbus_attributes.ts";

/** Model `rdk:builtin:modbus` of `rdk:component:sensor`: registers of a device, by TCP or RTU. */
export function modbusModel(environment: BuiltinEnvironment): Model<ModbusAttributes> {
  return {
    api: "rdk:component:sensor",
    model: "rdk:builtin:modbus",
    triedWith:
      "a simulator over TCP, and one on a pair of pseudo terminals for RTU; no real device",
    attributes: attributes<ModbusAttributes>({
      connection_type: oneOf(["tcp", "rtu"], "How the device is reached; rtu is a serial line."),
      address: optional(hostAndPort("Where the device is, of connection_type tcp.")),
      serial_path: optional(serialPath("Serial port, of connection_type rtu.")),
      serial_baud_rate: optional(
        integer("Bits a second. Default 9600.", { min: 50, max: 4_000_000 }),
      ),
      serial_parity: optional(oneOf(["none", "even", "odd"], "Default none.")),
      unit_id: optional(integer("The device on its line. Default 1.", { min: 0, max: 255 })),
      timeout: optional(duration("An answer may take this long. Default 1s.", {
        min: 10,
        max: 60_000,
      })),
      interval: optional(duration(
        "The device is read at most this often; readings in between are the last ones. Default 0s.",
        { min: 0 },
      )),
      registers: listOf(
        objectOf<ModbusRegister>({
          name: text("Name of the reading."),
          kind: oneOf(REGISTER_KINDS, "Which of the device's tables."),
          address: integer("Number in the table, from 0 on.", { min: 0, max: 65_535 }),
          data_type: optional(
            oneOf(DATA_TYPES, "Of holding and input; 32 bits are two registers. Default uint16."),
          ),
          word_order: optional(
            oneOf(["big", "little"], "Which half of 32 bits comes first. Default big."),
          ),
          scale: optional(number("The value is multiplied by this. Default 1.")),
          offset: optional(number("Then this is added. Default 0.")),
        }, "A reading."),
        "What is read.",
      ),
    }),
    dependencies({ connection_type, address, serial_path, registers }) {
      const missing = connection_type === "tcp" && !address
        ? "address"
        : connection_type === "rtu" && serial_path === undefined
        ? "serial_path"
        : registers.length === 0
        ? "registers"
        : undefined;
      if (missing !== undefined) {
        throw new AttributeError(
          `attributes.${missing}`,
          "nothing",
          "a value, with the others given",
        );
      }
      const names = registers.map(({ name }) => name);
      const twice = names.find((name, index) => names.indexOf(name) !== index);
      if (twice !== undefined) {
        throw new AttributeError(
          "attributes.registers",
          `${twice} twice`,
          "a name of its own each",
        );
      }
      return {};
    },
    async construct({ attributes }) {
      const { ModbusSensor } = await import("./modbus_sensor.ts");
      return new ModbusSensor(environment, attributes);
    },
  };
}
