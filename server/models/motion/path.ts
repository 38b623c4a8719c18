/** The shortest way of a disc between obstacles on the ground. */

/** Metres; x east, y north, or as the axes of a map. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

/** A convex polygon, counterclockwise. */
export type Obstacle = readonly Point[];

/** Corners of a circle: its polygon lies outside of it. */
const CORNERS = 8;
/** Corners of the way keep this far off polygons, so that these are not touched. Metres. */
const GAP = 0.005;

/** @param grown is added to the radius. Metres. */
export function disc({ x, y }: Point, radius: number, grown: number): Obstacle {
  const outer = (radius + grown) / Math.cos(Math.PI / CORNERS);
  return Array.from({ length: CORNERS }, (_, index) => {
    const angle = (index + 0.5) * 2 * Math.PI / CORNERS;
    return { x: x + outer * Math.cos(angle), y: y + outer * Math.sin(angle) };
  });
}

/** A rectangle, turned counterclockwise by so many degrees; its corners are cut where it has grown. */
export function rectangle(
  { x, y }: Point,
  size: { readonly x: number; readonly y: number },
  degrees: number,
  grown: number,
): Obstacle {
  const [sin, cos] = [Math.sin(degrees * Math.PI / 180), Math.cos(degrees * Math.PI / 180)];
  const [halfX, halfY] = [size.x / 2, size.y / 2];
  // The corner's arc between two sides lies inside these two points.
  const cut = grown * Math.tan(Math.PI / 8);
  const corners = [
    [halfX + grown, -halfY - cut],
    [halfX + grown, halfY + cut],
    [halfX + cut, halfY + grown],
    [-halfX - cut, halfY + grown],
    [-halfX - grown, halfY + cut],
    [-halfX - grown, -halfY - cut],
    [-halfX - cut, -halfY - grown],
    [halfX + cut, -halfY - grown],
  ] as const;
  // Nothing is cut off corners that have not grown.
  const different = cut > 0 ? corners : [0, 1, 3, 5].map((index) => corners[index]!);
  return different.map(([dx, dy]) => ({ x: x + dx * cos - dy * sin, y: y + dx * sin + dy * cos }));
}

/**
 * The way around the obstacles, start and goal included.
 *
 * @param obstacles already grown by the size of what moves.
 * @param bounds already shrunk by it; the way stays within them. Default: anywhere.
 * @throws {NoPathError} when the goal is inside an obstacle, or is enclosed, or out of bounds.
 */
export function shortestPath(
  start: Point,
  goal: Point,
  obstacles: readonly Obstacle[],
  bounds: readonly Obstacle[] = [],
): Point[] {
  if (bounds.length > 0) {
    const outside = [["the base", start], ["the destination", goal]] as const;
    for (const [what, point] of outside) {
      if (bounds.some((one) => isInside(point, one))) continue;
      throw new NoPathError(
        `${what} is outside of the bounding regions, or too near to their edge`,
      );
    }
  }
  const blocking = obstacles.filter((one) => isInside(goal, one));
  if (blocking.length > 0) throw new NoPathError("the destination is inside an obstacle");
  // What stands where it is already has to be left; it does not hold up.
  const walls = obstacles.filter((one) => !isInside(start, one));
  const corners = walls.flatMap((wall) => around(wall))
    .filter((corner) => !walls.some((wall) => isInside(corner, wall)));
  const crossings = passages(bounds).filter((one) => !walls.some((wall) => isInside(one, wall)));
  const nodes = [start, goal, ...corners, ...crossings];
  const best = nodes.map((_, index) => index === 0 ? 0 : Infinity);
  const from = new Array<number>(nodes.length).fill(-1);
  const open = new Set(nodes.keys());
  while (open.size > 0) {
    const current = nearest(open, nodes, best, goal);
    if (current === undefined) break;
    if (current === 1) return wayTo(1, nodes, from);
    open.delete(current);
    for (const next of open) {
      const length = best[current]! + distance(nodes[current]!, nodes[next]!);
      if (length >= best[next]!) continue;
      if (walls.some((wall) => crosses(nodes[current]!, nodes[next]!, wall))) continue;
      if (bounds.length > 0 && !isWithin(nodes[current]!, nodes[next]!, bounds)) continue;
      best[next] = length;
      from[next] = current;
    }
  }
  throw new NoPathError("the obstacles leave no way to the destination");
}

/** There is no way. */
export class NoPathError extends Error {
  override readonly name = "NoPathError";
}

export function distance(a: Point, b: Point): number {
  return Math.hypot(a.x - b.x, a.y - b.y);
}

/** How far a point is from a line's nearest point. */
export function distanceToLine(point: Point, from: Point, to: Point): number {
  const [dx, dy] = [to.x - from.x, to.y - from.y];
  const square = dx * dx + dy * dy;
  const share = square === 0
    ? 0
    : Math.max(0, Math.min(1, ((point.x - from.x) * dx + (point.y - from.y) * dy) / square));
  return distance(point, { x: from.x + dx * share, y: from.y + dy * share });
}

function nearest(
  open: ReadonlySet<number>,
  nodes: readonly Point[],
  best: readonly number[],
  goal: Point,
): number | undefined {
  let found: number | undefined;
  let least = Infinity;
  for (const index of open) {
    const guess = best[index]! + distance(nodes[index]!, goal);
    if (guess >= least) continue;
    found = index;
    least = guess;
  }
  return found;
}

function wayTo(last: number, nodes: readonly Point[], from: readonly number[]): Point[] {
  const way: Point[] = [];
  for (let index = last; index >= 0; index = from[index]!) way.unshift(nodes[index]!);
  return way;
}

function around(wall: Obstacle): Point[] {
  const middle = {
    x: wall.reduce((sum, { x }) => sum + x, 0) / wall.length,
    y: wall.reduce((sum, { y }) => sum + y, 0) / wall.length,
  };
  return wall.map((corner) => {
    const share = 1 + GAP / Math.max(GAP, distance(corner, middle));
    return {
      x: middle.x + (corner.x - middle.x) * share,
      y: middle.y + (corner.y - middle.y) * share,
    };
  });
}

/** Whether a point lies inside a convex polygon; its edges are outside. */
export function isInside(point: Point, wall: Obstacle): boolean {
  return wall.every((corner, index) => {
    const next = wall[(index + 1) % wall.length]!;
    return side(corner, next, point) > 0;
  });
}

/** Whether some of the line lies inside a convex polygon. */
export function crosses(from: Point, to: Point, wall: Obstacle): boolean {
  const [enter, leave] = shareInside(from, to, wall);
  return leave - enter > 1e-9;
}

/** The part of a line inside a convex polygon: it is clipped by each of its edges. */
function shareInside(from: Point, to: Point, wall: Obstacle): [enter: number, leave: number] {
  let [enter, leave] = [0, 1];
  for (const [index, corner] of wall.entries()) {
    const next = wall[(index + 1) % wall.length]!;
    const [begins, ends] = [side(corner, next, from), side(corner, next, to)];
    if (begins <= 0 && ends <= 0) return [0, 0];
    const share = begins / (begins - ends);
    if (begins <= 0) enter = Math.max(enter, share);
    else if (ends <= 0) leave = Math.min(leave, share);
  }
  return [enter, leave];
}

/** Whether all of the line lies in one of the polygons, or passes from one to another. */
function isWithin(from: Point, to: Point, bounds: readonly Obstacle[]): boolean {
  const shares = bounds.map((one) => shareInside(from, to, one)).sort(([a], [b]) => a - b);
  let reached = 0;
  for (const [enter, leave] of shares) {
    if (enter <= reached + 1e-6) reached = Math.max(reached, leave);
  }
  return reached >= 1 - 1e-6;
}

/** Points where one can pass from one polygon to another. */
function passages(bounds: readonly Obstacle[]): Point[] {
  return bounds.flatMap((one, index) =>
    bounds.slice(index + 1).flatMap((other) => {
      const both = other.reduce<Obstacle>(
        (left, corner, at) => cutBy(left, corner, other[(at + 1) % other.length]!),
        one,
      );
      if (both.length < 3) return [];
      const middle = {
        x: both.reduce((sum, { x }) => sum + x, 0) / both.length,
        y: both.reduce((sum, { y }) => sum + y, 0) / both.length,
      };
      const inner = both.map(({ x, y }) => ({
        x: x + (middle.x - x) * 0.01,
        y: y + (middle.y - y) * 0.01,
      }));
      return [middle, ...inner];
    })
  );
}

/** A convex polygon whose edges have moved inwards; without corners when nothing is left. */
export function shrunk(polygon: Obstacle, by: number): Obstacle {
  return polygon.reduce<Obstacle>((left, corner, at) => {
    const next = polygon[(at + 1) % polygon.length]!;
    const length = Math.max(1e-9, distance(corner, next));
    const inwards = {
      x: -(next.y - corner.y) / length * by,
      y: (next.x - corner.x) / length * by,
    };
    const moved = ({ x, y }: Point) => ({ x: x + inwards.x, y: y + inwards.y });
    return cutBy(left, moved(corner), moved(next));
  }, polygon);
}

/** What of a convex polygon lies on the left of a line. */
function cutBy(polygon: Obstacle, from: Point, to: Point): Obstacle {
  return polygon.flatMap((corner, at) => {
    const next = polygon[(at + 1) % polygon.length]!;
    const [here, there] = [side(from, to, corner), side(from, to, next)];
    const kept = here >= 0 ? [corner] : [];
    if (here >= 0 === there >= 0) return kept;
    const share = here / (here - there);
    return [
      ...kept,
      { x: corner.x + (next.x - corner.x) * share, y: corner.y + (next.y - corner.y) * share },
    ];
  });
}

/** Positive: `point` lies on the left of the line. */
function side(from: Point, to: Point, point: Point): number {
  return (to.x - from.x) * (point.y - from.y) - (to.y - from.y) * (point.x - from.x);
}
