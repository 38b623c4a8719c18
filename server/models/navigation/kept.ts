/** What a navigation service keeps, and what of a file counts as that. */
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { toError } from "../../../shared/base/errors/to_error.ts";
import { isJsonObject } from "../../../shared/base/json/json.ts";
import {
  anyObject,
  type Check,
  converted,
  integer,
  listOf,
  number,
  objectOf,
  optional,
  text,
} from "../../resources/graph/attributes.ts";
import { areaOf } from "./zones.ts";

/** A position on the globe. Degrees; heading clockwise from north. */
export interface Spot {
  readonly latitude: number;
  readonly longitude: number;
  readonly heading?: number;
}

/** A stop of a route: a location by its name, or a position. */
export type Stop = { readonly location: string } | { readonly spot: Spot };

export interface KeptZone {
  readonly name: string;
  readonly type: "keepout" | "speed_limit";
  readonly geometry: JsonObject;
  /** Metres a second, of a speed_limit. */
  readonly maxSpeed?: number;
}

/** All of it, in the order in which it was added. */
export interface Kept {
  readonly waypoints: readonly { readonly id: string; readonly spot: Spot }[];
  readonly locations: readonly { readonly name: string; readonly spot: Spot }[];
  readonly routes: readonly { readonly name: string; readonly stops: readonly Stop[] }[];
  readonly zones: readonly KeptZone[];
}

/** The keys of {@link Kept}. */
export const LISTS = ["waypoints", "locations", "routes", "zones"] as const;

const spot: Check<Spot> = converted(
  objectOf<{ latitude: number; longitude: number; heading: number | undefined }>({
    latitude: number("Degrees north.", { min: -90, max: 90 }),
    longitude: number("Degrees east.", { min: -180, max: 180 }),
    heading: optional(number("Degrees, clockwise from north.")),
  }, "A place."),
  "a place",
  ({ heading, ...place }) => ({ ...place, ...(heading !== undefined && { heading }) }),
);

const location = objectOf<{ location: string }>({ location: text("Of a location.") }, "A stop.");
const position = objectOf<{ spot: Spot }>({ spot }, "A stop.");
const stop: Check<Stop> = {
  schema: {},
  parse: (value, path) =>
    (isJsonObject(value) && "location" in value ? location : position).parse(value, path),
};

const zoneFields = objectOf<{
  name: string;
  type: string;
  geometry: JsonObject;
  maxSpeed: number | undefined;
}>({
  name: text("Of the zone."),
  type: text("What holds inside."),
  geometry: anyObject("Where it is."),
  maxSpeed: optional(number("Metres a second.")),
}, "A zone.");
const zone: Check<KeptZone> = {
  schema: zoneFields.schema,
  parse(value, path) {
    const { name, type, geometry, maxSpeed } = zoneFields.parse(value, path);
    try {
      return zoneOf(name, type, geometry, maxSpeed);
    } catch (error) {
      throw new Error(`${path}: ${ConnectError.from(error).rawMessage}`, { cause: error });
    }
  },
};

const waypoint = objectOf<Kept["waypoints"][number]>(
  { id: text("Of the waypoint."), spot },
  "A waypoint.",
);
const savedLocation = objectOf<Kept["locations"][number]>(
  { name: text("Of the location."), spot },
  "A location.",
);
const route = objectOf<Kept["routes"][number]>({
  name: text("Of the route."),
  stops: listOf(stop, "In the order in which they are driven to."),
}, "A route.");

/** What of a file can be used, and why the rest cannot, an entry each. */
export interface ReadKept {
  readonly kept: Kept;
  readonly wrong: readonly string[];
}

/**
 * Checks what was read from a file. Entries that are wrong are left out.
 *
 * @throws an error that says what is wrong when a zone is: a base must not forget where it is not to
 * drive. So does what is no file of this version at all.
 */
export function readKept(found: JsonValue): ReadKept {
  const wrong: string[] = [];
  const content = versionOne.parse(found, "the file");
  const sound = <T>(list: "waypoints" | "locations" | "routes", check: Check<T>): T[] =>
    content[list].flatMap((value, at) => {
      try {
        return [check.parse(value, `${list}[${at}]`)];
      } catch (error) {
        wrong.push(toError(error).message);
        return [];
      }
    });
  const locations = sound("locations", savedLocation);
  const names = new Set(locations.map(({ name }) => name));
  const kept = {
    waypoints: sound("waypoints", waypoint),
    locations,
    routes: sound("routes", route).filter(({ name, stops }) => {
      const lost = stops.find((one) => "location" in one && !names.has(one.location));
      if (lost) wrong.push(`the route ${name} leads to a location that there is not`);
      return !lost;
    }),
    zones: content.zones.map((value, at) => zone.parse(value, `zones[${at}]`)),
  };
  return { kept, wrong };
}

const anything: Check<JsonValue> = { schema: {}, parse: (value) => value ?? null };
const versionOne = objectOf<Record<keyof Kept, JsonValue[]> & { version: number }>({
  version: integer("Of the form.", { min: 1, max: 1 }),
  waypoints: listOf(anything, ""),
  locations: listOf(anything, ""),
  routes: listOf(anything, ""),
  zones: listOf(anything, ""),
}, "The file.");

/** @throws {ConnectError} INVALID_ARGUMENT for what is no zone. */
export function zoneOf(
  name: string,
  type: string,
  geometry: JsonObject | undefined,
  maxSpeed: number | undefined,
): KeptZone {
  const refuse = (reason: string) => new ConnectError(reason, Code.InvalidArgument);
  if (!geometry) throw refuse("geometry: it is empty");
  areaOf(geometry);
  if (type === "keepout") return { name, type, geometry };
  if (type !== "speed_limit") {
    throw refuse(`type: found ${JSON.stringify(type)}, allowed: "keepout", "speed_limit"`);
  }
  if (maxSpeed === undefined || !(maxSpeed > 0 && Number.isFinite(maxSpeed))) {
    throw refuse(`max_speed: found ${maxSpeed}, allowed: more than 0, in metres a second`);
  }
  return { name, type, geometry, maxSpeed };
}
