/** I2C and SPI, for drivers of sensors and for commands. */
import { Code, ConnectError } from "@connectrpc/connect";
import { isKernelError, type Kernel, O_CLOEXEC, O_RDWR } from "../kernel/kernel.ts";

// linux/i2c-dev.h, linux/spi/spidev.h
const I2C_RDWR = 0x707;
const I2C_READ = 0x1;
const SPI_MESSAGE = 0x40206b00;
const SPI_MODE = 0x40016b01;

/** The kernel takes no more at once (spidev's default buffer). */
export const MOST_BYTES = 4_096;

/** A device on an I2C bus. */
export interface I2cPlace {
  /** Number of the bus: 1 is `/dev/i2c-1`. */
  readonly bus: number;
  /** 7 bits. */
  readonly address: number;
}

/**
 * Writes, then reads without letting go of the bus: how a device's register is read.
 *
 * @param length bytes to read; 0: only write.
 * @throws {ConnectError} when nothing answers at the address.
 */
export function transferI2c(
  kernel: Kernel,
  { bus, address }: I2cPlace,
  write: Uint8Array<ArrayBuffer>,
  length: number,
): Uint8Array<ArrayBuffer> {
  const read = new Uint8Array(length);
  const messages = [
    ...(write.length > 0 ? [{ flags: 0, bytes: write }] : []),
    ...(length > 0 ? [{ flags: I2C_READ, bytes: read }] : []),
  ];
  // struct i2c_msg: __u16 addr, flags, len; __u8 *buf.
  const list = new DataView(new ArrayBuffer(16 * messages.length));
  messages.forEach(({ flags, bytes }, index) => {
    const at = 16 * index;
    list.setUint16(at, address, true);
    list.setUint16(at + 2, flags, true);
    list.setUint16(at + 4, bytes.length, true);
    list.setBigUint64(at + 8, kernel.address(bytes), true);
  });
  const all = new Uint8Array(list.buffer);
  const request = new DataView(new ArrayBuffer(16));
  request.setBigUint64(0, kernel.address(all), true);
  request.setUint32(8, messages.length, true);
  onDevice(kernel, `/dev/i2c-${bus}`, "I2C bus", (fd) => {
    try {
      kernel.ioctl(fd, I2C_RDWR, new Uint8Array(request.buffer));
    } catch (error) {
      if (!isKernelError(error, "ENXIO", "EREMOTEIO", "ETIMEDOUT", "EIO")) throw error;
      throw new ConnectError(
        `nothing answers at address 0x${address.toString(16)} of /dev/i2c-${bus}; ` +
          "check its wires, its power and the address",
        Code.Unavailable,
      );
    }
  });
  return read;
}

/** A device on an SPI bus. */
export interface SpiPlace {
  /** 0 with chip select 1 is `/dev/spidev0.1`. */
  readonly bus: number;
  readonly chipSelect: number;
  /** Default 1 MHz. */
  readonly speedHz?: number | undefined;
  /** 0 to 3; default 0. */
  readonly mode?: number | undefined;
}

/** Sends bytes; returns those that come back meanwhile. @throws {ConnectError} */
export function transferSpi(
  kernel: Kernel,
  { bus, chipSelect, speedHz = 1_000_000, mode = 0 }: SpiPlace,
  write: Uint8Array<ArrayBuffer>,
): Uint8Array<ArrayBuffer> {
  const read = new Uint8Array(write.length);
  const transfer = new DataView(new ArrayBuffer(32));
  transfer.setBigUint64(0, kernel.address(write), true);
  transfer.setBigUint64(8, kernel.address(read), true);
  transfer.setUint32(16, write.length, true);
  transfer.setUint32(20, speedHz, true);
  transfer.setUint8(26, 8);
  onDevice(kernel, `/dev/spidev${bus}.${chipSelect}`, "SPI device", (fd) => {
    kernel.ioctl(fd, SPI_MODE, new Uint8Array([mode]));
    kernel.ioctl(fd, SPI_MESSAGE, new Uint8Array(transfer.buffer));
  });
  return read;
}

function onDevice(kernel: Kernel, path: string, kind: string, use: (fd: number) => void): void {
  let fd: number;
  try {
    fd = kernel.open(path, O_RDWR | O_CLOEXEC);
  } catch (error) {
    const isMissing = isKernelError(error, "ENOENT", "ENODEV", "ENXIO");
    throw new ConnectError(
      isMissing
        ? `there is no ${kind} ${path}; switch it on in the host's configuration (on a Raspberry ` +
          "Pi: raspi-config, Interface Options)"
        : `cannot open ${path}: ${String(error)}; see that the server may use it`,
      isMissing ? Code.NotFound : Code.FailedPrecondition,
      undefined,
      undefined,
      error,
    );
  }
  try {
    use(fd);
  } finally {
    kernel.close(fd);
  }
}
