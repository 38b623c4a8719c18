import { Code, ConnectError } from "@connectrpc/connect";
import { Backoff } from "../../../shared/base/time/backoff.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { BoardService } from "../../../shared/gen/viam/component/board/v1/board_pb.ts";
import {
  type EncoderService,
  PositionType,
} from "../../../shared/gen/viam/component/encoder/v1/encoder_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { Used } from "../drivers/dependency.ts";
import type { Level } from "./quadrature.ts";

/** A stream of edges that has lasted so long is one, also when the encoder does not turn. */
const STEADY_MS = 1_000;
/** After this, also without an edge, a failure is a new one. */
const WELL_MS = 60_000;

export interface BoardEncoderOptions {
  readonly board: Used<typeof BoardService>;
  /** Digital interrupts. */
  readonly pins: readonly string[];
  /** Ticks of an edge; undefined: one each, in the direction that a motor says. */
  readonly count: ((edge: Level) => number) | undefined;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Counts the edges of a board's interrupts. */
export class BoardEncoder implements Driver<typeof EncoderService> {
  #ticks = 0;
  /** Of an encoder with one line. */
  #direction: 1 | -1 = 1;
  #problem: string | undefined;
  readonly #ending = new AbortController();
  readonly #counting: Promise<void>;

  constructor(private readonly options: BoardEncoderOptions) {
    this.#counting = this.#run();
  }

  /** True when it takes a motor to know the direction. */
  get needsDirection(): boolean {
    return this.options.count === undefined;
  }

  /** The motor turns that way from now on. */
  setDirection(direction: 1 | -1): void {
    this.#direction = direction;
  }

  getPosition({ positionType }: { positionType?: PositionType | undefined }) {
    if (positionType === PositionType.ANGLE_DEGREES) {
      throw new ConnectError(
        "this encoder counts ticks; it does not know an angle in degrees",
        Code.Unimplemented,
      );
    }
    if (this.#problem !== undefined) throw new ConnectError(this.#problem, Code.Unavailable);
    return { value: Math.trunc(this.#ticks), positionType: PositionType.TICKS_COUNT };
  }

  resetPosition() {
    this.#ticks = 0;
    return {};
  }

  getProperties() {
    return { ticksCountSupported: true, angleDegreesSupported: false };
  }

  /** Why it has no edges. */
  problem(): string | undefined {
    return this.#problem;
  }

  getStatus() {
    return {
      position: Math.trunc(this.#ticks),
      ...(this.#problem !== undefined && { error: this.#problem }),
    };
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#counting;
  }

  /** Edges of a board that fails, as one of a module can, are requested again. */
  async #run(): Promise<void> {
    const { board, pins, clock, log } = this.options;
    const { signal } = this.#ending;
    const backoff = new Backoff({ minMs: 200, maxMs: 10_000 });
    let logged: string | undefined;
    const well = () => {
      this.#problem = undefined;
      logged = undefined;
      backoff.reset();
    };
    while (!signal.aborted) {
      const begunMs = clock.monotonicMs();
      const steady = clock.setTimer(STEADY_MS, () => this.#problem = undefined);
      try {
        const edges = board.stream("streamTicks", { pinNames: [...pins] }, signal);
        for await (const edge of edges) {
          well();
          const level = { pinName: edge.pinName ?? "", high: edge.high ?? false };
          this.#ticks += this.options.count?.(level) ?? this.#direction;
        }
        if (signal.aborted) return;
        throw new Error("it ended the stream of its edges");
      } catch (error) {
        if (signal.aborted) return;
        const problem = `board ${board.name}: ${reasonOf(error)}`;
        if (clock.monotonicMs() - begunMs >= WELL_MS) well();
        if (problem !== logged) {
          log.warn(`the encoder has no edges; ${problem}`, { event: "device_failed" });
        }
        this.#problem = logged = problem;
      } finally {
        steady.cancel();
      }
      await clock.sleep(backoff.next(), signal).catch(() => {});
    }
  }
}
