/** Methods that keep locations, routes and zones. */
import type { MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type {
  NavigationService,
  Waypoint,
  WaypointSchema,
} from "../../../shared/gen/viam/service/navigation/v1/navigation_pb.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import { MOST_OBSTACLES } from "../motion/footprint.ts";
import type { Legs } from "./leg.ts";
import { type Kept, type KeptZone, type Spot, type Stop, zoneOf } from "./kept.ts";
import type { NavigationStore } from "./navigation_store.ts";
import { positionMessage, spotOf } from "./positions.ts";
import { areaOf, obstaclesOf } from "./zones.ts";

const LONGEST_NAME = 200;

export interface SavedOptions {
  readonly store: NavigationStore;
  readonly legs: Legs;
  /** Where the base is. */
  readonly here: (signal: AbortSignal) => Promise<Spot>;
}

type List = "locations" | "routes" | "zones";

/** @throws {ConnectError} NOT_FOUND. */
export function found<L extends List>(kept: Kept, list: L, name: string): Kept[L][number] {
  const one = kept[list].find((one) => one.name === name);
  if (one) return one;
  throw new ConnectError(`there is no ${list.slice(0, -1)} ${name}`, Code.NotFound);
}

/** Checks a name that is to be given. @throws {ConnectError} INVALID_ARGUMENT, ALREADY_EXISTS. */
function free(kept: Kept, list: List, name: string): string {
  if (name === "" || name.length > LONGEST_NAME) {
    throw new ConnectError(
      `the name of a ${list.slice(0, -1)} has 1 to ${LONGEST_NAME} characters`,
      Code.InvalidArgument,
    );
  }
  if (!kept[list].some((one) => one.name === name)) return name;
  throw new ConnectError(`there is a ${list.slice(0, -1)} ${name} already`, Code.AlreadyExists);
}

/** @throws {ConnectError} FAILED_PRECONDITION when a route leads there. */
function unused(kept: Kept, location: string): void {
  const route = kept.routes.find(({ stops }) =>
    stops.some((stop) => "location" in stop && stop.location === location)
  );
  if (!route) return;
  throw new ConnectError(
    `the route ${route.name} leads to the location ${location}; change the route first`,
    Code.FailedPrecondition,
  );
}

const replaced = <T extends { readonly name: string }>(all: readonly T[], name: string, one: T) =>
  all.map((each) => each.name === name ? one : each);

const without = <T extends { readonly name: string }>(all: readonly T[], name: string) =>
  all.filter((each) => each.name !== name);

/** @throws {ConnectError} NOT_FOUND for a location that there is not, INVALID_ARGUMENT. */
export function stopsOf(kept: Kept, waypoints: readonly Waypoint[]): Stop[] {
  return waypoints.map(({ value }, at) => {
    if (value.case === "location") return { location: found(kept, "locations", value.value).name };
    const position = value.case === "position" ? value.value : undefined;
    return { spot: spotOf(position, `waypoints[${at}]`) };
  });
}

export function waypointMessage(stop: Stop): MessageInitShape<typeof WaypointSchema> {
  return "location" in stop
    ? { value: { case: "location", value: stop.location } }
    : { value: { case: "position", value: positionMessage(stop.spot) as never } };
}

const locationMessage = ({ name, spot }: Kept["locations"][number]) => ({
  location: { name, position: positionMessage(spot) },
});

const routeMessage = ({ name, stops }: Kept["routes"][number]) => ({
  name,
  waypoints: stops.map(waypointMessage),
});

const zoneMessage = ({ name, type, geometry, maxSpeed }: KeptZone) => ({
  ...{ name, type, geometry },
  ...(maxSpeed !== undefined && { maxSpeed }),
});

/** Methods of locations, routes and zones. */
export function savedPlaces(
  { store, legs, here }: SavedOptions,
): Driver<typeof NavigationService> {
  /** A motion service considers so many obstacles at most: refused before it is kept. */
  const considered = (kept: Kept, name: string, zone: KeptZone) => {
    if (zone.type !== "keepout") return zone;
    const others = kept.zones.filter((one) => one.type === "keepout" && one.name !== name);
    const zones = [...others, zone].reduce(
      (sum, { geometry }) => sum + obstaclesOf(areaOf(geometry), "").length,
      0,
    );
    if (legs.configuredObstacles + zones <= MOST_OBSTACLES) return zone;
    throw new ConnectError(
      `at most ${MOST_OBSTACLES} obstacles are driven around; each side of a polygon counts as one`,
      Code.ResourceExhausted,
    );
  };
  return {
    async addLocation({ locationName: name, position }, { signal }) {
      const spot = position ? spotOf(position, "position") : await here(signal);
      await store.change((kept) => ({
        ...kept,
        locations: [...kept.locations, { name: free(kept, "locations", name), spot }],
      }));
      return locationMessage({ name, spot });
    },
    listLocations: () => ({
      locations: store.kept.locations.map((one) => locationMessage(one).location),
    }),
    async updateLocation({ locationName, position, newName }) {
      const spot = position && spotOf(position, "position");
      await store.change((kept) => {
        const old = found(kept, "locations", locationName);
        const name = newName === undefined || newName === locationName
          ? locationName
          : free(kept, "locations", newName);
        if (name !== locationName) unused(kept, locationName);
        const locations = replaced(kept.locations, locationName, { name, spot: spot ?? old.spot });
        return { ...kept, locations };
      });
      return locationMessage(found(store.kept, "locations", newName ?? locationName));
    },
    async deleteLocation({ locationName }) {
      await store.change((kept) => {
        unused(kept, found(kept, "locations", locationName).name);
        return { ...kept, locations: without(kept.locations, locationName) };
      });
      return {};
    },

    async addRoute({ routeName: name, waypoints }) {
      await store.change((kept) => {
        const route = { name: free(kept, "routes", name), stops: stopsOf(kept, waypoints) };
        return { ...kept, routes: [...kept.routes, route] };
      });
      return { route: routeMessage(found(store.kept, "routes", name)) };
    },
    getRoute: ({ routeName }) => ({ route: routeMessage(found(store.kept, "routes", routeName)) }),
    listRoutes: () => ({ routes: store.kept.routes.map(routeMessage) }),
    async updateRoute({ routeName, newName, waypoints }) {
      await store.change((kept) => {
        const old = found(kept, "routes", routeName);
        const name = newName === undefined || newName === routeName
          ? routeName
          : free(kept, "routes", newName);
        const stops = waypoints ? stopsOf(kept, waypoints.waypoints) : old.stops;
        return { ...kept, routes: replaced(kept.routes, routeName, { name, stops }) };
      });
      return { route: routeMessage(found(store.kept, "routes", newName ?? routeName)) };
    },
    async deleteRoute({ routeName }) {
      await store.change((kept) => ({
        ...kept,
        routes: without(kept.routes, found(kept, "routes", routeName).name),
      }));
      return {};
    },

    async addZone({ zoneName: name, type, geometry, maxSpeed }) {
      const zone = zoneOf(name, type, geometry, maxSpeed);
      await store.change((kept) => {
        free(kept, "zones", name);
        return { ...kept, zones: [...kept.zones, considered(kept, name, zone)] };
      });
      return { zone: zoneMessage(zone) };
    },
    getZone: ({ zoneName }) => ({ zone: zoneMessage(found(store.kept, "zones", zoneName)) }),
    listZones: ({ type }) => ({
      zones: store.kept.zones.filter((zone) => type === "" || zone.type === type).map(zoneMessage),
    }),
    async updateZone({ zoneName, type, geometry, maxSpeed, newName }) {
      await store.change((kept) => {
        const old = found(kept, "zones", zoneName);
        const name = newName === undefined || newName === zoneName
          ? zoneName
          : free(kept, "zones", newName);
        const zone = zoneOf(
          name,
          type ?? old.type,
          geometry ?? old.geometry,
          maxSpeed ?? old.maxSpeed,
        );
        considered(kept, zoneName, zone);
        return { ...kept, zones: replaced(kept.zones, zoneName, zone) };
      });
      return { zone: zoneMessage(found(store.kept, "zones", newName ?? zoneName)) };
    },
    async deleteZone({ zoneName }) {
      await store.change((kept) => ({
        ...kept,
        zones: without(kept.zones, found(kept, "zones", zoneName).name),
      }));
      return {};
    },
  };
}
