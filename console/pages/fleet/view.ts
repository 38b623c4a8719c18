import type { FleetMachine } from "../../api/fleet.svelte.ts";

/** What the address says about which machines are shown, and how. */
export interface FleetFilter {
  readonly text: string;
  /** A state, `problems`, or empty: any. */
  readonly state: string;
  /** Ids of locations; undefined: any. */
  readonly locations: ReadonlySet<string> | undefined;
}

export type SortBy = "name" | "state" | "location" | "version" | "agent" | "platform" | "seen";

/** A machine needs its people: it is offline, its configuration fails, or one of its resources does. */
export function hasProblem(machine: FleetMachine): boolean {
  return machine.state === "offline" || machine.configError !== "" || machine.unhealthy > 0;
}

/** The machines that a filter lets through: every word of its text stands somewhere in the machine. */
export function filtered(
  machines: Iterable<FleetMachine>,
  { text, state, locations }: FleetFilter,
): FleetMachine[] {
  const words = text.toLowerCase().split(/\s+/).filter((word) => word !== "");
  const found: FleetMachine[] = [];
  for (const machine of machines) {
    if (locations && !locations.has(machine.locationId)) continue;
    if (state === "problems" ? !hasProblem(machine) : state !== "" && machine.state !== state) {
      continue;
    }
    if (words.length > 0 && !words.every((word) => searched(machine).includes(word))) continue;
    found.push(machine);
  }
  return found;
}

/** Messages are never changed, so what is searched in a machine is made once. */
const TEXTS = new WeakMap<FleetMachine, string>();

function searched(machine: FleetMachine): string {
  const known = TEXTS.get(machine);
  if (known !== undefined) return known;
  const { name, location, id, serverVersion, agentVersion, platform, tags } = machine;
  const text = [name, location, id, serverVersion, agentVersion, platform, ...tags].join("\n")
    .toLowerCase();
  TEXTS.set(machine, text);
  return text;
}

const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });

const STATE_ORDER: readonly FleetMachine["state"][] = ["offline", "awaiting-setup", "online"];

const KEYS: Readonly<Record<SortBy, (machine: FleetMachine) => string | number>> = {
  name: ({ name }) => name,
  state: ({ state }) => STATE_ORDER.indexOf(state),
  location: ({ location }) => location,
  version: ({ serverVersion }) => serverVersion,
  agent: ({ agentVersion }) => agentVersion,
  platform: ({ platform }) => platform,
  // Those that are online are seen now; those that never were come last.
  seen: ({ state, lastSeen }) =>
    state === "online" ? -Infinity : lastSeen ? -lastSeen.getTime() : Infinity,
};

/** In an order; machines that are alike in it by their names. */
export function sorted(
  machines: readonly FleetMachine[],
  by: SortBy,
  descending: boolean,
): FleetMachine[] {
  const key = KEYS[by];
  const sign = descending ? -1 : 1;
  return machines.map((machine) => ({ machine, key: key(machine) })).sort((a, b) =>
    sign * compare(a.key, b.key) || collator.compare(a.machine.name, b.machine.name) ||
    (a.machine.id < b.machine.id ? -1 : 1)
  ).map(({ machine }) => machine);
}

function compare(a: string | number, b: string | number): number {
  if (typeof a === "string" && typeof b === "string") return collator.compare(a, b);
  return a === b ? 0 : a < b ? -1 : 1;
}

/** A line of the list: a machine, or the head of a location's machines. */
export type Line =
  | { readonly kind: "machine"; readonly machine: FleetMachine }
  | {
    readonly kind: "location";
    readonly id: string;
    readonly name: string;
    readonly count: number;
  };

/** The machines with a head in front of those of each location. */
export function grouped(machines: readonly FleetMachine[]): Line[] {
  const groups = Map.groupBy(machines, ({ locationId }) => locationId);
  return [...groups].map(([id, of]) => ({ id, of, name: of[0]?.location ?? "" }))
    .sort((a, b) => collator.compare(a.name, b.name))
    .flatMap(({ id, of, name }): Line[] => [
      { kind: "location", id, name, count: of.length },
      ...of.map((machine): Line => ({ kind: "machine", machine })),
    ]);
}
