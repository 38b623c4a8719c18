/** What vision services see in the way of a base that drives. */
import { create } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import {
  type Geometry,
  GeometrySchema,
  PoseSchema,
} from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { ObstacleDetector } from "../../../shared/gen/viam/service/motion/v1/motion_pb.ts";
import { VisionService } from "../../../shared/gen/viam/service/vision/v1/vision_pb.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";
import {
  compose,
  inverse,
  ofPoseMessage,
  type Pose,
  toPoseMessage,
} from "../../resources/frames/pose.ts";
import { ofAxisAngle } from "../../../shared/config/orientation.ts";
import type { FrameSystem } from "../../resources/frames/frame_system.ts";
import { aborted } from "../../resources/graph/aborted.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { type Used, useDriver } from "../drivers/dependency.ts";
import type { Stand } from "./drive.ts";
import { footprint, MOST_OBSTACLES } from "./footprint.ts";
import { crosses, isInside, type Obstacle, type Point } from "./path.ts";

const MM = 1_000;
/** How old what is seen may be, beyond the time between two looks. */
const BLIND_MS = 3_000;
const MIME_TYPE = "pointcloud/pcd";
/** A new way keeps so much more off what is seen, which looks different from elsewhere. Metres. */
const BERTH = 0.15;
/** Shares of the room that a base wants around it, for what is seen nearer than that. */
const SHARES = [1, 0.75, 0.5, 0.25, 0];

/** Something that was seen stands in the way. */
export class BlockedError extends Error {
  override readonly name = "BlockedError";
}

export interface LookoutOptions {
  readonly detectors: readonly ObstacleDetector[];
  readonly dependencies: ReadonlyMap<string, Resource>;
  readonly frames: () => Pick<FrameSystem, "snapshot">;
  /** Name of the base. */
  readonly base: string;
  /** Of the disc that it takes up. Metres. */
  readonly radius: number;
  readonly look: (signal: AbortSignal) => Promise<Stand>;
  readonly pollMs: number;
  readonly clock: Clock;
}

/** Looks for obstacles over and over while a base drives. */
export class Lookout {
  readonly #options: LookoutOptions;
  readonly #detectors: readonly { vision: Used<typeof VisionService>; camera: string }[];
  #seen: readonly Geometry[] = [];
  /** What stood in the way before, and may be out of sight now. */
  #remembered: readonly Geometry[] = [];
  #problem: unknown;
  /** When the last look began. */
  #lookedMs = 0;

  /** @throws {ConnectError} for what is no vision service. */
  constructor(options: LookoutOptions) {
    this.#options = options;
    this.#detectors = options.detectors.map((one) => ({
      vision: useDriver(
        VisionService,
        "rdk:service:vision",
        one.visionService || one.visionServiceDeprecated?.name || "",
        options.dependencies,
      ),
      camera: one.camera || one.cameraDeprecated?.name || "",
    }));
  }

  /** What a way from there keeps off: seen now, and what has stood in the way. */
  obstacles(at: Point): Obstacle[] {
    return [...this.seen(at), ...this.#shapes(at, this.#remembered)];
  }

  /** The same without what may be gone. */
  seen(at: Point): Obstacle[] {
    return this.#shapes(at, this.#seen);
  }

  /**
   * Looks once.
   *
   * @throws {ConnectError} FAILED_PRECONDITION for a camera without a frame; what the services and
   * what knows the place of the base threw.
   */
  async lookOnce(signal: AbortSignal): Promise<void> {
    if (this.#detectors.length === 0) return;
    const { base, clock } = this.#options;
    const lookedMs = clock.monotonicMs();
    const [at, frames, found] = await Promise.all([
      this.#options.look(signal),
      this.#options.frames().snapshot([], signal),
      Promise.all(this.#detectors.map((detector) => objects(detector, signal))),
    ]);
    const stand: Pose = {
      point: { x: at.x * MM, y: at.y * MM, z: 0 },
      rotation: ofAxisAngle(-at.heading * Math.PI / 180, 0, 0, 1),
    };
    const inPlane = (frame: string, geometry: Geometry): Geometry => {
      for (const name of [frame, base]) {
        if (frames.has(name)) continue;
        throw new ConnectError(
          `${name} has no frame, so that it is not known where what is seen is: give ${base} a ` +
            `frame, and ${frame} one whose parent is ${base}`,
          Code.FailedPrecondition,
        );
      }
      const there = compose(inverse(frames.inWorld(base)), frames.inWorld(frame));
      const pose = compose(compose(stand, there), ofPoseMessage(geometry.center));
      return { ...geometry, center: create(PoseSchema, toPoseMessage(pose)) };
    };
    const geometries = found.flat().map(({ frame, geometry }) => inPlane(frame, geometry));
    if (geometries.length > MOST_OBSTACLES) {
      throw new ConnectError(
        `${geometries.length} things are seen; at most ${MOST_OBSTACLES} are considered`,
        Code.FailedPrecondition,
      );
    }
    // Says what cannot be looked at before the base moves.
    for (const geometry of geometries) shapeFrom(at, geometry, this.#options.radius);
    this.#seen = geometries;
    this.#lookedMs = lookedMs;
  }

  /** Looks until `end()`, which resolves when the last look is over. */
  watch(signal: AbortSignal): { end(): Promise<void> } {
    const stop = linkedController(signal);
    const watching = this.#watch(stop.signal);
    return {
      async end() {
        stop.abort(new Error("the base has stopped"));
        await watching;
      },
    };
  }

  /**
   * Whether the base can drive on.
   *
   * @param way from where it is.
   * @throws {BlockedError} when something stands in the way; what a look threw: a base that sees
   * nothing any more must not drive on.
   */
  check(way: readonly Point[]): void {
    if (this.#problem !== undefined) throw this.#problem;
    const { radius, clock, pollMs } = this.#options;
    if (this.#detectors.length > 0 && clock.monotonicMs() - this.#lookedMs > pollMs + BLIND_MS) {
      throw new Error(
        `obstacles are not seen any more: a look takes longer than ${BLIND_MS / 1_000} s`,
      );
    }
    const blocking = this.#seen.filter((geometry) =>
      shapeFrom(way[0]!, geometry, radius).some((shape) =>
        way.slice(1).some((to, leg) => crosses(way[leg]!, to, shape))
      )
    );
    if (blocking.length === 0) return;
    this.#remembered = [...this.#remembered, ...blocking].slice(-MOST_OBSTACLES);
    throw new BlockedError(`${blocking.length} seen in the way of the base`);
  }

  #shapes(at: Point, geometries: readonly Geometry[]): Obstacle[] {
    const { radius } = this.#options;
    return geometries.flatMap((geometry) => shapeFrom(at, geometry, radius, BERTH));
  }

  /** Never rejects. */
  async #watch(signal: AbortSignal): Promise<void> {
    const { clock, pollMs } = this.#options;
    if (this.#detectors.length === 0 || this.#problem !== undefined) return;
    // A service may take no notice of the signal.
    const turn = () => Promise.race([this.lookOnce(signal), aborted(signal)]);
    try {
      await pollLoop(turn, { clock, intervalMs: pollMs, firstMs: pollMs }, signal);
    } catch (error) {
      this.#problem = new Error(`obstacles are not seen any more: ${reasonOf(error)}`);
    }
  }
}

async function objects(
  { vision, camera }: { vision: Used<typeof VisionService>; camera: string },
  signal: AbortSignal,
): Promise<{ frame: string; geometry: Geometry }[]> {
  const request = { cameraName: camera, mimeType: MIME_TYPE };
  const { objects = [] } = await vision.call("getObjectPointClouds", request, signal);
  return objects.flatMap(({ geometries }) =>
    (geometries?.geometries ?? []).map((geometry) => ({
      frame: geometries?.referenceFrame || camera,
      // Drivers may leave fields out.
      geometry: create(GeometrySchema, geometry as Geometry),
    }))
  );
}

/**
 * What something takes up for a base. What is nearer than the base is big gets less room, so that
 * the base can drive away from it; what the base stands in is a part of it, or no obstacle.
 *
 * @param more room to keep in addition.
 */
function shapeFrom(at: Point, geometry: Geometry, radius: number, more = 0): Obstacle[] {
  const rooms = [...more > 0 ? [radius + more] : [], ...SHARES.map((share) => share * radius)];
  for (const room of rooms) {
    const shape = footprint(geometry, { x: 0, y: 0 }, room);
    if (!isInside(at, shape)) return [shape];
  }
  return [];
}
