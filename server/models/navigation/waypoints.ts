/**
 * Mode and waypoints of older clients: waypoints are driven to in turn, and are gone then; in the
 * mode explore the base drives about.
 */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import type { GeoPoint } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { Mode } from "../../../shared/gen/viam/service/navigation/v1/navigation_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import { LegError, type Legs, NO_PATH } from "./leg.ts";
import type { NavigationStore } from "./navigation_store.ts";
import { degrees } from "./positions.ts";

const MANUAL: Mode.MANUAL = 1;
const WAYPOINT: Mode.WAYPOINT = 2;
const EXPLORE: Mode.EXPLORE = 3;

/** Between looks whether a first waypoint was added, and after one that was not reached. */
const IDLE_MS = 200;
const RETRY_MS = 5_000;
/** How far the next place is at most. Metres. */
const EXPLORE_M = 5;
/** So many places in a row that cannot be driven to are worth a word. */
const MANY_TRIES = 20;

export interface WaypointOptions {
  readonly legs: Legs;
  readonly store: NavigationStore;
  readonly clock: Clock;
  readonly log: Logger;
}

/** See above. The mode is manual at first, as a machine that starts must not drive off. */
export class Waypoints {
  #running:
    | { readonly mode: Mode; readonly stop: AbortController; readonly done: Promise<void> }
    | undefined;
  /** The waypoint that is driven to, and what makes the base leave it. */
  #current: { readonly id: string; readonly skip: AbortController } | undefined;
  #reason = "";

  constructor(private readonly options: WaypointOptions) {}

  get mode(): Mode {
    return this.#running?.mode ?? MANUAL;
  }

  /** Whether the base is on its way because of the mode. */
  get isDriving(): boolean {
    return this.#current !== undefined || this.mode === EXPLORE;
  }

  /** Why the base does not get to its waypoint; empty otherwise. */
  get reason(): string {
    return this.#reason;
  }

  /** Id of the waypoint that is driven to. */
  get current(): string | undefined {
    return this.#current?.id;
  }

  /** @throws {ConnectError} FAILED_PRECONDITION, INVALID_ARGUMENT. */
  async setMode(mode: Mode): Promise<void> {
    switch (mode) {
      case MANUAL:
        return await this.#manual();
      case WAYPOINT:
        return await this.#enter(mode, (signal) => this.#run(signal));
      case EXPLORE:
        this.checkExplore();
        return await this.#enter(mode, (signal) => this.#explore(signal));
    }
    throw new ConnectError(
      `mode: found ${mode}, allowed: 1 (manual), 2 (waypoint), 3 (explore)`,
      Code.InvalidArgument,
    );
  }

  /** @throws {ConnectError} FAILED_PRECONDITION when nothing sees obstacles. */
  checkExplore(): void {
    if (this.options.legs.hasDetectors) return;
    throw new ConnectError(
      "explore drives about where nobody has said what stands there: give the service " +
        "obstacle_detectors, which see it",
      Code.FailedPrecondition,
    );
  }

  async add(location: GeoPoint | undefined): Promise<void> {
    if (!location) throw new ConnectError("location: it is empty", Code.InvalidArgument);
    const spot = {
      latitude: degrees(location.latitude, 90, "location.latitude"),
      longitude: degrees(location.longitude, 180, "location.longitude"),
    };
    const bytes = crypto.getRandomValues(new Uint8Array(12));
    const id = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
    await this.options.store.change((kept) => ({
      ...kept,
      waypoints: [...kept.waypoints, { id, spot }],
    }));
  }

  /** One that is driven to is left. @throws {ConnectError} NOT_FOUND. */
  async remove(id: string): Promise<void> {
    await this.options.store.change((kept) => {
      const waypoints = kept.waypoints.filter((one) => one.id !== id);
      if (waypoints.length < kept.waypoints.length) return { ...kept, waypoints };
      throw new ConnectError(`there is no waypoint ${id}`, Code.NotFound);
    });
    if (this.#current?.id === id) this.#current.skip.abort(new Error("its waypoint was removed"));
  }

  async #manual(): Promise<void> {
    const running = this.#running;
    running?.stop.abort(new Error("the mode is manual"));
    await running?.done;
    if (this.#running === running) this.#running = undefined;
    this.#reason = "";
  }

  async #enter(mode: Mode, run: (signal: AbortSignal) => Promise<void>): Promise<void> {
    if (this.#running?.mode === mode && !this.#running.stop.signal.aborted) return;
    await this.#manual();
    const stop = new AbortController();
    this.#running = { mode, stop, done: run(stop.signal).catch(() => {}) };
  }

  /** Drives to one place after another that is near, until the signal aborts. */
  async #explore(signal: AbortSignal): Promise<void> {
    const { clock, legs, log } = this.options;
    let tries = 0;
    while (true) {
      try {
        await legs.drive({ spot: await legs.anywhere(EXPLORE_M, signal) }, signal);
        this.#reason = "";
        tries = 0;
      } catch (error) {
        signal.throwIfAborted();
        const isElsewhere = error instanceof LegError && error.code === NO_PATH;
        if (isElsewhere && ++tries < MANY_TRIES) {
          await clock.sleep(IDLE_MS, signal);
          continue;
        }
        const reason = reasonOf(error);
        if (reason !== this.#reason) log.warn("the base cannot drive about", { reason });
        this.#reason = reason;
        await clock.sleep(RETRY_MS, signal);
      }
    }
  }

  /** Until the signal aborts. */
  async #run(signal: AbortSignal): Promise<void> {
    const { clock, legs, store, log } = this.options;
    while (true) {
      const [next] = store.kept.waypoints;
      if (!next) {
        this.#reason = "";
        await clock.sleep(IDLE_MS, signal);
        continue;
      }
      const skip = linkedController(signal);
      this.#current = { id: next.id, skip };
      try {
        await legs.drive({ spot: next.spot }, skip.signal);
        this.#reason = "";
        // It may have been removed in the last moment.
        await store.change((kept) => ({
          ...kept,
          waypoints: kept.waypoints.filter(({ id }) => id !== next.id),
        }));
      } catch (error) {
        signal.throwIfAborted();
        if (skip.signal.aborted) continue;
        const reason = reasonOf(error);
        if (reason !== this.#reason) {
          log.warn("a waypoint is not reached", { event: "goal_not_reached", id: next.id, reason });
        }
        this.#reason = reason;
        await clock.sleep(RETRY_MS, skip.signal).catch(() => {});
        signal.throwIfAborted();
      } finally {
        this.#current = undefined;
        skip.abort(new Error("done"));
      }
    }
  }
}
