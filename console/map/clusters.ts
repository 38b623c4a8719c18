import Supercluster from "supercluster";
import type { FleetMachine } from "../api/fleet.svelte.ts";

/** A machine that says where it is. */
export type PlacedMachine = FleetMachine & {
  readonly position: NonNullable<FleetMachine["position"]>;
};

/** What stands at a place of the map: a machine, or machines that are too near to one another. */
export type MapItem =
  & { readonly key: string; readonly latitude: number; readonly longitude: number }
  & (
    | { readonly kind: "machine"; readonly machine: PlacedMachine }
    | {
      readonly kind: "cluster";
      readonly id: number;
      readonly count: number;
      /** So many of them have a problem. */
      readonly needing: number;
    }
  );

/** West, south, east and north, degrees. */
export type Area = readonly [west: number, south: number, east: number, north: number];

/** Machines nearer than this become one mark, pixels. */
const RADIUS = 52;
export const DEEPEST_ZOOM = 18;

interface Of {
  readonly at: number;
  readonly needing: number;
}

/** Which marks stand on the map, for each zoom. */
export class Clusters {
  readonly #index: Supercluster<Of, { needing: number }>;

  constructor(
    readonly machines: readonly PlacedMachine[],
    isNeeding: (machine: FleetMachine) => boolean,
  ) {
    this.#index = new Supercluster<Of, { needing: number }>({
      radius: RADIUS,
      // Deeper than the map goes: machines at one place stay one mark, and are chosen in the list.
      maxZoom: DEEPEST_ZOOM,
      map: ({ needing }) => ({ needing }),
      reduce: (all, { needing }) => {
        all.needing += needing;
      },
    });
    this.#index.load(machines.map((machine, at) => ({
      type: "Feature",
      properties: { at, needing: isNeeding(machine) ? 1 : 0 },
      geometry: {
        type: "Point",
        coordinates: [machine.position.longitude, machine.position.latitude],
      },
    })));
  }

  /** The marks in an area; one that reaches over the date line has a part of the other side. */
  in([west, south, east, north]: Area, zoom: number): MapItem[] {
    return this.#index.getClusters([west, south, east, north], Math.floor(zoom)).flatMap(
      ({ id, properties, geometry }): MapItem[] => {
        const [longitude = 0, latitude = 0] = geometry.coordinates;
        const place = { longitude, latitude };
        if ("cluster" in properties) {
          const { point_count: count, needing } = properties;
          const key = `cluster ${longitude} ${latitude}`;
          return [{ ...place, kind: "cluster", key, id: Number(id), count, needing }];
        }
        const machine = this.machines[properties.at];
        return machine ? [{ ...place, kind: "machine", key: machine.id, machine }] : [];
      },
    );
  }

  /** The zoom at which a cluster falls apart; undefined when it never does. */
  expansionZoom(id: number): number | undefined {
    const zoom = this.#index.getClusterExpansionZoom(id);
    return zoom > DEEPEST_ZOOM ? undefined : zoom;
  }

  /** The machines of a cluster. */
  machinesOf(id: number): PlacedMachine[] {
    return this.#index.getLeaves(id, Infinity).flatMap(({ properties }) =>
      this.machines[properties.at] ?? []
    );
  }
}

/** The machines in an area, in their order. */
export function machinesIn(
  machines: readonly PlacedMachine[],
  [west, south, east, north]: Area,
): PlacedMachine[] {
  return machines.filter(({ position: { latitude, longitude } }) =>
    latitude >= south && latitude <= north &&
    // The map may have been turned around the globe.
    [-360, 0, 360].some((turn) => longitude + turn >= west && longitude + turn <= east)
  );
}

/** Where the map looks, as it stands in the address. */
export interface MapView {
  readonly latitude: number;
  readonly longitude: number;
  readonly zoom: number;
}

/** Reads `LATITUDE,LONGITUDE,ZOOM`; undefined for anything else. */
export function viewIn(text: string): MapView | undefined {
  const numbers = /^(-?\d+(?:\.\d+)?),(-?\d+(?:\.\d+)?),(\d+)$/.exec(text)?.slice(1).map(Number);
  const [latitude = NaN, longitude = NaN, zoom = NaN] = numbers ?? [];
  const isPlace = Math.abs(latitude) <= 90 && Math.abs(longitude) <= 360 && zoom <= DEEPEST_ZOOM;
  return isPlace ? { latitude, longitude, zoom } : undefined;
}

export function viewText({ latitude, longitude, zoom }: MapView): string {
  return `${latitude.toFixed(4)},${longitude.toFixed(4)},${Math.round(zoom)}`;
}
