import { Code, ConnectError } from "@connectrpc/connect";
import type {
  StreamTransformChangesResponse,
  TransformChangeType,
  WorldStateStoreService,
} from "../../../shared/gen/viam/service/worldstatestore/v1/world_state_store_pb.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { attributes, number, optional } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import { Broadcast } from "./broadcast.ts";
import { echo } from "./echo.ts";
import { repeat } from "./repeat.ts";
import { TRIED_WITH } from "./tried_with.ts";

const UPDATED: TransformChangeType.UPDATED = 3;

/** How far the sphere moves to and fro. mm. */
const SWING_MM = 500;

/** Steps of a swing. */
const SWING_STEPS = 100;

export interface FakeWorldStateStoreAttributes {
  fps: number | undefined;
}

/** Model `rdk:builtin:fake` of `rdk:service:world_state_store`. */
export function fakeWorldStateStoreModel(
  { clock }: { clock: Clock },
): Model<FakeWorldStateStoreAttributes> {
  return {
    api: "rdk:service:world_state_store",
    model: "rdk:builtin:fake",
    triedWith: TRIED_WITH,
    attributes: attributes<FakeWorldStateStoreAttributes>({
      fps: optional(number("Changes a second. Default 10.", { min: 0.001, max: 100 })),
    }),
    construct: ({ attributes }) => new FakeWorldStateStore(clock, 1_000 / (attributes.fps ?? 10)),
  };
}

type Shape = "box" | "sphere" | "capsule";

type Change = Omit<StreamTransformChangesResponse, "$typeName" | "transform" | "updatedFields"> & {
  transform: ReturnType<FakeWorldStateStore["transform"]>;
  updatedFields: { paths: string[] };
};

const SHAPES: readonly Shape[] = ["box", "sphere", "capsule"];

/** A box and a capsule that stand still, and a sphere that swings between them. */
export class FakeWorldStateStore implements Driver<typeof WorldStateStoreService> {
  readonly #changes = new Broadcast<Change>();
  readonly #timer: Timer;
  #step = 0;

  constructor(clock: Clock, intervalMs: number) {
    this.#timer = repeat(clock, intervalMs, () => this.#swing());
  }

  listUUIDs() {
    return { uuids: SHAPES.map(uuidOf) };
  }

  getTransform({ uuid }: { uuid: Uint8Array }) {
    const text = new TextDecoder().decode(uuid);
    const shape = SHAPES.find((shape) => text === shape);
    if (!shape) {
      throw new ConnectError(
        `there is no transform ${text}; the store has ${SHAPES.join(", ")}`,
        Code.NotFound,
      );
    }
    return { transform: this.transform(shape) };
  }

  streamTransformChanges(_request: unknown, { signal }: CallContext) {
    return this.#changes.listen(signal);
  }

  doCommand = echo;

  close(): void {
    this.#timer.cancel();
    this.#changes.close();
  }

  /** Where a shape is now. */
  transform(shape: Shape) {
    const isSphere = shape === "sphere";
    const x = isSphere
      ? SWING_MM * Math.sin(2 * Math.PI * this.#step / SWING_STEPS)
      : SWING_MM * (shape === "box" ? -2 : 2);
    return {
      uuid: uuidOf(shape),
      referenceFrame: shape,
      poseInObserverFrame: {
        referenceFrame: "world",
        pose: { x, y: 0, z: 0, oX: 0, oY: 0, oZ: 1, theta: 0 },
      },
      physicalObject: { label: shape, geometryType: geometryOf(shape) },
    };
  }

  #swing(): void {
    this.#step = (this.#step + 1) % SWING_STEPS;
    this.#changes.send({
      changeType: UPDATED,
      transform: this.transform("sphere"),
      updatedFields: { paths: ["poseInObserverFrame.pose.x"] },
    });
  }
}

/** Any bytes that are its own will do for an id; these can be read. */
function uuidOf(shape: Shape): Uint8Array {
  return new TextEncoder().encode(shape);
}

function geometryOf(shape: Shape) {
  switch (shape) {
    case "box":
      return { case: "box" as const, value: { dimsMm: { x: 100, y: 100, z: 100 } } };
    case "sphere":
      return { case: "sphere" as const, value: { radiusMm: 100 } };
    case "capsule":
      return { case: "capsule" as const, value: { radiusMm: 100, lengthMm: 300 } };
  }
}
