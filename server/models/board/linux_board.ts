/** A board whose pins are lines of the kernel's GPIO character device. */
import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { BoardService } from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import type { Kernel, LinePulses } from "../kernel/kernel.ts";
import type { Poller } from "../kernel/poller.ts";
import { type AnalogAttributes, readAnalog, writeIio } from "./analogs.ts";
import type { LinuxBoardAttributes } from "./board_attributes.ts";
import { runBusCommand } from "./bus_commands.ts";
import { GpioChips, type NamedPin } from "./chips.ts";
import {
  configureLine,
  decodeEdges,
  type Edge,
  EVENT_BYTES,
  getLine,
  setLine,
} from "../kernel/gpio_v2.ts";
import { SysfsPwm } from "./sysfs_pwm.ts";
import { TickStreams } from "./ticks.ts";

/** PWM of a pin whose frequency nobody set. */
const DEFAULT_PWM_HZ = 800;
/** What the thread of software PWM keeps up with. */
const MOST_SOFTWARE_HZ = 2_000;

/** Edges that come faster than they are read must not keep the server. */
const MOST_PASSES = 8;

interface Pin {
  readonly fd: number;
  direction: "input" | "output";
  pulsed: boolean;
}

interface Interrupt {
  readonly name: string;
  readonly pin: string;
  readonly fd: number;
  /** Rising edges. */
  count: number;
  sequence: number;
  /** Edges that the kernel dropped because nobody read them in time. */
  lost: number;
}

interface Pwm {
  duty: number;
  frequencyHz: number;
  hardware: SysfsPwm | undefined;
}

export interface LinuxBoardOptions {
  readonly kernel: Kernel;
  readonly poller: Poller;
  readonly attributes: LinuxBoardAttributes;
  readonly log: Logger;
}

/** See {@link linuxBoardModel}. */
export class LinuxBoard implements Driver<typeof BoardService> {
  readonly #kernel: Kernel;
  readonly #chips: GpioChips;
  readonly #pins = new Map<string, Pin>();
  readonly #pwm = new Map<string, Pwm>();
  readonly #interrupts = new Map<string, Interrupt>();
  readonly #named: readonly NamedPin[];
  readonly #analogs: readonly AnalogAttributes[];
  readonly #ticks = new TickStreams();
  readonly #buffer = new Uint8Array(EVENT_BYTES * 64);
  #pulses: LinePulses | undefined;
  #dropped = 0;
  #closed = false;

  constructor(private readonly options: LinuxBoardOptions) {
    const { kernel, attributes, log } = options;
    this.#kernel = kernel;
    this.#named = attributes.pins ?? [];
    this.#analogs = attributes.analogs ?? [];
    this.#chips = new GpioChips(kernel, attributes.chip ?? "/dev/gpiochip0");
    try {
      log.info(`the board is ${this.#chips.check()}`);
      for (const interrupt of attributes.digital_interrupts ?? []) this.#listen(interrupt);
    } catch (error) {
      for (const { fd } of this.#interrupts.values()) kernel.close(fd);
      this.#chips.close();
      throw error;
    }
    for (const { fd } of this.#interrupts.values()) {
      options.poller.watch(fd, () => this.#readEdges());
    }
  }

  async setGPIO({ pin, high }: { pin: string; high: boolean }) {
    await this.#endPwm(pin);
    setLine(this.#kernel, this.#output(pin, high).fd, high);
    return {};
  }

  getGPIO({ pin }: { pin: string }) {
    const interrupt = this.#interruptOn(pin);
    const fd = interrupt?.fd ?? (this.#pins.get(pin) ?? this.#take(pin, "input", false)).fd;
    return { high: getLine(this.#kernel, fd) };
  }

  pWM({ pin }: { pin: string }) {
    return { dutyCyclePct: this.#pwm.get(pin)?.duty ?? 0 };
  }

  async setPWM({ pin, dutyCyclePct }: { pin: string; dutyCyclePct: number }) {
    if (!(dutyCyclePct >= 0 && dutyCyclePct <= 1)) {
      throw new ConnectError(
        `duty_cycle_pct is ${dutyCyclePct}; it goes from 0 to 1`,
        Code.InvalidArgument,
      );
    }
    await this.#apply(pin, this.#pwm.get(pin)?.frequencyHz ?? DEFAULT_PWM_HZ, dutyCyclePct);
    return {};
  }

  pWMFrequency({ pin }: { pin: string }) {
    return { frequencyHz: BigInt(this.#pwm.get(pin)?.frequencyHz ?? DEFAULT_PWM_HZ) };
  }

  async setPWMFrequency({ pin, frequencyHz }: { pin: string; frequencyHz: bigint }) {
    const hz = Number(frequencyHz) || DEFAULT_PWM_HZ; // 0 is the default, in the family too
    const isHardware = this.#hardwareOf(pin) !== undefined;
    if (!isHardware && hz > MOST_SOFTWARE_HZ) {
      throw new ConnectError(
        `frequency_hz is ${hz}; software PWM does at most ${MOST_SOFTWARE_HZ} Hz. For more, give ` +
          "the pin hardware PWM: pwm_chip_sysfs_dir and pwm_id in the attribute pins",
        Code.InvalidArgument,
      );
    }
    await this.#apply(pin, hz, this.#pwm.get(pin)?.duty ?? 0);
    return {};
  }

  readAnalogReader({ analogReaderName: name }: { analogReaderName: string }) {
    const analog = this.#analogs.find((each) => each.name === name);
    if (!analog) throw unknown("analogue reader", name, this.#analogs.map((each) => each.name));
    return readAnalog(this.#kernel, analog);
  }

  writeAnalog({ pin, value }: { pin: string; value: number }) {
    writeIio(this.#kernel, pin, value);
    return {};
  }

  getDigitalInterruptValue({ digitalInterruptName: name }: { digitalInterruptName: string }) {
    this.#readEdges();
    return { value: BigInt(this.#interrupt(name).count) };
  }

  streamTicks({ pinNames }: { pinNames: string[] }, { signal }: CallContext) {
    if (pinNames.length === 0) {
      throw new ConnectError("pin_names is empty; name an interrupt", Code.InvalidArgument);
    }
    for (const name of pinNames) this.#interrupt(name);
    return this.#ticks.read(pinNames, signal, () => this.#dropped++);
  }

  doCommand(command: JsonObject): JsonObject {
    return runBusCommand(this.#kernel, command);
  }

  getStatus() {
    this.#readEdges();
    const interrupts = [...this.#interrupts.values()];
    const lost = interrupts.reduce((sum, each) => sum + each.lost, this.#dropped);
    const analogs = this.#analogs.flatMap((analog) => {
      try {
        return [[analog.name, readAnalog(this.#kernel, analog).value] as const];
      } catch {
        return []; // reading it says why
      }
    });
    return {
      analogs: Object.fromEntries(analogs),
      digital_interrupts: Object.fromEntries(interrupts.map(({ name, count }) => [name, count])),
      ...(lost > 0 && { lost_edges: lost }),
    };
  }

  /** Pins with PWM go low; the level of other outputs is left to the kernel. */
  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    for (const pin of this.#pwm.keys()) {
      try {
        await this.#endPwm(pin);
        const held = this.#pins.get(pin);
        if (held) setLine(this.#kernel, held.fd, false);
      } catch (error) {
        this.options.log.warn(`pin ${pin} could not be switched off`, {
          event: "device_failed",
          error,
        });
      }
    }
    await this.#pulses?.close();
    for (const { fd } of this.#interrupts.values()) {
      await this.options.poller.unwatch(fd);
      this.#kernel.close(fd);
    }
    for (const { fd } of this.#pins.values()) this.#kernel.close(fd);
    this.#chips.close();
  }

  async #apply(pin: string, frequencyHz: number, duty: number): Promise<void> {
    const known = this.#pwm.get(pin);
    const hardware = known?.hardware ?? this.#hardwarePwm(pin);
    this.#pwm.set(pin, { duty, frequencyHz, hardware });
    if (hardware) return hardware.set(frequencyHz, duty);
    const held = this.#output(pin, duty === 1);
    if (duty > 0 && duty < 1) {
      const periodUs = 1_000_000 / frequencyHz;
      this.#pulses ??= this.#kernel.pulses();
      this.#pulses.pulse(held.fd, periodUs, duty * periodUs);
      held.pulsed = true;
      return;
    }
    if (held.pulsed) await this.#pulses?.end(held.fd);
    held.pulsed = false;
    // A newer command has come while the thread let go of the line.
    if (this.#pwm.get(pin)?.duty === duty) setLine(this.#kernel, held.fd, duty === 1);
  }

  async #endPwm(pin: string): Promise<void> {
    const pwm = this.#pwm.get(pin);
    if (!pwm) return;
    this.#pwm.delete(pin);
    pwm.hardware?.close();
    const held = this.#pins.get(pin);
    if (!held?.pulsed) return;
    held.pulsed = false;
    await this.#pulses?.end(held.fd);
  }

  #hardwareOf(pin: string): NamedPin | undefined {
    return this.#named.find(({ name, pwm_chip_sysfs_dir: chip }) => name === pin && chip);
  }

  #hardwarePwm(pin: string): SysfsPwm | undefined {
    const named = this.#hardwareOf(pin);
    return named && new SysfsPwm(this.#kernel, named.pwm_chip_sysfs_dir!, named.pwm_id ?? 0);
  }

  #output(pin: string, high: boolean): Pin {
    if (this.#interruptOn(pin)) {
      throw new ConnectError(
        `pin ${pin} is a digital interrupt of this board; it cannot be an output too`,
        Code.FailedPrecondition,
      );
    }
    const held = this.#pins.get(pin) ?? this.#take(pin, "output", high);
    if (held.direction === "input") {
      configureLine(this.#kernel, held.fd, { direction: "output", high });
      held.direction = "output";
    }
    return held;
  }

  #take(pin: string, direction: Pin["direction"], high: boolean): Pin {
    if (this.#closed) throw new ConnectError("the board was closed", Code.Unavailable);
    const fd = this.#chips.take(this.#chips.find(pin, this.#named), { direction, high });
    const held: Pin = { fd, direction, pulsed: false };
    this.#pins.set(pin, held);
    return held;
  }

  #listen(interrupt: NonNullable<LinuxBoardAttributes["digital_interrupts"]>[number]): void {
    const { name, pin, bias, debounce_us: debounceUs } = interrupt;
    const place = this.#chips.find(pin, this.#named);
    const fd = this.#chips.take(place, { direction: "input", edges: true, bias, debounceUs });
    this.#interrupts.set(name, { name, pin, fd, count: 0, sequence: 0, lost: 0 });
  }

  /** Each line has a queue of its own; an encoder needs the edges of its lines in their order. */
  #readEdges(): void {
    const edges: { interrupt: Interrupt; edge: Edge }[] = [];
    // An edge of one line may come while those of another are read: until there are none.
    for (let pass = 0, before = -1; pass < MOST_PASSES && edges.length > before; pass++) {
      before = edges.length;
      for (const interrupt of this.#interrupts.values()) {
        for (;;) {
          const length = this.#kernel.read(interrupt.fd, this.#buffer);
          if (!length) break;
          const read = decodeEdges(this.#buffer.subarray(0, length));
          for (const edge of read) edges.push({ interrupt, edge });
        }
      }
    }
    edges.sort((a, b) => Number(a.edge.timeNs - b.edge.timeNs));
    for (const { interrupt, edge } of edges) {
      interrupt.lost += Math.max(0, edge.sequence - interrupt.sequence - 1);
      interrupt.sequence = edge.sequence;
      if (edge.rising) interrupt.count++;
      this.#ticks.give(interrupt.name, edge);
    }
  }

  #interruptOn(pin: string): Interrupt | undefined {
    return [...this.#interrupts.values()].find((each) => each.pin === pin);
  }

  #interrupt(name: string): Interrupt {
    const found = this.#interrupts.get(name) ?? this.#interruptOn(name);
    if (found) return found;
    throw unknown("digital interrupt", name, [...this.#interrupts.keys()]);
  }
}

function unknown(kind: string, name: string, known: readonly string[]): ConnectError {
  const others = known.length > 0 ? known.join(", ") : "none; add it to the attributes";
  return new ConnectError(`there is no ${kind} ${name}; the board has ${others}`, Code.NotFound);
}
