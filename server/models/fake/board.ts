import { Code, ConnectError } from "@connectrpc/connect";
import type {
  BoardService,
  StreamTicksRequest,
} from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import {
  attributes,
  integer,
  listOf,
  objectOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

/** Analogue inputs count from 0 to this and begin again. */
const ANALOG_MAX = 1_000;

/** Nanoseconds of a millisecond. */
const NS_PER_MS = 1_000_000;

interface NamedPin {
  name: string;
  pin: string | undefined;
}

export interface FakeBoardAttributes {
  analogs: NamedPin[] | undefined;
  digital_interrupts: NamedPin[] | undefined;
  tick_interval_msec: number | undefined;
}

/** Model `rdk:builtin:fake` of `rdk:component:board`. */
export function fakeBoardModel({ clock }: { clock: Clock }): Model<FakeBoardAttributes> {
  const pin = objectOf<NamedPin>({
    name: text("What calls name it."),
    pin: optional(text("Where it is on the board. Default: the name.")),
  }, "A named pin.");
  return {
    api: "rdk:component:board",
    model: "rdk:builtin:fake",
    triedWith: TRIED_WITH,
    attributes: attributes<FakeBoardAttributes>({
      analogs: optional(listOf(pin, "Analogue inputs. Default: none.")),
      digital_interrupts: optional(listOf(pin, "Inputs whose edges count. Default: none.")),
      tick_interval_msec: optional(
        integer("Milliseconds from one edge of an interrupt to the next. Default 100.", {
          min: 1,
          max: 3_600_000,
        }),
      ),
    }),
    construct: ({ attributes }) =>
      new FakeBoard(clock, {
        analogs: attributes.analogs?.map(({ name }) => name) ?? [],
        interrupts: attributes.digital_interrupts?.map(({ name }) => name) ?? [],
        tickMs: attributes.tick_interval_msec ?? 100,
      }),
  };
}

interface Pin {
  high: boolean;
  dutyCycle: number;
  frequencyHz: bigint;
}

export interface FakeBoardOptions {
  readonly analogs: readonly string[];
  readonly interrupts: readonly string[];
  readonly tickMs: number;
}

/** Keeps what is written to its pins; every interrupt changes its level in equal intervals. */
export class FakeBoard implements Driver<typeof BoardService> {
  readonly #pins = new Map<string, Pin>();
  /** Next value of each analogue input; those that were written to stay as they are. */
  readonly #analogs: Map<string, number>;
  readonly #written = new Set<string>();
  readonly #startMs: number;

  constructor(private readonly clock: Clock, private readonly options: FakeBoardOptions) {
    this.#analogs = new Map(options.analogs.map((name) => [name, 0]));
    this.#startMs = clock.monotonicMs();
  }

  setGPIO({ pin, high }: { pin: string; high: boolean }) {
    this.#pin(pin).high = high;
    return {};
  }

  getGPIO({ pin }: { pin: string }) {
    return { high: this.#pin(pin).high };
  }

  pWM({ pin }: { pin: string }) {
    return { dutyCyclePct: this.#pin(pin).dutyCycle };
  }

  setPWM({ pin, dutyCyclePct }: { pin: string; dutyCyclePct: number }) {
    if (!(dutyCyclePct >= 0 && dutyCyclePct <= 1)) {
      throw new ConnectError(
        `duty_cycle_pct is ${dutyCyclePct}; it goes from 0 to 1`,
        Code.InvalidArgument,
      );
    }
    this.#pin(pin).dutyCycle = dutyCyclePct;
    return {};
  }

  pWMFrequency({ pin }: { pin: string }) {
    return { frequencyHz: this.#pin(pin).frequencyHz };
  }

  setPWMFrequency({ pin, frequencyHz }: { pin: string; frequencyHz: bigint }) {
    this.#pin(pin).frequencyHz = frequencyHz;
    return {};
  }

  readAnalogReader({ analogReaderName: name }: { analogReaderName: string }) {
    const value = this.#analogs.get(name);
    if (value === undefined) throw unknown("analogue reader", name, this.options.analogs);
    if (!this.#written.has(name)) this.#analogs.set(name, (value + 1) % (ANALOG_MAX + 1));
    return { value, minRange: 0, maxRange: ANALOG_MAX, stepSize: 1 };
  }

  writeAnalog({ pin, value }: { pin: string; value: number }) {
    this.#analogs.set(pin, value);
    this.#written.add(pin);
    return {};
  }

  getDigitalInterruptValue({ digitalInterruptName: name }: { digitalInterruptName: string }) {
    this.#checkInterrupt(name);
    return { value: BigInt(this.#edges()) };
  }

  async *streamTicks({ pinNames }: StreamTicksRequest, { signal }: CallContext) {
    if (pinNames.length === 0) {
      throw new ConnectError("pin_names is empty; name an interrupt", Code.InvalidArgument);
    }
    for (const name of pinNames) this.#checkInterrupt(name);
    // Every edge is reported, also those that a busy host comes to late.
    for (let next = this.#edges() + 1; !signal.aborted; next++) {
      const atMs = this.#startMs + next * this.options.tickMs;
      const waitMs = atMs - this.clock.monotonicMs();
      if (waitMs > 0) await this.clock.sleep(waitMs, signal);
      const time = BigInt(Math.round(atMs * NS_PER_MS));
      for (const pinName of pinNames) yield { pinName, time, high: next % 2 === 1 };
    }
  }

  doCommand = echo;

  getStatus() {
    const count = this.#edges();
    return {
      analogs: Object.fromEntries(this.#analogs),
      digital_interrupts: Object.fromEntries(this.options.interrupts.map((name) => [name, count])),
    };
  }

  /** Edges since the start; the first one rises. */
  #edges(): number {
    // The clock counts in fractions: an edge that is due this very moment has happened.
    return Math.floor((this.clock.monotonicMs() - this.#startMs) / this.options.tickMs + 1e-6);
  }

  #checkInterrupt(name: string): void {
    if (this.options.interrupts.includes(name)) return;
    throw unknown("digital interrupt", name, this.options.interrupts);
  }

  #pin(name: string): Pin {
    let pin = this.#pins.get(name);
    if (!pin) this.#pins.set(name, pin = { high: false, dutyCycle: 0, frequencyHz: 0n });
    return pin;
  }
}

function unknown(kind: string, name: string, known: readonly string[]): ConnectError {
  const others = known.length > 0 ? known.join(", ") : "none; add it to the attributes";
  return new ConnectError(`there is no ${kind} ${name}; the board has ${others}`, Code.NotFound);
}
