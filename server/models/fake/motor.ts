/** A motor that is not there; where it would have turned to is worked out from the time. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { MotorService } from "../../../shared/gen/viam/component/motor/v1/motor_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import { attributes, number, optional, text } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { CallContext, Resource } from "../../resources/graph/resource.ts";
import { echo } from "./echo.ts";
import { TRIED_WITH } from "./tried_with.ts";

/** Speeds below this are standing still. Turns a minute. */
const SLOWEST_RPM = 0.0001;

/** Milliseconds of a minute. */
const MINUTE_MS = 60_000;

export interface FakeMotorAttributes {
  max_rpm: number | undefined;
  encoder: string | undefined;
  ticks_per_rotation: number | undefined;
}

/** An encoder that the motor turns. */
export interface TurnedEncoder extends Resource {
  /** Sets how fast it turns. Ticks a minute, negative backward. */
  setSpeed(ticksPerMinute: number): void;
}

/** Model `rdk:builtin:fake` of `rdk:component:motor`. */
export function fakeMotorModel({ clock }: { clock: Clock }): Model<FakeMotorAttributes> {
  return {
    api: "rdk:component:motor",
    model: "rdk:builtin:fake",
    triedWith: TRIED_WITH,
    attributes: attributes<FakeMotorAttributes>({
      max_rpm: optional(number("Turns a minute at full power. Default 100.", { min: 0.001 })),
      encoder: optional(text("Name of a fake encoder that the motor turns. Default: none.")),
      ticks_per_rotation: optional(
        number("Ticks of the encoder for one turn. Default 1.", { min: 0.001 }),
      ),
    }),
    dependencies: ({ encoder }) => ({ required: encoder === undefined ? [] : [encoder] }),
    construct: ({ attributes, dependencies }) =>
      new FakeMotor(clock, {
        maxRpm: attributes.max_rpm ?? 100,
        encoder: [...dependencies.values()].find(isTurned),
        ticksPerTurn: attributes.ticks_per_rotation ?? 1,
      }),
  };
}

export interface FakeMotorOptions {
  readonly maxRpm: number;
  readonly encoder?: TurnedEncoder | undefined;
  readonly ticksPerTurn?: number;
}

/** Turns at once with the speed that the power gives; a newer command ends the one before. */
export class FakeMotor implements Driver<typeof MotorService> {
  /** Share of full power, -1 to 1. */
  #power = 0;
  /** Position at {@link #sinceMs}, when the power was last changed. Turns. */
  #turns = 0;
  #sinceMs: number;
  #command = new AbortController();

  constructor(private readonly clock: Clock, private readonly options: FakeMotorOptions) {
    this.#sinceMs = clock.monotonicMs();
  }

  setPower({ powerPct }: { powerPct: number }) {
    this.#begin(finite(powerPct, "power_pct"));
    return {};
  }

  setRPM({ rpm }: { rpm: number }) {
    this.#begin(this.#speedOf(rpm) / this.options.maxRpm);
    return {};
  }

  async goFor({ rpm, revolutions }: { rpm: number; revolutions: number }, call: CallContext) {
    const speed = this.#speedOf(rpm);
    finite(revolutions, "revolutions");
    // Without an end when there are no revolutions to count.
    if (revolutions === 0) this.#begin(speed / this.options.maxRpm);
    else await this.#turn(speed * revolutions < 0 ? -1 : 1, Math.abs(speed), revolutions, call);
    return {};
  }

  async goTo(
    { rpm, positionRevolutions }: { rpm: number; positionRevolutions: number },
    call: CallContext,
  ) {
    const speed = Math.abs(this.#speedOf(rpm));
    const way = finite(positionRevolutions, "position_revolutions") - this.#position();
    if (way !== 0) await this.#turn(Math.sign(way), speed, way, call);
    return {};
  }

  resetZeroPosition({ offset }: { offset: number }) {
    const turns = -finite(offset, "offset");
    this.#setPower(this.#power);
    this.#turns = turns;
    return {};
  }

  getPosition() {
    return { position: this.#position() };
  }

  /** As with a real motor it takes an encoder to know the position; without one it is guessed. */
  getProperties() {
    return { positionReporting: this.options.encoder !== undefined };
  }

  isPowered() {
    return { isOn: this.#power !== 0, powerPct: this.#power };
  }

  isMoving() {
    return { isMoving: this.#power !== 0 };
  }

  stop(): void {
    this.#begin(0);
  }

  close(): void {
    this.stop();
  }

  doCommand = echo;

  getStatus() {
    return { is_powered: this.#power !== 0, position: this.#position() };
  }

  /** The speed the motor can do of the one that is requested. @throws for none. */
  #speedOf(rpm: number): number {
    if (!(Math.abs(rpm) >= SLOWEST_RPM)) {
      throw new ConnectError(
        `cannot move at ${rpm} RPM; name a speed of at least ${SLOWEST_RPM} RPM`,
        Code.InvalidArgument,
      );
    }
    return Math.sign(rpm) * Math.min(Math.abs(rpm), this.options.maxRpm);
  }

  async #turn(direction: number, rpm: number, turns: number, call: CallContext): Promise<void> {
    const target = this.#position() + direction * Math.abs(turns);
    const superseded = this.#begin(direction * rpm / this.options.maxRpm);
    const waiting = linkedController(call.signal);
    const end = () => waiting.abort();
    superseded.addEventListener("abort", end, { once: true });
    try {
      await this.clock.sleep(Math.abs(turns) / rpm * MINUTE_MS, waiting.signal);
    } catch (error) {
      if (superseded.aborted) return; // another command or a stop has taken over
      this.#setPower(0);
      throw error;
    } finally {
      superseded.removeEventListener("abort", end);
      waiting.abort();
    }
    this.#setPower(0);
    this.#turns = target;
  }

  /** Ends the running command and sets power; the signal aborts when the next command comes. */
  #begin(power: number): AbortSignal {
    this.#command.abort();
    this.#command = new AbortController();
    this.#setPower(Math.max(-1, Math.min(1, power)));
    return this.#command.signal;
  }

  #setPower(power: number): void {
    this.#turns = this.#position();
    this.#sinceMs = this.clock.monotonicMs();
    this.#power = power;
    const { encoder, maxRpm, ticksPerTurn = 1 } = this.options;
    encoder?.setSpeed(power * maxRpm * ticksPerTurn);
  }

  #position(): number {
    const ms = this.clock.monotonicMs() - this.#sinceMs;
    return this.#turns + this.#power * this.options.maxRpm * ms / MINUTE_MS;
  }
}

/** What is no number would stay in the position forever. */
function finite(value: number, field: string): number {
  if (Number.isFinite(value)) return value;
  throw new ConnectError(`${field} is ${value}; it must be a finite number`, Code.InvalidArgument);
}

function isTurned(resource: Resource): resource is TurnedEncoder {
  return typeof (resource as Partial<TurnedEncoder>).setSpeed === "function";
}
