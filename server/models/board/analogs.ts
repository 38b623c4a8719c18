/** Analogue inputs: of the kernel's industrial I/O, and MCP3008 converters on SPI. */
import { Code, ConnectError } from "@connectrpc/connect";
import { isKernelError, type Kernel } from "../kernel/kernel.ts";
import { transferSpi } from "./buses.ts";

/** An analogue input as the attributes name it. */
export interface AnalogAttributes {
  name: string;
  pin: string;
  device: string | undefined;
  spi_bus: number | undefined;
  chip_select: number | undefined;
}

/** A value and what it can be. */
export interface AnalogValue {
  readonly value: number;
  readonly minRange: number;
  readonly maxRange: number;
  /** Of one step; in the same unit as the range. */
  readonly stepSize: number;
}

const IIO = "/sys/bus/iio/devices";
/** 10 bits, of an MCP3008 at 3.3 V. */
const MCP3008_STEPS = 1_023;
const MCP3008_VOLTS = 3.3;

/** Reads an input. @throws {ConnectError} that says what is not there. */
export function readAnalog(kernel: Kernel, analog: AnalogAttributes): AnalogValue {
  return analog.spi_bus === undefined ? readIio(kernel, analog) : readMcp3008(kernel, analog);
}

/** Sets an output of industrial I/O. @throws {ConnectError} that says what is not there. */
export function writeIio(kernel: Kernel, pin: string, value: number): void {
  const [, device = "iio:device0", channel] = /^(?:(iio:device\d+)\/)?(out_\w+_raw)$/.exec(pin) ??
    [];
  if (channel === undefined) {
    throw new ConnectError(
      `${pin} is no analogue output; name it like iio:device0/out_voltage0_raw`,
      Code.InvalidArgument,
    );
  }
  orMissing(`${IIO}/${device}/${channel}`, kernel, (path) => kernel.writeText(path, String(value)));
}

function readIio(kernel: Kernel, { pin, device = "iio:device0" }: AnalogAttributes): AnalogValue {
  const channel = /^\d+$/.test(pin) ? `in_voltage${pin}` : pin.replace(/_raw$/, "");
  const folder = `${IIO}/${device}`;
  const raw = orMissing(`${folder}/${channel}_raw`, kernel, (path) => kernel.readText(path));
  // Millivolts of a step, of the channel or of all channels.
  const scale = [`${channel}_scale`, `${channel.replace(/\d+$/, "")}_scale`]
    .map((file) => optionalText(kernel, `${folder}/${file}`)).find((text) => text !== undefined);
  return {
    value: Number(raw),
    minRange: 0,
    maxRange: 0,
    stepSize: scale === undefined ? 0 : Number(scale) / 1_000,
  };
}

function readMcp3008(kernel: Kernel, analog: AnalogAttributes): AnalogValue {
  const place = { bus: analog.spi_bus!, chipSelect: analog.chip_select ?? 0 };
  const answer = transferSpi(kernel, place, new Uint8Array([1, (8 + Number(analog.pin)) << 4, 0]));
  return {
    value: ((answer[1]! & 3) << 8) | answer[2]!,
    minRange: 0,
    maxRange: MCP3008_VOLTS,
    stepSize: MCP3008_VOLTS / MCP3008_STEPS,
  };
}

function optionalText(kernel: Kernel, path: string): string | undefined {
  try {
    return kernel.readText(path);
  } catch {
    return undefined;
  }
}

function orMissing<T>(path: string, kernel: Kernel, use: (path: string) => T): T {
  try {
    return use(path);
  } catch (error) {
    if (!isKernelError(error, "ENOENT", "EACCES")) throw error;
    const devices = kernel.list(IIO);
    throw new ConnectError(
      error.code === "EACCES"
        ? `no permission for ${path}; run the server as root`
        : `there is no ${path}; this host has ${devices.join(", ") || "no industrial I/O device"}`,
      Code.NotFound,
    );
  }
}
