/** Lines of GPIO chips by the names that people give them. */
import { Code, ConnectError } from "@connectrpc/connect";
import { isKernelError, type Kernel, O_CLOEXEC, O_NONBLOCK, O_RDWR } from "../kernel/kernel.ts";
import { chipInfo, type LineConfig, lineInfo, requestLine } from "../kernel/gpio_v2.ts";

/** A line of a chip. */
export interface LinePlace {
  /** "/dev/gpiochip0" */
  readonly chip: string;
  /** Offset on the chip. */
  readonly line: number;
}

/** A pin with a name of its own. */
export interface NamedPin {
  name: string;
  device_name: string | undefined;
  line_number: number | undefined;
  pwm_chip_sysfs_dir: string | undefined;
  pwm_id: number | undefined;
}

/** The chips of a host that a board uses; each is opened once. */
export class GpioChips {
  readonly #open = new Map<string, number>();
  readonly #names = new Map<string, Map<string, number>>();

  constructor(private readonly kernel: Kernel, private readonly chip: string) {}

  /**
   * Where a pin is: a name of `pins`, `gpiochip1:4`, a line's number on the board's own chip, or
   * the name that the chip gives a line.
   *
   * @throws {ConnectError} NOT_FOUND
   */
  find(pin: string, pins: readonly NamedPin[]): LinePlace {
    const named = pins.find(({ name }) => name === pin);
    if (named?.line_number !== undefined) {
      return this.#checked(pin, devicePath(named.device_name ?? this.chip), named.line_number);
    }
    const [, chip, line] = /^(?:(?:\/dev\/)?(gpiochip\w+):)?(\d+)$/.exec(pin) ?? [];
    if (line !== undefined) {
      return this.#checked(pin, chip ? devicePath(chip) : devicePath(this.chip), Number(line));
    }
    const path = devicePath(this.chip);
    const found = this.#namesOf(path).get(pin);
    if (found !== undefined) return { chip: path, line: found };
    const known = [...pins.map(({ name }) => name), ...this.#namesOf(path).keys()].slice(0, 40);
    throw new ConnectError(
      `there is no pin ${pin}; name a line by its number on ${path}, as gpiochip1:4` +
        (known.length > 0 ? `, or one of ${known.join(", ")}` : ", or in the attribute pins"),
      Code.NotFound,
    );
  }

  /**
   * Takes a line.
   *
   * @returns the file of the line.
   * @throws {ConnectError} that says who has it.
   */
  take({ chip, line }: LinePlace, config: LineConfig): number {
    const fd = this.#chip(chip);
    try {
      return requestLine(this.kernel, fd, line, config);
    } catch (error) {
      if (isKernelError(error, "EBUSY")) {
        const { consumer } = lineInfo(this.kernel, fd, line);
        throw new ConnectError(
          `line ${line} of ${chip} is in use by ${consumer || "another driver of the kernel"}; ` +
            "end that program or driver, or take another pin",
          Code.FailedPrecondition,
        );
      }
      if (isKernelError(error, "EINVAL") && (config.bias || config.debounceUs)) {
        throw new ConnectError(
          `${chip} cannot do the bias or debounce that is configured for line ${line}; ` +
            "leave it out and use a resistor or capacitor",
          Code.FailedPrecondition,
        );
      }
      throw explained(error, chip);
    }
  }

  /** Opens the board's own chip, so that what is wrong with it is known at once. */
  check(): string {
    const path = devicePath(this.chip);
    const { label, lines } = chipInfo(this.kernel, this.#chip(path));
    return `${path} (${label}, ${lines} lines)`;
  }

  close(): void {
    for (const fd of this.#open.values()) this.kernel.close(fd);
    this.#open.clear();
  }

  #checked(pin: string, chip: string, line: number): LinePlace {
    const { lines } = chipInfo(this.kernel, this.#chip(chip));
    if (line < lines) return { chip, line };
    throw new ConnectError(
      `there is no pin ${pin}: ${chip} has lines 0 to ${lines - 1}`,
      Code.NotFound,
    );
  }

  #namesOf(path: string): Map<string, number> {
    let names = this.#names.get(path);
    if (names) return names;
    const fd = this.#chip(path);
    names = new Map();
    const { lines } = chipInfo(this.kernel, fd);
    for (let line = 0; line < lines; line++) {
      const { name } = lineInfo(this.kernel, fd, line);
      if (name && !names.has(name)) names.set(name, line);
    }
    this.#names.set(path, names);
    return names;
  }

  #chip(path: string): number {
    let fd = this.#open.get(path);
    if (fd !== undefined) return fd;
    try {
      fd = this.kernel.open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    } catch (error) {
      const chips = this.kernel.list("/dev").filter((name) => name.startsWith("gpiochip"));
      throw explained(error, path, chips);
    }
    this.#open.set(path, fd);
    return fd;
  }
}

function devicePath(chip: string): string {
  return chip.startsWith("/") ? chip : `/dev/${chip}`;
}

function explained(error: unknown, path: string, chips: readonly string[] = []): unknown {
  if (isKernelError(error, "ENOENT", "ENODEV", "ENXIO")) {
    const others = chips.length > 0
      ? `this host has ${chips.join(", ")}`
      : "this host has none; see that its GPIO driver is loaded and /dev is passed to containers";
    return new ConnectError(`there is no GPIO chip ${path}; ${others}`, Code.NotFound);
  }
  if (isKernelError(error, "EACCES", "EPERM")) {
    return new ConnectError(
      `no permission to use ${path}; run the server as root, or as a user in the group that owns ` +
        `the file (often gpio)`,
      Code.PermissionDenied,
    );
  }
  if (isKernelError(error, "ENOTTY")) {
    return new ConnectError(
      `${path} is no GPIO chip, or its kernel is older than 5.10`,
      Code.FailedPrecondition,
    );
  }
  return error;
}
