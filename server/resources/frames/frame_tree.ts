/** Which frame stands in which. Pure. */
import { compose, IDENTITY, type Pose } from "./pose.ts";

/** The frame that everything stands in. */
export const WORLD = "world";

/** The world of a remote, as a frame here; the name that it has in the reference server. */
export function remoteWorld(remote: string): string {
  return `${remote}_${WORLD}`;
}

/** Behind the name of a part: the frame that its configuration places, before its joints. */
const ORIGIN = "_origin";

/** The frame of a part before its joints. */
export function originOf(part: string): string {
  return part + ORIGIN;
}

/** A part of the machine, as it is placed. */
export interface Part {
  /** Name of its frame: where its end is. */
  readonly name: string;
  /** Frame that it stands in. */
  readonly parent: string;
  /** Where its origin is in `parent`. */
  readonly pose: Pose;
}

/** Parts whose frames hang together, and what is wrong with the others. */
export interface FrameTree<P extends Part> {
  /** Parents before those that stand in them. */
  readonly parts: readonly P[];
  readonly problems: readonly string[];
}

/** Sorts parts; those that do not hang together with the world are left out. */
export function frameTree<P extends Part>(all: readonly P[]): FrameTree<P> {
  const problems: string[] = [];
  const byName = new Map<string, P>();
  for (const part of all) {
    if (part.name === WORLD || byName.has(part.name)) {
      problems.push(`there is more than one frame ${part.name}; the later one is left out`);
    } else byName.set(part.name, part);
  }
  const parts: P[] = [];
  const placed = new Set([WORLD]);
  let waiting = [...byName.values()];
  while (waiting.length > 0) {
    const next = waiting.filter(({ parent }) => placed.has(partOf(parent, byName)));
    if (next.length === 0) break;
    for (const part of next) placed.add(part.name);
    parts.push(...next);
    waiting = waiting.filter(({ name }) => !placed.has(name));
  }
  for (const { name, parent } of waiting) {
    const why = byName.has(partOf(parent, byName))
      ? "which does not hang together with the world"
      : "which there is not";
    problems.push(`the frame ${name} stands in ${parent}, ${why}; it is left out`);
  }
  return { parts, problems };
}

/** The part whose frame that is: of an arm there are the frame of its end and that of its origin. */
function partOf(frame: string, parts: ReadonlyMap<string, Part>): string {
  if (parts.has(frame) || !frame.endsWith(ORIGIN)) return frame;
  return frame.slice(0, -ORIGIN.length);
}

/** Frames of a {@link FrameTree}, with what the joints make of them at the moment. */
export class Frames {
  readonly #parts: ReadonlyMap<string, Part>;

  constructor(parts: readonly Part[]) {
    this.#parts = new Map(parts.map((part) => [part.name, part]));
  }

  has(frame: string): boolean {
    return frame === WORLD || this.#parts.has(partOf(frame, this.#parts));
  }

  /** Names of all frames but the origins of parts. */
  names(): string[] {
    return [WORLD, ...this.#parts.keys()];
  }

  /** The parts whose joints have a say in where that frame is. */
  *movedBy(frame: string): Iterable<string> {
    for (let name = frame; name !== WORLD;) {
      const part = this.#parts.get(partOf(name, this.#parts))!;
      if (part.name === name) yield name;
      name = part.parent;
    }
  }

  /**
   * A frame that {@link has} knows, seen from the world.
   *
   * @param endOf where the end of a part is, seen from its origin.
   */
  inWorld(frame: string, endOf: (part: string) => Pose | undefined): Pose {
    let pose = IDENTITY;
    for (let name = frame; name !== WORLD;) {
      const part = this.#parts.get(partOf(name, this.#parts))!;
      const end = part.name === name ? endOf(name) : undefined;
      pose = compose(part.pose, end ? compose(end, pose) : pose);
      name = part.parent;
    }
    return pose;
  }
}
