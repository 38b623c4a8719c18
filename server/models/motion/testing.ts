/** A base on a plane, in a time that passes only while somebody sleeps. */
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import {
  GetPlanRequestSchema,
  MoveOnGlobeRequestSchema,
  PlanState,
} from "../../../shared/gen/viam/service/motion/v1/motion_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import { testCall } from "../testing.ts";
import { FrameSnapshot } from "../../resources/frames/frame_snapshot.ts";
import { IDENTITY } from "../../resources/frames/pose.ts";
import { MotionDriver, type MotionFrames } from "./motion_service.ts";
import type { Point } from "./path.ts";

const DEGREE = 111_195.08;
const ORIGIN = { latitude: 48, longitude: 11 };

/** See above. */
export class World {
  ms = 0;
  x = 0;
  y = 0;
  /** Clockwise from north. */
  heading = 0;
  #forward = 0;
  #turn = 0;
  stops = 0;
  /** Metres a second that it drifts east while it drives. */
  drift = 0;
  stuck = false;
  broken: string | undefined;
  /** Balls that stand around, which the camera sees within {@link sight}; metres. */
  balls: { readonly x: number; readonly y: number; readonly r: number }[] = [];
  sight = 2;
  /** Why the camera sees nothing. */
  blind: string | undefined;
  /** Who asks what it sees waits forever. */
  isSlow = false;
  /** Who asks where it is waits forever. */
  isSilent = false;
  /** Called before each look. */
  onLook: () => void = () => {};
  /** Whether the camera has a frame, 200 mm before the middle of the base. */
  cameraHasFrame = true;
  /** Where it was. */
  readonly trace: Point[] = [];

  readonly clock: Clock = {
    now: () => new Date(this.ms),
    monotonicMs: () => this.ms,
    sleep: async (ms, signal) => {
      // Gives way to whatever else runs, as callers stop it meanwhile.
      await new Promise<void>((done) => setTimeout(done, 0));
      signal?.throwIfAborted();
      this.#pass(ms);
    },
    setTimer: (ms, run) => {
      // Of time in which nobody sleeps; a test waits less.
      const timer = setTimeout(run, ms / 10);
      return { cancel: () => clearTimeout(timer) };
    },
  };

  get isDriving(): boolean {
    return this.#forward !== 0 || this.#turn !== 0;
  }

  #pass(ms: number): void {
    this.ms += ms;
    if (this.stuck) return;
    const seconds = ms / 1_000;
    this.heading -= this.#turn * seconds;
    const angle = this.heading * Math.PI / 180;
    const drift = this.#forward === 0 ? 0 : this.drift;
    this.x += (this.#forward * Math.sin(angle) + drift) * seconds;
    this.y += this.#forward * Math.cos(angle) * seconds;
    this.trace.push({ x: this.x, y: this.y });
  }

  readonly base = {
    getProperties: () => ({ widthMeters: 0.4 }),
    setVelocity: ({ linear, angular }: { linear: { y: number }; angular: { z: number } }) => {
      if (this.broken !== undefined) throw new Error(this.broken);
      this.#forward = linear.y / 1_000;
      this.#turn = angular.z;
    },
    stop: () => {
      this.stops++;
      this.#forward = this.#turn = 0;
    },
  };

  readonly gps = {
    getPosition: () => {
      if (this.isSilent) return new Promise<never>(() => {});
      const longitude = ORIGIN.longitude + this.x / DEGREE / Math.cos(48 * Math.PI / 180);
      return { coordinate: { latitude: ORIGIN.latitude + this.y / DEGREE, longitude } };
    },
    getCompassHeading: () => ({ value: ((this.heading % 360) + 360) % 360 }),
  };

  readonly slam = {
    getPosition: () => ({
      pose: { x: this.x * 1_000, y: this.y * 1_000, oZ: 1, theta: -this.heading },
    }),
  };

  readonly vision = {
    getObjectPointClouds: ({ cameraName }: { cameraName: string }) => {
      this.onLook();
      if (this.blind !== undefined) throw new Error(this.blind);
      if (this.isSlow) return new Promise<never>(() => {});
      const [sin, cos] = [this.heading, this.heading + 90]
        .map((degrees) => Math.sin(degrees * Math.PI / 180)) as [number, number];
      const objects = this.balls.flatMap(({ x, y, r }) => {
        const [east, north] = [x - this.x, y - this.y];
        const [right, forward] = [east * cos - north * sin, east * sin + north * cos];
        if (forward < 0 || Math.hypot(right, forward) - r > this.sight) return [];
        const center = { x: right * 1_000, y: forward * 1_000 - 200, z: 100, oZ: 1 };
        const value = { radiusMm: r * 1_000 };
        const ball = { center, label: "ball", geometryType: { case: "sphere", value } };
        return [{ geometries: { referenceFrame: cameraName, geometries: [ball] } }];
      });
      return { objects };
    },
  };

  readonly frames: MotionFrames = {
    pose: () => Promise.reject(new Error("nobody asks")),
    snapshot: () => {
      const rover = { name: "rover", parent: "world", pose: IDENTITY };
      const camera = {
        ...{ name: "cam", parent: "rover" },
        pose: { ...IDENTITY, point: { x: 0, y: 200, z: 0 } },
      };
      return Promise.resolve(
        new FrameSnapshot(this.cameraHasFrame ? [rover, camera] : [rover]),
      );
    },
  };

  /** Base `rover`, movement sensor `gps`, SLAM service `map`, vision service `eyes`. */
  readonly dependencies: ReadonlyMap<string, Resource> = new Map<string, Resource>([
    ["rdk:component:base/rover", this.base as Resource],
    ["rdk:component:movement_sensor/gps", this.gps as Resource],
    ["rdk:service:slam/map", this.slam as Resource],
    ["rdk:service:vision/eyes", this.vision as Resource],
  ]);

  readonly motion = new MotionDriver({
    clock: this.clock,
    log: memoryLogger(),
    dependencies: this.dependencies,
    frames: () => this.frames,
  });

  globe(north: number, east: number, more: MessageInitShape<typeof MoveOnGlobeRequestSchema> = {}) {
    return this.motion.moveOnGlobe(
      create(MoveOnGlobeRequestSchema, {
        ...{ componentName: "rover", movementSensorName: "gps" },
        destination: place(north, east),
        ...more,
      } as MessageInitShape<typeof MoveOnGlobeRequestSchema>),
      testCall(),
    );
  }

  plan(executionId?: string, lastPlanOnly = false) {
    return this.motion.getPlan(
      create(GetPlanRequestSchema, {
        ...{ componentName: "rover", lastPlanOnly },
        ...(executionId !== undefined && { executionId }),
      }),
    );
  }

  /** The state that the newest plan ends with. */
  async ended() {
    await waitFor(
      () => this.plan().currentPlanWithStatus.status?.state !== PlanState.IN_PROGRESS,
      { deadlineMs: 60_000 },
    );
    return this.plan().currentPlanWithStatus.status!;
  }
}

/** The place so many metres north and east of where a {@link World} begins. */
export const place = (north: number, east: number) => ({
  latitude: ORIGIN.latitude + north / DEGREE,
  longitude: ORIGIN.longitude + east / DEGREE / Math.cos(48 * Math.PI / 180),
});
