/** What an arm may touch while it moves: the machine's parts and the obstacles of a request. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { GeometriesInFrame } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import type { FrameSnapshot, SnapshotPart } from "../../resources/frames/frame_snapshot.ts";
import { originOf } from "../../resources/frames/frame_tree.ts";
import type { KinematicChain } from "../../resources/frames/kinematic_chain.ts";
import { compose, inverse, type Pose } from "../../resources/frames/pose.ts";
import { farthestPoint, isSomewhere, placed, type Solid, solidOf, touch } from "./solids.ts";

const MOST_OBSTACLES = 200;
/** Of the lines between joints, of an arm whose kinematics have no shapes. Millimetres. */
const LINE_RADIUS = 1;

/** What moves keeps so far off everything, unless it is nearer at first. Millimetres. */
export const MARGIN = 8;

/** A pair of names that may touch. */
export interface AllowedPair {
  readonly frame1: string;
  readonly frame2: string;
}

export interface SceneOptions {
  readonly frames: FrameSnapshot;
  readonly arm: SnapshotPart & { readonly chain: KinematicChain };
  readonly obstacles: readonly GeometriesInFrame[];
  readonly allowed: readonly AllowedPair[];
}

interface Named {
  readonly name: string;
  /** Frame of the part that it is of, for allowed pairs. */
  readonly frame: string;
  readonly solid: Solid;
}

/** What must not touch: indexes of what moves, and of another that moves or that is still. */
interface Pair {
  readonly moving: number;
  readonly other: number;
  readonly isStill: boolean;
  readonly margin: number;
}

/** See above. What touches where the arm is now may continue to touch. */
export class Scene {
  readonly #still: readonly Named[];
  /** What stands on the arm's end, seen from it. */
  readonly #carried: readonly Named[];
  readonly #base: Pose;
  readonly #chain: KinematicChain;
  /** Of no joint any point of what moves is farther away. Millimetres. */
  readonly #reach: number;
  readonly #pairs: readonly Pair[];

  /** @throws {ConnectError} for geometries that can't be considered, or too many. */
  constructor(private readonly options: SceneOptions) {
    const { frames, arm, obstacles } = options;
    this.#base = frames.originInWorld(arm);
    this.#chain = arm.chain;
    const end = inverse(frames.inWorld(arm.name));
    const carried: Named[] = [];
    const still: Named[] = [];
    const onArm = new Set([arm.name]);
    for (const part of frames.parts) {
      const isCarried = onArm.has(part.parent);
      if (isCarried) onArm.add(part.name).add(originOf(part.name));
      for (const { name, solid } of solidsOf(part, frames, part.name === arm.name)) {
        const one = { name, frame: part.name, solid };
        if (isCarried) carried.push({ ...one, solid: placed(solid, end) });
        else still.push(one);
      }
    }
    for (const { referenceFrame, geometries } of obstacles) {
      const frame = referenceFrame || "world";
      if (!frames.has(frame)) {
        throw new ConnectError(
          `world_state.obstacles: there is no frame ${frame}; known are ${
            frames.names().join(", ")
          }`,
          Code.NotFound,
        );
      }
      const pose = frames.inWorld(frame);
      for (const geometry of geometries) {
        const solid = placed(solidOf(geometry), pose);
        still.push({ name: geometry.label || "an obstacle", frame: geometry.label, solid });
      }
    }
    if (still.length > MOST_OBSTACLES) {
      throw new ConnectError(
        `there are ${still.length} geometries around the arm; at most ${MOST_OBSTACLES} are considered`,
        Code.InvalidArgument,
      );
    }
    for (const { name, solid } of [...carried, ...still]) {
      if (isSomewhere(solid)) continue;
      throw new ConnectError(`the geometry ${name} is nowhere`, Code.InvalidArgument);
    }
    this.#still = still;
    this.#carried = carried;
    const own = arm.chain.shapesAt(arm.positions ?? []).length;
    if (own > MOST_OBSTACLES) {
      throw new ConnectError(
        `the arm has ${own} geometries; at most ${MOST_OBSTACLES} are considered`,
        Code.InvalidArgument,
      );
    }
    this.#reach = this.#farthest(arm.positions ?? []);
    this.#pairs = this.#choose(arm.positions ?? []);
  }

  /** The first two that are too near, as an error says it; undefined when none are. */
  contact(positions: readonly number[]): string | undefined {
    const moving = this.#moving(positions);
    const others = (isStill: boolean) => isStill ? this.#still : moving;
    const found = this.#pairs.find((pair) =>
      touch(moving[pair.moving]!.solid, others(pair.isStill)[pair.other]!.solid, pair.margin)
    );
    return found && `${moving[found.moving]!.name} and ${others(found.isStill)[found.other]!.name}`;
  }

  /**
   * How far any point of what moves gets at most between two positions of the joints. Millimetres.
   */
  travel(from: readonly number[], to: readonly number[]): number {
    return from.reduce((sum, value, joint) => {
      const change = Math.abs(to[joint]! - value);
      const { slides } = this.#chain.joints[joint]!;
      return sum + (slides ? change : change * Math.PI / 180 * this.#reach);
    }, 0);
  }

  #choose(positions: readonly number[]): Pair[] {
    const moving = this.#moving(positions);
    const links = moving.length - this.#carried.length;
    const hasShapes = this.#chain.shapesAt(positions).length > 0;
    const pairs: Pair[] = [];
    const add = (index: number, at: number, other: Named, isStill: boolean) => {
      const { solid } = moving[index]!;
      if (this.#mayTouch(moving[index]!, other) || touch(solid, other.solid)) return;
      const margin = touch(solid, other.solid, MARGIN) ? 0 : MARGIN;
      pairs.push({ moving: index, other: at, isStill, margin });
    };
    moving.forEach((_, index) => {
      this.#still.forEach((other, at) => add(index, at, other, true));
      // Neighbours touch at their joint, and lines are too thin to count against one another. What
      // is carried does not move against what is carried.
      for (let at = index + 2; hasShapes && index < links && at < moving.length; at++) {
        add(index, at, moving[at]!, false);
      }
    });
    return pairs;
  }

  #farthest(positions: readonly number[]): number {
    const length = this.#chain.linesAt(positions).reduce(
      (sum, { ends: [from, to] }) =>
        sum + Math.hypot(
          to.point.x - from.point.x,
          to.point.y - from.point.y,
          to.point.z -
            from.point.z,
        ),
      0,
    );
    const slides = this.#chain.joints.filter(({ slides }) => slides)
      .reduce((sum, { min, max }) => sum + Math.max(Math.abs(min), Math.abs(max)), 0);
    const sizes = [
      ...this.#chain.shapesAt(positions).map(({ shape }) => solidOf(shape)),
      ...this.#carried.map(({ solid }) => solid),
    ].map(farthestPoint);
    return length + slides + Math.max(0, ...sizes);
  }

  #mayTouch(one: Named, other: Named): boolean {
    const is = (named: Named, name: string) => name === named.frame || name === named.name;
    return this.options.allowed.some(({ frame1, frame2 }) =>
      (is(one, frame1) && is(other, frame2)) || (is(one, frame2) && is(other, frame1))
    );
  }

  /** The arm's links, then what it carries, seen from the world. */
  #moving(positions: readonly number[]): Named[] {
    const { arm } = this.options;
    const end = compose(this.#base, this.#chain.endAt(positions));
    return [
      ...linksOf(arm, positions).map((link) => ({
        ...link,
        solid: placed(link.solid, this.#base),
      })),
      ...this.#carried.map((one) => ({ ...one, solid: placed(one.solid, end) })),
    ];
  }
}

/** What the links of an arm take up, seen from its base. */
function linksOf({ chain, name }: SnapshotPart, positions: readonly number[]): Named[] {
  const shapes = chain!.shapesAt(positions);
  const named = (piece: string, solid: Solid) => ({ name: `${name}:${piece}`, frame: name, solid });
  if (shapes.length > 0) {
    return shapes.map(({ piece, shape, pose }) => named(piece, placed(solidOf(shape), pose)));
  }
  return chain!.linesAt(positions).map(({ piece, ends: [from, to] }) =>
    named(piece, { kind: "capsule", a: from.point, b: to.point, radius: LINE_RADIUS })
  );
}

/** A part's own shape, and those of its links unless they move; seen from the world. */
function* solidsOf(part: SnapshotPart, frames: FrameSnapshot, moves: boolean): Iterable<Named> {
  const origin = frames.originInWorld(part);
  const { name, geometry, chain, positions } = part;
  if (geometry) yield { name, frame: name, solid: placed(solidOf(geometry), origin) };
  if (moves || !chain || !positions) return;
  for (const { piece, shape, pose } of chain.shapesAt(positions)) {
    const solid = placed(placed(solidOf(shape), pose), origin);
    yield { name: `${name}:${piece}`, frame: name, solid };
  }
}
