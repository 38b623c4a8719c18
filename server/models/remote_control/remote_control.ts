import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { BaseService } from "../../../shared/gen/viam/component/base/v1/base_pb.ts";
import type { InputControllerService } from "../../../shared/gen/viam/component/inputcontroller/v1/input_controller_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import type { Used } from "../drivers/dependency.ts";
import { EVENT } from "../input/controls.ts";
import type { ControlMode, RemoteControlAttributes } from "./remote_control_attributes.ts";

/** A stick that is let go rests a little off its middle. */
const DEAD_ZONE = 0.05;

/** Controls of each mode. */
const CONTROLS: Readonly<Record<ControlMode, readonly string[]>> = {
  arrowControl: ["AbsoluteHat0X", "AbsoluteHat0Y"],
  triggerSpeedControl: ["AbsoluteX", "AbsoluteZ", "AbsoluteRZ"],
  buttonControl: ["ButtonNorth", "ButtonSouth", "ButtonEast", "ButtonWest"],
  joyStickControl: ["AbsoluteX", "AbsoluteY"],
  droneControl: ["AbsoluteY", "AbsoluteRX"],
};

/** Parts of full speed, -1 to 1; angular is counterclockwise. */
export interface Drive {
  readonly linear: number;
  readonly angular: number;
}

/** What the controls want; the upper end of a stick, and its left one, is -1. */
export function driveOf(mode: ControlMode, values: ReadonlyMap<string, number>): Drive {
  const at = (control: string) => {
    const value = values.get(control) ?? 0;
    return Math.abs(value) < DEAD_ZONE ? 0 : Math.max(-1, Math.min(1, value));
  };
  // Without -0, which prints oddly.
  const drive = (linear: number, angular: number) => ({ linear: linear + 0, angular: angular + 0 });
  switch (mode) {
    case "arrowControl":
      return drive(-at("AbsoluteHat0Y"), -at("AbsoluteHat0X"));
    case "triggerSpeedControl":
      return drive(at("AbsoluteRZ") - at("AbsoluteZ"), -at("AbsoluteX"));
    case "buttonControl":
      return drive(at("ButtonNorth") - at("ButtonSouth"), at("ButtonWest") - at("ButtonEast"));
    case "joyStickControl":
      return drive(-at("AbsoluteY"), -at("AbsoluteX"));
    case "droneControl":
      return drive(-at("AbsoluteY"), -at("AbsoluteRX"));
  }
}

export interface RemoteControlOptions {
  readonly base: Used<typeof BaseService>;
  readonly controller: Used<typeof InputControllerService>;
  readonly attributes: RemoteControlAttributes;
  readonly clock: Clock;
  readonly log: Logger;
}

/** See {@link remoteControlModel}. Has no calls of its own: the controller is what moves it. */
export class RemoteControl implements Resource {
  readonly #ending = new AbortController();
  readonly #values = new Map<string, number>();
  #running: Promise<void> = Promise.resolve();
  #driving: Promise<void> | undefined;
  #applied = "";
  #problem: string | undefined;

  private constructor(private readonly options: RemoteControlOptions) {}

  /** @throws when the controller lacks a control that the mode takes. */
  static async create(options: RemoteControlOptions): Promise<RemoteControl> {
    const { controls: has = [] } = await options.controller.call("getControls", {
      controller: options.controller.name,
    });
    const remote = new RemoteControl(options);
    const missing = remote.#controls.filter((control) => !has.includes(control));
    if (missing.length > 0) {
      throw new Error(
        `${options.controller.name} has no ${missing.join(", ")}, which ${remote.#mode} takes; ` +
          "choose another control_mode",
      );
    }
    remote.#running = remote.#run();
    return remote;
  }

  getStatus() {
    return {
      ...driveOf(this.#mode, this.#values),
      ...(this.#problem !== undefined && { error: this.#problem }),
    };
  }

  /** The base stops; it drives again with the next event of the controller. */
  async stop(): Promise<void> {
    this.#values.clear();
    this.#applied = "";
    await this.options.base.stop();
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#running;
    await this.stop();
  }

  get #mode(): ControlMode {
    return this.options.attributes.control_mode ?? "arrowControl";
  }

  get #controls(): readonly string[] {
    return CONTROLS[this.#mode];
  }

  async #run(): Promise<void> {
    const { controller, clock, log } = this.options;
    const { signal } = this.#ending;
    const backoff = new Backoff({ minMs: 200, maxMs: 10_000 });
    const events = this.#controls.map((control) => ({ control, events: [EVENT.all] }));
    while (!signal.aborted) {
      try {
        const stream = controller.stream(
          "streamEvents",
          { controller: controller.name, events },
          signal,
        );
        for await (const { event } of stream) {
          if (!event) continue;
          this.#problem = undefined;
          backoff.reset();
          const rests = event.event === EVENT.disconnect || event.event === EVENT.connect;
          this.#values.set(event.control ?? "", rests ? 0 : event.value ?? 0);
          this.#driving ??= this.#drive();
        }
        if (!signal.aborted) throw new Error("it ended its events");
      } catch (error) {
        if (signal.aborted) return;
        this.#problem = `${controller.name}: ${reasonOf(error)}`;
        log.warn(`the base is stopped; ${this.#problem}`, { event: "motion_stopped" });
        await this.stop().catch((error: unknown) =>
          log.error("the base did not stop", { event: "motion_not_stopped", error })
        );
        await clock.sleep(backoff.next(), signal).catch(() => {});
      }
    }
  }

  /** Sends the newest command until the base has it: a stick that was let go sends no other one. */
  async #drive(): Promise<void> {
    // Not within the same turn: the promise must be kept before this ends.
    await Promise.resolve();
    const { base, clock, log } = this.options;
    const { signal } = this.#ending;
    const backoff = new Backoff({ minMs: 200, maxMs: 2_000 });
    let told = "";
    while (!signal.aborted) {
      const drive = driveOf(this.#mode, this.#values);
      const wish = JSON.stringify(drive);
      if (wish === this.#applied) break;
      this.#applied = wish;
      try {
        await this.#send(drive);
        if (this.#problem === told) this.#problem = undefined;
      } catch (error) {
        this.#applied = "";
        const problem = `${base.name}: ${reasonOf(error)}`;
        if (problem !== told) log.warn(`the base was not driven; ${problem}`);
        this.#problem = told = problem;
        await clock.sleep(backoff.next(), signal).catch(() => {});
      }
    }
    this.#driving = undefined;
  }

  async #send({ linear, angular }: Drive): Promise<void> {
    const { base, attributes } = this.options;
    if (linear === 0 && angular === 0) return await base.stop();
    const { max_linear_mm_per_sec: most = 0, max_angular_degs_per_sec: turning = 0 } = attributes;
    const byVelocity = (most ?? 0) > 0 && (turning ?? 0) > 0;
    const [y, z] = byVelocity ? [linear * most!, angular * turning!] : [linear, angular];
    await base.call(byVelocity ? "setVelocity" : "setPower", {
      linear: { x: 0, y, z: 0 },
      angular: { x: 0, y: 0, z },
    });
  }
}
