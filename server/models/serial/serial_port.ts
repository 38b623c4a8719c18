/** Serial ports through termios, at any speed. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Hardware } from "../kernel/host_hardware.ts";
import { isKernelError, O_CLOEXEC, O_NOCTTY, O_NONBLOCK, O_RDWR } from "../kernel/kernel.ts";
import type { ByteLink } from "./byte_link.ts";

// asm-generic/ioctls.h, asm-generic/termbits.h: struct termios2.
const TCGETS2 = 0x802c542a;
const TCSETS2 = 0x402c542b;
const TIOCEXCL = 0x540c;
const TERMIOS2_BYTES = 44;
const BOTHER = 0o10000;
const CS8 = 0o60;
const CREAD = 0o200;
const PARENB = 0o400;
const PARODD = 0o1000;
const CLOCAL = 0o4000;
const CFLAG_AT = 8;
const VMIN_AT = 17 + 6;
const ISPEED_AT = 36;
const OSPEED_AT = 40;

/** A device that sends faster than it is read loses the oldest bytes. */
const MOST_WAITING = 64 * 1024;
const READ_BYTES = 4_096;
/** Before another look whether the port takes more bytes. Milliseconds. */
const FULL_WAIT_MS = 2;

export type Parity = "none" | "even" | "odd";

export interface SerialPortOptions {
  /** "/dev/ttyUSB0" */
  readonly path: string;
  readonly baudRate: number;
  /** Default none. */
  readonly parity?: Parity | undefined;
}

/**
 * Opens a port for this process alone, with 8 bits and nothing between it and the device.
 *
 * @throws {ConnectError} that says what to do.
 */
export function openSerialPort(
  hardware: Hardware,
  clock: Clock,
  options: SerialPortOptions,
): ByteLink {
  const { kernel } = hardware;
  const { path, baudRate, parity = "none" } = options;
  let fd: number;
  try {
    fd = kernel.open(path, O_RDWR | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  } catch (error) {
    throw explained(error, path, kernel.list("/dev"));
  }
  try {
    kernel.ioctl(fd, TIOCEXCL, new Uint8Array(8));
    const bytes = new Uint8Array(TERMIOS2_BYTES);
    kernel.ioctl(fd, TCGETS2, bytes);
    const view = new DataView(bytes.buffer);
    bytes.fill(0, 0, 16);
    const parityFlags = parity === "none" ? 0 : parity === "odd" ? PARENB | PARODD : PARENB;
    view.setUint32(CFLAG_AT, BOTHER | CS8 | CREAD | CLOCAL | parityFlags, true);
    bytes[VMIN_AT] = 1;
    view.setUint32(ISPEED_AT, baudRate, true);
    view.setUint32(OSPEED_AT, baudRate, true);
    kernel.ioctl(fd, TCSETS2, bytes);
  } catch (error) {
    kernel.close(fd);
    throw explained(error, path, []);
  }
  return new SerialPort(hardware, clock, fd, path);
}

class SerialPort implements ByteLink {
  readonly #buffer = new Uint8Array(READ_BYTES);
  #waiting: Uint8Array[] = [];
  #size = 0;
  #problem: unknown;
  #ended = false;
  #wake = Promise.withResolvers<void>();

  constructor(
    private readonly hardware: Hardware,
    private readonly clock: Clock,
    private readonly fd: number,
    private readonly path: string,
  ) {
    hardware.poller.watch(fd, () => this.#take());
  }

  async read(): Promise<Uint8Array | undefined> {
    for (;;) {
      const next = this.#waiting.shift();
      if (next) {
        this.#size -= next.length;
        return next;
      }
      if (this.#problem !== undefined) throw this.#problem;
      if (this.#ended) return undefined;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
  }

  async write(bytes: Uint8Array): Promise<void> {
    for (let rest = new Uint8Array(bytes); rest.length > 0 && !this.#ended;) {
      const written = this.hardware.kernel.write(this.fd, rest);
      if (written === undefined) await this.clock.sleep(FULL_WAIT_MS);
      else rest = rest.slice(written);
    }
  }

  async close(): Promise<void> {
    if (this.#ended) return;
    this.#ended = true;
    this.#wake.resolve();
    await this.hardware.poller.unwatch(this.fd);
    this.hardware.kernel.close(this.fd);
  }

  /** One read each time: a device that never stops must not keep the server. */
  #take(): void {
    if (this.#ended || this.#problem !== undefined) return;
    try {
      const length = this.hardware.kernel.read(this.fd, this.#buffer);
      if (length === undefined) return;
      if (length === 0) throw new ConnectError(`${this.path} was unplugged`, Code.Unavailable);
      this.#waiting.push(this.#buffer.slice(0, length));
      this.#size += length;
      while (this.#size > MOST_WAITING) this.#size -= this.#waiting.shift()!.length;
    } catch (error) {
      this.#problem = isKernelError(error, "EIO", "ENXIO", "ENODEV")
        ? new ConnectError(`${this.path} was unplugged`, Code.Unavailable)
        : error;
      void this.hardware.poller.unwatch(this.fd);
    }
    this.#wake.resolve();
  }
}

function explained(error: unknown, path: string, devices: readonly string[]): unknown {
  if (isKernelError(error, "ENOENT", "ENODEV", "ENXIO")) {
    const ports = devices.filter((name) => /^tty(USB|ACM|AMA|S|THS)\d/.test(name)).slice(0, 10);
    return new ConnectError(
      `there is no serial port ${path}; this host has ${ports.join(", ") || "none"}`,
      Code.NotFound,
    );
  }
  if (isKernelError(error, "EACCES", "EPERM")) {
    return new ConnectError(
      `no permission to use ${path}; run the server as root, or as a user in the group that owns ` +
        "the file (often dialout)",
      Code.PermissionDenied,
    );
  }
  if (isKernelError(error, "EBUSY")) {
    return new ConnectError(
      `${path} is in use by another program; end that one first (fuser ${path} finds it)`,
      Code.FailedPrecondition,
    );
  }
  if (isKernelError(error, "ENOTTY", "EINVAL")) {
    return new ConnectError(
      `${path} is no serial port, or does not do this speed`,
      Code.FailedPrecondition,
    );
  }
  return error;
}
