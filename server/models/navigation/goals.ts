/** What is driven to: one goal at a time, which can be suspended, resumed and cancelled. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type {
  GoalState,
  GoalStatusSchema,
  NavErrorCode,
  NavMode,
  Waypoint,
} from "../../../shared/gen/viam/service/navigation/v1/navigation_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { Place } from "../motion/footprint.ts";
import { LegError, type Legs } from "./leg.ts";
import type { Spot } from "./kept.ts";
import { positionMessage } from "./positions.ts";

const ACTIVE: GoalState.ACTIVE = 1;
const SUSPENDED: GoalState.SUSPENDED = 2;
const SUCCEEDED: GoalState.SUCCEEDED = 3;
const FAILED: GoalState.FAILED = 4;
const CANCELED: GoalState.CANCELED = 5;
const OTHER: NavErrorCode.OTHER = 6;

/** One stop of a goal. */
export interface GoalStop {
  readonly spot: Spot;
  /** Name of the location that it is. */
  readonly location?: string;
}

export interface GoalWish {
  readonly mode: NavMode;
  /** At least one, in the order in which they are driven to. */
  readonly stops: readonly GoalStop[];
  readonly isDirect?: boolean;
  readonly speed?: number | undefined;
  /** Of a route. */
  readonly route?: {
    readonly name: string;
    readonly waypoints: readonly Waypoint[];
    readonly start: number;
    readonly loop: boolean;
  };
}

type GoalMessage = MessageInitShape<typeof GoalStatusSchema>;

interface Goal {
  readonly wish: GoalWish;
  readonly startedAt: Date;
  index: number;
  lap: number;
  state: GoalState;
  suspendReason: string | undefined;
  error: { code: NavErrorCode; message: string } | undefined;
  finishedAt: Date | undefined;
  /** Resolves when it is driven to no more; never rejects. */
  done: Promise<void>;
  stop: AbortController;
}

/** See above. Only the newest goal is known. */
export class Goals {
  #goal: Goal | undefined;
  #isClosed = false;

  constructor(
    private readonly options: { readonly legs: Legs; readonly clock: Clock; readonly log: Logger },
  ) {}

  get isActive(): boolean {
    return this.#goal?.state === ACTIVE;
  }

  /** Why the newest goal is not reached, or not driven to; empty otherwise. */
  get reason(): string {
    return this.#goal?.error?.message ?? this.#goal?.suspendReason ?? "";
  }

  /** Takes over from the goal before. @returns what resolves when it has ended or is suspended. */
  async start(wish: GoalWish): Promise<() => Promise<void>> {
    await this.end();
    if (this.#isClosed) throw new ConnectError("the service was closed", Code.Unavailable);
    const goal: Goal = {
      ...{ wish, index: wish.route?.start ?? 0, lap: 0, state: ACTIVE },
      startedAt: this.options.clock.now(),
      ...{ suspendReason: undefined, error: undefined, finishedAt: undefined },
      ...{ done: Promise.resolve(), stop: new AbortController() },
    };
    this.#goal = goal;
    this.#drive(goal);
    return () => goal.done;
  }

  /** @throws {ConnectError} FAILED_PRECONDITION when nothing is driven to. */
  async suspend(reason: string): Promise<void> {
    const goal = this.#known("suspended", (one) => one.state === ACTIVE);
    await this.#leave(goal, SUSPENDED);
    if (goal.state === SUSPENDED) goal.suspendReason = reason;
  }

  /** @throws {ConnectError} FAILED_PRECONDITION when no goal is suspended. */
  resume(): void {
    const goal = this.#known("resumed", (one) => one.state === SUSPENDED);
    if (this.#isClosed) throw new ConnectError("the service was closed", Code.Unavailable);
    goal.state = ACTIVE;
    goal.suspendReason = undefined;
    goal.stop = new AbortController();
    this.#drive(goal);
  }

  /** @throws {ConnectError} FAILED_PRECONDITION when there is no goal any more. */
  async cancel(): Promise<void> {
    await this.#leave(this.#known("cancelled", (one) => !isOver(one)), CANCELED);
  }

  /** Cancels the goal, if there is one still. */
  async end(): Promise<void> {
    while (this.#goal && !isOver(this.#goal)) await this.cancel();
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.end();
  }

  /** The newest goal; undefined before the first. @param at where the base is, as far as known. */
  message(at: Place | undefined): GoalMessage | undefined {
    const goal = this.#goal;
    if (!goal) return undefined;
    const { wish: { mode, stops, route }, index, lap, state, error, finishedAt } = goal;
    const { spot, location } = stops[index]!;
    const path = this.options.legs.path;
    return {
      ...{ state, mode, target: positionMessage(spot) },
      startedAt: timestampFromDate(goal.startedAt),
      ...(location !== undefined && { location }),
      ...(state === ACTIVE && path.length > 0 && {
        progress: {
          distanceRemainingM: at ? this.options.legs.remaining(at) : 0,
          lengthM: path.length > 0 ? this.options.legs.remaining(path[0]!) : 0,
          path: path.map(positionMessage),
        },
      }),
      ...(route && {
        route: { name: route.name, waypoints: [...route.waypoints], index, loop: route.loop, lap },
      }),
      ...(goal.suspendReason !== undefined && { suspendReason: goal.suspendReason }),
      ...(error && { error }),
      ...(finishedAt && { finishedAt: timestampFromDate(finishedAt) }),
    };
  }

  #known(what: string, fits: (goal: Goal) => boolean): Goal {
    if (this.#goal && fits(this.#goal)) return this.#goal;
    throw new ConnectError(`there is no goal that could be ${what}`, Code.FailedPrecondition);
  }

  /** A goal that has got there, or has failed meanwhile, stays as it is. */
  async #leave(goal: Goal, state: GoalState): Promise<void> {
    if (goal.state === ACTIVE) {
      goal.stop.abort(new Error("its goal was left"));
      await goal.done;
    }
    if (isOver(goal)) return;
    goal.state = state;
    if (isOver(goal)) goal.finishedAt = this.options.clock.now();
  }

  #drive(goal: Goal): void {
    goal.done = this.#run(goal).then(() => SUCCEEDED, (thrown): GoalState | undefined => {
      if (goal.stop.signal.aborted) return undefined;
      goal.error = thrown instanceof LegError
        ? { code: thrown.code, message: thrown.message }
        : { code: OTHER, message: reasonOf(thrown) };
      this.options.log.warn("a goal was not reached", {
        event: "goal_not_reached",
        reason: goal.error.message,
      });
      return FAILED;
    }).then((state) => {
      if (state === undefined) return;
      goal.state = state;
      goal.finishedAt = this.options.clock.now();
    });
  }

  async #run(goal: Goal): Promise<void> {
    const { wish: { stops, isDirect = false, speed, route } } = goal;
    while (true) {
      const { spot } = stops[goal.index]!;
      await this.options.legs.drive({ spot, isDirect, speed }, goal.stop.signal);
      if (goal.index + 1 < stops.length) goal.index++;
      else if (!route?.loop) return;
      else {
        goal.index = 0;
        goal.lap++;
        // A route of one place that the base is at must not keep the processor busy.
        await this.options.clock.sleep(LAP_PAUSE_MS, goal.stop.signal);
      }
    }
  }
}

const LAP_PAUSE_MS = 100;

function isOver({ state }: Goal): boolean {
  return state !== ACTIVE && state !== SUSPENDED;
}
