/** The frames of a machine at one moment. */
import type { Geometry } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { Frames, originOf, type Part } from "./frame_tree.ts";
import type { KinematicChain } from "./kinematic_chain.ts";
import { IDENTITY, type Pose } from "./pose.ts";

/** The joints of a part. */
export interface PartJoints {
  readonly chain: KinematicChain;
  readonly positions: readonly number[];
}

/** A part, as it is placed, with its joints where it has some. */
export interface SnapshotPart extends Part, Partial<PartJoints> {
  /** Full name of the component that it is; undefined for a frame that a caller describes. */
  readonly key?: string;
  /** What it takes up, seen from its origin. */
  readonly geometry?: Geometry | undefined;
}

/** See above. Parents stand before those that stand in them. */
export class FrameSnapshot {
  readonly #frames: Frames;
  readonly #parts: ReadonlyMap<string, SnapshotPart>;

  constructor(readonly parts: readonly SnapshotPart[]) {
    this.#frames = new Frames(parts);
    this.#parts = new Map(parts.map((part) => [part.name, part]));
  }

  has(frame: string): boolean {
    return this.#frames.has(frame);
  }

  names(): string[] {
    return this.#frames.names();
  }

  /** The part of that name. */
  part(name: string): SnapshotPart | undefined {
    return this.#parts.get(name);
  }

  /** The parts with joints that move a frame, the nearest first. */
  movedBy(frame: string): SnapshotPart[] {
    return [...this.#frames.movedBy(frame)].flatMap((name) => this.#parts.get(name) ?? [])
      .filter(({ chain }) => chain !== undefined && chain.jointCount > 0);
  }

  /** A frame that {@link has} knows, seen from the world. */
  inWorld(frame: string): Pose {
    return this.#frames.inWorld(frame, (name) => {
      const { chain, positions } = this.#parts.get(name) ?? {};
      return chain && positions ? chain.endAt(positions) : IDENTITY;
    });
  }

  /** Where a part begins, before its joints. */
  originInWorld({ name }: Part): Pose {
    return this.inWorld(originOf(name));
  }
}
