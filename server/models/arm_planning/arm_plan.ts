/** Plans how an arm's end gets to a pose. */
import { Code, ConnectError } from "@connectrpc/connect";
import type { Constraints } from "../../../shared/gen/viam/service/motion/v1/motion_pb.ts";
import {
  farthest,
  type Random,
  solutions,
  solveFrom,
  turnBetween,
} from "../../resources/frames/inverse_kinematics.ts";
import type { KinematicChain } from "../../resources/frames/kinematic_chain.ts";
import { type Pose, slerp, type Vector } from "../../resources/frames/pose.ts";
import type { Slices } from "../../resources/frames/slices.ts";
import { MARGIN, type Scene } from "./scene.ts";
import { findWay, isWayFree, type Positions, type SearchOptions, smoothed } from "./search.ts";

const DEGREE = Math.PI / 180;
/** Different positions of the joints that are planned to, and beginnings that are tried for them. */
const GOALS = { most: 6, tries: 100 };
/** Pieces of a line: millimetres and degrees. */
const LINE = { mm: 5, degrees: 2 };
const MOST_PIECES = 2_000;
/** On a line no joint turns by more from one piece to the next. Degrees or mm. */
const LARGEST_JUMP = 20;
/** Of constraints that name none. */
const TOLERANCES = { mm: 1, degrees: 1 };

export interface ArmProblem {
  readonly chain: KinematicChain;
  readonly start: Positions;
  /** Of the end, seen from the arm's base. */
  readonly goal: Pose;
  readonly scene: Pick<Scene, "contact" | "travel">;
  readonly constraints: Constraints | undefined;
  readonly random: Random;
  readonly slices: Slices;
  readonly signal: AbortSignal;
}

/**
 * Positions of the joints from the start on; between them the joints move evenly.
 *
 * @throws {ConnectError} FAILED_PRECONDITION when there is no way, or none is found in time.
 */
export async function planArm(problem: ArmProblem): Promise<Positions[]> {
  const { chain, start, goal, scene, slices, signal } = problem;
  checkLimits(chain, start);
  const along = new Along(problem);
  const isFree = (positions: Positions) =>
    scene.contact(positions) === undefined && along.fits(positions);
  // In its middle between two looks nothing is farther from either than its margin.
  const piecesOf = (from: Positions, to: Positions) =>
    Math.ceil(scene.travel(from, to) / (2 * MARGIN));
  const options: SearchOptions = { ...problem, isFree, piecesOf };
  if (along.isLine) return await line(problem, along, options);
  let touching: string | undefined;
  const goals = await solutions(chain, { pose: goal, from: start }, {
    ...{ ...GOALS, random: problem.random, slices, signal },
    fits: (positions) => {
      const found = scene.contact(positions);
      touching ??= found;
      return found === undefined;
    },
  });
  if (goals.length === 0) {
    if (slices.isOver) throw tooLate();
    throw refuse(
      touching === undefined
        ? "the destination is out of reach: no positions of the joints within their limits lead there"
        : `at the destination ${touching} would touch`,
    );
  }
  // With its orientation kept, a straight line is more than chance finds.
  const way =
    (along.isTurned ? await line(problem, along, options).catch(() => undefined) : null) ??
      await findWay(start, goals, options);
  if (way) return await smoothed(way, options);
  throw slices.isOver
    ? tooLate()
    : refuse("no way to the destination was found around what is there");
}

/** The end moves along a straight line, and turns evenly. */
async function line(
  { chain, start, goal, scene, slices, signal }: ArmProblem,
  along: Along,
  options: SearchOptions,
): Promise<Positions[]> {
  const from = chain.endAt(start);
  const length = Math.hypot(...Object.values(minus(goal.point, from.point)));
  const angle = turnBetween(from.rotation, goal.rotation).angle / DEGREE;
  const pieces = Math.max(1, Math.ceil(Math.max(length / LINE.mm, angle / LINE.degrees)));
  if (pieces > MOST_PIECES) throw refuse(`the line is ${length} mm long; plan it in parts`);
  const way: Positions[] = [start];
  for (let piece = 1; piece <= pieces; piece++) {
    await slices.pause(signal);
    if (slices.isOver) throw tooLate();
    const share = piece / pieces;
    const last = way.at(-1)!;
    const next = solveFrom(chain, { pose: mixed(from, goal, share) }, last);
    const where = `${Math.round(share * 100)} % of the way`;
    if (!next || farthest(next, last) > LARGEST_JUMP) {
      throw refuse(`the arm can't follow a straight line to the destination: not beyond ${where}`);
    }
    const touching = scene.contact(next);
    if (touching !== undefined) {
      throw refuse(`on a straight line ${touching} would touch at ${where}`);
    }
    if (!along.fits(next) || !await isWayFree(last, next, options)) {
      if (slices.isOver) throw tooLate();
      throw refuse(`the constraints can't be kept at ${where}`);
    }
    way.push(next);
  }
  return way;
}

/** What constraints demand of every pose on the way. */
class Along {
  readonly #chain: KinematicChain;
  readonly #from: Pose;
  readonly #to: Pose;
  /** Millimetres off the line, and degrees off the turn; Infinity where nothing is demanded. */
  readonly #mm: number;
  readonly #degrees: number;

  constructor({ chain, start, goal, constraints }: ArmProblem) {
    this.#chain = chain;
    [this.#from, this.#to] = [chain.endAt(start), goal];
    const { linearConstraint = [], orientationConstraint = [], pseudolinearConstraint = [] } =
      constraints ?? {};
    if (orientationConstraint.some(({ ignoreTheta }) => ignoreTheta)) {
      throw new ConnectError(
        "orientation_constraint.ignore_theta is not considered; leave it out",
        Code.Unimplemented,
      );
    }
    const length = Math.hypot(...Object.values(minus(goal.point, this.#from.point)));
    const angle = turnBetween(this.#from.rotation, goal.rotation).angle / DEGREE;
    const { mm, degrees } = TOLERANCES;
    this.#mm = Math.min(
      ...linearConstraint.map(({ lineToleranceMm }) => lineToleranceMm || mm),
      ...pseudolinearConstraint.map(({ lineToleranceFactor }) =>
        Math.max(mm, (lineToleranceFactor || 0) * length)
      ),
    );
    this.#degrees = Math.min(
      ...linearConstraint.map((one) => one.orientationToleranceDegs || degrees),
      ...orientationConstraint.map((one) => one.orientationToleranceDegs || degrees),
      ...pseudolinearConstraint.map(({ orientationToleranceFactor }) =>
        Math.max(degrees, (orientationToleranceFactor || 0) * angle)
      ),
    );
    if (Number.isNaN(this.#mm + this.#degrees) || Math.min(this.#mm, this.#degrees) <= 0) {
      throw new ConnectError("constraints: a tolerance must be more than 0", Code.InvalidArgument);
    }
  }

  get isLine(): boolean {
    return this.#mm < Infinity;
  }

  get isTurned(): boolean {
    return this.#degrees < Infinity;
  }

  fits(positions: Positions): boolean {
    if (!this.isLine && !this.isTurned) return true;
    const end = this.#chain.endAt(positions);
    return offLine(end.point, this.#from.point, this.#to.point) <= this.#mm && this.#turnFits(end);
  }

  /** On the shortest turn from start to goal, or not farther from it than is let. */
  #turnFits({ rotation }: Pose): boolean {
    if (!this.isTurned) return true;
    const off = (share: number) =>
      turnBetween(rotation, slerp(this.#from.rotation, this.#to.rotation, share)).angle / DEGREE;
    return Array.from({ length: 21 }, (_, step) => off(step / 20)).some((one) =>
      one <= this.#degrees + LINE.degrees / 2
    );
  }
}

function mixed(from: Pose, to: Pose, share: number): Pose {
  const way = minus(to.point, from.point);
  return {
    point: {
      x: from.point.x + way.x * share,
      y: from.point.y + way.y * share,
      z: from.point.z + way.z * share,
    },
    rotation: slerp(from.rotation, to.rotation, share),
  };
}

function offLine(point: Vector, from: Vector, to: Vector): number {
  const [way, at] = [minus(to, from), minus(point, from)];
  const square = way.x ** 2 + way.y ** 2 + way.z ** 2;
  const share = square < 1e-9
    ? 0
    : Math.max(0, Math.min(1, (at.x * way.x + at.y * way.y + at.z * way.z) / square));
  return Math.hypot(at.x - way.x * share, at.y - way.y * share, at.z - way.z * share);
}

function minus(a: Vector, b: Vector): Vector {
  return { x: a.x - b.x, y: a.y - b.y, z: a.z - b.z };
}

function checkLimits({ joints }: KinematicChain, start: Positions): void {
  joints.forEach(({ id, min, max }, index) => {
    const at = start[index]!;
    if (at >= min - 0.1 && at <= max + 0.1) return;
    throw refuse(
      `joint ${id} is at ${at}, outside of its limits, ${min} to ${max}; move it inside`,
    );
  });
}

function tooLate(): ConnectError {
  return refuse("no way to the destination was found in time; extra.timeout gives it more seconds");
}

function refuse(reason: string): ConnectError {
  return new ConnectError(reason, Code.FailedPrecondition);
}
