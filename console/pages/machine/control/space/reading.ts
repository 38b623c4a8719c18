/** Asks a machine where its frames are, what they take up, and what stands around them. */
import { createClient } from "@connectrpc/connect";
import type { GenericService } from "../../../../../shared/gen/viam/component/generic/v1/generic_pb.ts";
import {
  type Geometry,
  type Pose,
  type ResourceName,
  type Transform,
} from "../../../../../shared/gen/viam/common/v1/common_pb.ts";
import { RobotService } from "../../../../../shared/gen/viam/robot/v1/robot_pb.ts";
import { WorldStateStoreService } from "../../../../../shared/gen/viam/service/worldstatestore/v1/world_state_store_pb.ts";
import type { MachineLink } from "../../../../reach/machine_link.svelte.ts";
import { apiOf } from "../cards.ts";
import { knownService } from "../services.ts";
import { type Form, isSomewhere, type Shape, shapeOf } from "./shapes.ts";
import type { PoseLike } from "./view.ts";

export const WORLD = "world";
const MOST_FRAMES = 40;
const MOST_SHAPES = 500;
/** Of each store. */
const MOST_OBSTACLES = 100;
/** What has no joints has the same shapes most of the time, and files of meshes are large. */
const ASKED_EACH = 10;
const CALL = { timeoutMs: 10_000 };
const STORE = "rdk:service:world_state_store";

/** A frame where it is now. */
export interface Frame {
  readonly name: string;
  readonly parent: string;
  /** In the world. */
  readonly pose: PoseLike;
  readonly forms: readonly Form[];
}

export interface Space {
  readonly frames: readonly Frame[];
  readonly shapes: readonly Shape[];
  /** How many frames and obstacles are not shown. */
  readonly left: number;
}

/** Asks one machine again and again; keeps what need not be asked each time. */
export class SpaceReader {
  readonly #shapes = new Map<string, readonly Geometry[]>();
  #round = 0;

  constructor(private readonly link: MachineLink) {}

  async read(): Promise<Space> {
    const robot = this.link.client(RobotService);
    const { frameSystemConfigs } = await robot.frameSystemConfig({}, CALL);
    const known = frameSystemConfigs.flatMap(({ frame, kinematics }) =>
      frame ? [{ frame, hasJoints: kinematics !== undefined }] : []
    );
    const poses = new Map<string, PoseLike>();
    // Asked one by one, because an arm's pose is where its joints are now.
    const found = await Promise.all(
      known.slice(0, MOST_FRAMES).map(async (one) => {
        const { frame: { referenceFrame: name, poseInObserverFrame }, hasJoints } = one;
        const [pose, origin, geometries] = await Promise.all([
          this.#poseOf(name),
          hasJoints ? this.#poseOf(`${name}_origin`).catch(() => undefined) : undefined,
          this.#geometriesOf(one),
        ]);
        if (!pose || !isSomewhere(pose)) return [];
        poses.set(name, pose);
        const around = { role: "part" as const, name, in: [origin ?? pose] };
        const shapes = geometries.flatMap((geometry) => shapeOf(geometry, around) ?? []);
        const forms = shapes.map(({ form }) => form);
        return [{ name, parent: poseInObserverFrame?.referenceFrame ?? "", pose, forms, shapes }];
      }),
    );
    this.#round++;
    const obstacles = await this.#obstacles(poses);
    const frames = found.flat();
    const shapes = [...frames.flatMap(({ shapes }) => shapes), ...obstacles.shapes];
    return {
      frames,
      shapes: shapes.slice(0, MOST_SHAPES),
      left: Math.max(0, known.length - MOST_FRAMES) + obstacles.left +
        Math.max(0, shapes.length - MOST_SHAPES),
    };
  }

  async #poseOf(componentName: string): Promise<Pose | undefined> {
    const { pose } = await this.link.client(RobotService)
      .getPose({ componentName, destinationFrame: WORLD }, CALL);
    return pose?.pose;
  }

  /** What the configuration says, or what the component itself reports. */
  async #geometriesOf(
    { frame: { referenceFrame: name, physicalObject }, hasJoints }: {
      readonly frame: Transform;
      readonly hasJoints: boolean;
    },
  ): Promise<readonly Geometry[]> {
    const configured = physicalObject ? [physicalObject] : [];
    if (configured.length > 0 && !hasJoints) return configured;
    const before = this.#shapes.get(name);
    if (before && !hasJoints && this.#round % ASKED_EACH !== 0) return before;
    const resource = this.link.resources.find((one) =>
      one.name === name && one.type === "component"
    );
    const asked = resource && await this.#ask(resource).catch(() => undefined);
    const geometries = asked && asked.length > 0 ? asked : configured;
    this.#shapes.set(name, geometries);
    return geometries;
  }

  async #ask(resource: ResourceName): Promise<readonly Geometry[] | undefined> {
    const service = await knownService(apiOf(resource));
    if (!service?.method["getGeometries"]) return undefined;
    // All of them have the same method.
    const client = createClient(service as typeof GenericService, this.link.transport);
    return (await client.getGeometries({ name: resource.name }, CALL)).geometries;
  }

  async #obstacles(poses: ReadonlyMap<string, PoseLike>) {
    const stores = this.link.resources.filter((one) => apiOf(one) === STORE);
    const client = this.link.client(WorldStateStoreService);
    const shapes: Shape[] = [];
    let left = 0;
    await Promise.all(stores.map(async ({ name }) => {
      const uuids = (await client.listUUIDs({ name }, CALL)).uuids;
      left += Math.max(0, uuids.length - MOST_OBSTACLES);
      await Promise.all(
        uuids.slice(0, MOST_OBSTACLES).map(async (uuid) => {
          // It may be gone meanwhile.
          const answer = await client.getTransform({ name, uuid }, CALL).catch(() => undefined);
          const { transform } = answer ?? {};
          if (!transform?.physicalObject) return;
          const shape = placed(transform, transform.physicalObject, poses);
          if (shape) shapes.push(shape);
          else left++;
        }),
      );
    }));
    // As the answers came they would change places in the list.
    return { shapes: shapes.sort((a, b) => a.name < b.name ? -1 : 1), left };
  }
}

function placed(
  { referenceFrame, poseInObserverFrame }: Transform,
  geometry: Geometry,
  poses: ReadonlyMap<string, PoseLike>,
): Shape | undefined {
  const around = poseInObserverFrame?.referenceFrame || WORLD;
  const outer = around === WORLD ? [] : poses.get(around);
  const own = poseInObserverFrame?.pose;
  if (!outer || own && !isSomewhere(own)) return undefined;
  return shapeOf(geometry, {
    ...{ role: "obstacle", name: referenceFrame },
    in: [...(Array.isArray(outer) ? outer : [outer]), ...(own ? [own] : [])],
  });
}
