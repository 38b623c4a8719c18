import { Code, ConnectError } from "@connectrpc/connect";
import type { MessageInitShape } from "@bufbuild/protobuf";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type {
  GetPropertiesResponse,
  GetPropertiesResponseSchema,
  MovementSensorService,
} from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { dependencyNamed } from "../../resources/graph/dependency_named.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { reasonOf } from "../../resources/graph/errors.ts";
import type { CallContext, Resource } from "../../resources/graph/resource.ts";
import type { MergedAttributes, Quantity } from "./merged_attributes.ts";

type MovementSensor = Driver<typeof MovementSensorService>;
type Properties = MessageInitShape<typeof GetPropertiesResponseSchema>;
type Supported = Exclude<keyof GetPropertiesResponse, "$typeName" | "$unknown">;

/** A field of GetProperties for each quantity. */
const SUPPORTED: Readonly<Record<Quantity, Supported>> = {
  position: "positionSupported",
  orientation: "orientationSupported",
  compass_heading: "compassHeadingSupported",
  angular_velocity: "angularVelocitySupported",
  linear_velocity: "linearVelocitySupported",
  linear_acceleration: "linearAccelerationSupported",
};

/** A driver whose methods ask other sensors; see {@link MergedAttributes}. */
export function createMergedSensor(
  attributes: MergedAttributes,
  dependencies: ReadonlyMap<string, Resource>,
  log: Logger,
): MovementSensor {
  const sources = new Map<Quantity, Source[]>();
  const byName = new Map<string, Source>();
  for (const quantity of Object.keys(SUPPORTED) as Quantity[]) {
    const names = attributes[quantity] ?? [];
    sources.set(
      quantity,
      names.map((name) => {
        const source = byName.get(name) ?? new Source(name, findSensor(name, dependencies));
        byName.set(name, source);
        return source;
      }),
    );
  }
  const ask = <T>(
    quantity: Quantity,
    call: CallContext,
    question: (sensor: MovementSensor, name: string) => T | Promise<T> | undefined,
  ) => firstAnswer(quantity, sources.get(quantity)!, { call, log, question });

  return {
    getPosition: (request, call) =>
      ask("position", call, (sensor, name) => sensor.getPosition?.({ ...request, name }, call)),
    getOrientation: (request, call) =>
      ask(
        "orientation",
        call,
        (sensor, name) => sensor.getOrientation?.({ ...request, name }, call),
      ),
    getCompassHeading: (request, call) =>
      ask(
        "compass_heading",
        call,
        (sensor, name) => sensor.getCompassHeading?.({ ...request, name }, call),
      ),
    getAngularVelocity: (request, call) =>
      ask(
        "angular_velocity",
        call,
        (sensor, name) => sensor.getAngularVelocity?.({ ...request, name }, call),
      ),
    getLinearVelocity: (request, call) =>
      ask(
        "linear_velocity",
        call,
        (sensor, name) => sensor.getLinearVelocity?.({ ...request, name }, call),
      ),
    getLinearAcceleration: (request, call) =>
      ask(
        "linear_acceleration",
        call,
        (sensor, name) => sensor.getLinearAcceleration?.({ ...request, name }, call),
      ),
    async getProperties(_request, call) {
      const properties: Properties = {};
      for (const [quantity, list] of sources) {
        for (const source of list) {
          if ((await source.has(quantity, call)) === true) properties[SUPPORTED[quantity]] = true;
        }
      }
      return properties;
    },
    async getAccuracy(request, call) {
      const accuracyOf = async (quantity: Quantity) => {
        if (sources.get(quantity)!.length === 0) return {};
        return await ask(
          quantity,
          call,
          (sensor, name) => sensor.getAccuracy?.({ ...request, name }, call) ?? {},
        );
      };
      const [position, compass] = await Promise.all([
        accuracyOf("position"),
        accuracyOf("compass_heading"),
      ]);
      const { positionHdop, positionVdop, positionNmeaGgaFix } = position;
      const { compassDegreesError } = compass;
      return {
        accuracy: { ...compass.accuracy, ...position.accuracy },
        ...(positionHdop !== undefined && { positionHdop }),
        ...(positionVdop !== undefined && { positionVdop }),
        ...(positionNmeaGgaFix !== undefined && { positionNmeaGgaFix }),
        ...(compassDegreesError !== undefined && { compassDegreesError }),
      };
    },
  };
}

/** One of the sensors behind the merged one. */
class Source {
  #properties: Properties | undefined;

  constructor(readonly name: string, readonly sensor: MovementSensor) {}

  /** Whether it measures that; the error when it does not say. What it once said is kept. */
  async has(quantity: Quantity, call: CallContext): Promise<boolean | Error> {
    try {
      const request = { $typeName: PROPERTIES_REQUEST, name: this.name } as const;
      this.#properties ??= await this.sensor.getProperties?.(request, call) ?? {};
      return this.#properties[SUPPORTED[quantity]] ?? false;
    } catch (error) {
      call.signal.throwIfAborted();
      return toError(error);
    }
  }
}

const PROPERTIES_REQUEST = "viam.component.movementsensor.v1.GetPropertiesRequest";

interface Question<T> {
  readonly call: CallContext;
  readonly log: Logger;
  readonly question: (sensor: MovementSensor, name: string) => T | Promise<T> | undefined;
}

async function firstAnswer<T>(
  quantity: Quantity,
  sources: readonly Source[],
  { call, log, question }: Question<T>,
): Promise<T> {
  const problems: string[] = [];
  for (const source of sources) {
    const has = await source.has(quantity, call);
    if (has === false) continue;
    try {
      if (has instanceof Error) throw has;
      const answer = await question(source.sensor, source.name);
      if (answer !== undefined) return answer;
    } catch (error) {
      call.signal.throwIfAborted();
      const problem = `${source.name}: ${reasonOf(error)}`;
      log.debug(`${quantity}: falling back to the next sensor; ${problem}`);
      problems.push(problem);
    }
  }
  if (problems.length > 0) {
    throw new Error(`no sensor reports the ${quantity}: ${problems.join("; ")}`);
  }
  const why = sources.length === 0
    ? `its attributes name no sensor for ${quantity}`
    : `none of ${sources.map(({ name }) => name).join(", ")} has ${quantity}`;
  throw new ConnectError(why, Code.Unimplemented);
}

function findSensor(name: string, dependencies: ReadonlyMap<string, Resource>): MovementSensor {
  const found = dependencyNamed("rdk:component:movement_sensor", name, dependencies);
  if (found) return found;
  const given = [...dependencies.keys()].join(", ") || "nothing";
  throw new Error(`${name} is no movement sensor; the attributes lead to ${given}`);
}
