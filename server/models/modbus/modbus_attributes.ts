export const REGISTER_KINDS = ["holding", "input", "coil", "discrete"] as const;
export const DATA_TYPES = ["uint16", "int16", "uint32", "int32", "float32"] as const;

/** A value of a device. */
export interface ModbusRegister {
  name: string;
  kind: typeof REGISTER_KINDS[number];
  address: number;
  data_type: typeof DATA_TYPES[number] | undefined;
  word_order: "big" | "little" | undefined;
  scale: number | undefined;
  offset: number | undefined;
}

export interface ModbusAttributes {
  connection_type: "tcp" | "rtu";
  address: { hostname: string; port: number } | undefined;
  serial_path: string | undefined;
  serial_baud_rate: number | undefined;
  serial_parity: "none" | "even" | "odd" | undefined;
  unit_id: number | undefined;
  timeout: number | undefined;
  interval: number | undefined;
  registers: ModbusRegister[];
}
