/** Motors that are not there, on the lines of an emulated GPIO chip. */
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import type { EmulatedKernel } from "../kernel/emulated_kernel.ts";

/** A motor and its encoder; pins are line numbers. */
export interface SimulatedMotor {
  name: string;
  pwm: number | undefined;
  dir: number | undefined;
  a: number | undefined;
  b: number | undefined;
  encoder_a: number | undefined;
  encoder_b: number | undefined;
  max_rpm: number | undefined;
  ticks_per_rotation: number | undefined;
}

/** How often the motors move on. Milliseconds. */
const STEP_MS = 5;
/** A motor comes this close (63 %) to a new speed in that time. Milliseconds. */
const LAG_MS = 40;
/** Levels of the lines A and B through one cycle of an encoder, turning forward. */
const CYCLE = [[false, false], [true, false], [true, true], [false, true]] as const;

/** Turns the motors with what the server does to their pins. */
export class SimulatedWiring {
  readonly #motors: { readonly wires: SimulatedMotor; rpm: number; turns: number; edges: number }[];
  readonly #jammed = new Set<string>();
  #timer: Timer;
  #lastMs: number;

  constructor(
    private readonly kernel: EmulatedKernel,
    private readonly clock: Clock,
    motors: readonly SimulatedMotor[],
  ) {
    this.#motors = motors.map((wires) => ({ wires, rpm: 0, turns: 0, edges: 0 }));
    this.#lastMs = clock.monotonicMs();
    this.#timer = this.#arm();
  }

  /** Names of the motors. */
  get names(): string[] {
    return this.#motors.map(({ wires }) => wires.name);
  }

  /** A motor that is jammed has power and does not turn. */
  jam(name: string, jammed: boolean): void {
    if (jammed) this.#jammed.add(name);
    else this.#jammed.delete(name);
  }

  /** Turns so far and turns a minute, by motor. */
  status(): Record<string, { turns: number; rpm: number }> {
    return Object.fromEntries(
      this.#motors.map(({ wires: { name }, turns, rpm }) => [name, { turns, rpm }]),
    );
  }

  close(): void {
    this.#timer.cancel();
  }

  #arm(): Timer {
    return this.clock.setTimer(STEP_MS, () => {
      this.#timer = this.#arm();
      this.#step();
    });
  }

  #step(): void {
    const now = this.clock.monotonicMs();
    const passed = now - this.#lastMs;
    const lastNs = this.kernel.nowNs() - BigInt(Math.round(passed * 1e6));
    this.#lastMs = now;
    for (const motor of this.#motors) {
      const { wires } = motor;
      const jammed = this.#jammed.has(wires.name);
      const wanted = jammed ? 0 : this.#power(wires) * (wires.max_rpm ?? 100);
      motor.rpm += (wanted - motor.rpm) * (jammed ? 1 : 1 - Math.exp(-passed / LAG_MS));
      motor.turns += motor.rpm * passed / 60_000;
      // Two edges for each tick: see incremental_encoder.ts.
      const edges = Math.floor(motor.turns * 2 * (wires.ticks_per_rotation ?? 100));
      const count = Math.abs(edges - motor.edges);
      const direction = Math.sign(edges - motor.edges);
      for (let each = 1; each <= count; each++) {
        motor.edges += direction;
        const [a, b] = CYCLE[((motor.edges % 4) + 4) % 4]!;
        const timeNs = lastNs + BigInt(Math.round(passed * 1e6 * each / count));
        if (wires.encoder_a !== undefined) this.kernel.drive(wires.encoder_a, a, timeNs);
        if (wires.encoder_b !== undefined) this.kernel.drive(wires.encoder_b, b, timeNs);
      }
    }
  }

  /** Part of full power, -1 to 1, that the pins give. */
  #power({ pwm, dir, a, b }: SimulatedMotor): number {
    const duty = (line: number | undefined) => line === undefined ? 0 : this.kernel.duty(line);
    if (dir !== undefined) return (duty(dir) > 0.5 ? 1 : -1) * duty(pwm);
    const way = duty(a) - duty(b);
    return pwm === undefined ? way : way * duty(pwm);
  }
}
