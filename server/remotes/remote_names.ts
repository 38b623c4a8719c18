/** What of a remote's list of resources becomes resources of this machine. Pure. */
import { formatShortName } from "../../shared/config/resource_name.ts";
import type { ResourceName } from "../../shared/gen/viam/common/v1/common_pb.ts";
import { fullName } from "../resources/graph/name.ts";

/** More resources of one remote are left out: each costs memory here. */
export const MOST_RESOURCES = 2_000;
/** Machines behind one another; more are a circle of machines that do not say who they are. */
export const MOST_HOPS = 5;
/** Longest name, and longest API, that is taken over, in characters. */
const LONGEST_NAME = 400;

/** Entries of the metadata about machines; machines beyond are not named. */
const MOST_MACHINES = 64;
/** Longest metadata about machines, in characters. */
export const LONGEST_HEADER = 8_192;

/** A resource of a remote. */
export interface RemoteResource {
  /** `rdk:component:sensor` */
  readonly api: string;
  /** The name that the remote has for it. */
  readonly theirs: string;
  /** `remote:prefix+name` */
  readonly ours: string;
}

/** What a remote's list comes to. */
export interface RemoteListing {
  readonly resources: readonly RemoteResource[];
  /** What was left out, and why; for the log. */
  readonly notes: readonly string[];
  /** The remote is this machine itself. */
  readonly isSelf: boolean;
  /**
   * Ids of the machines behind this remote, by their path from here: `r`, `r:s`. Without this
   * machine and those behind it: paths would become longer with each list that machines of a circle
   * ask of one another.
   */
  readonly machines: ReadonlyMap<string, string>;
}

export interface ListingOptions {
  readonly remote: string;
  readonly prefix: string;
  /** Id of this machine, as {@link machinesHeader} names it. */
  readonly ownId: string;
  /** What the remote sent as `MACHINES_HEADER`; empty for a server that sends none. */
  readonly machines: string;
}

/** The resources of a remote that others than itself need: without copies of this machine's own. */
export function remoteListing(
  names: readonly Pick<ResourceName, "namespace" | "type" | "subtype" | "name">[],
  { remote, prefix, ownId, machines: header }: ListingOptions,
): RemoteListing {
  const { machines, circles } = machinesBehind(remote, header, ownId);
  const notes = circles.map((path) => `${path} is this machine itself; it is left out`);
  if (circles.includes(remote)) return { resources: [], notes: [], isSelf: true, machines };
  const found = new Map<string, RemoteResource>();
  let odd = 0;
  let tooMany = 0;
  for (const { namespace, type, subtype, name } of names) {
    const path = name.split(":").slice(0, -1);
    const api = `${namespace}:${type}:${subtype}`;
    const isOdd = name === "" || subtype === "" || name.length > LONGEST_NAME ||
      path.length >= MOST_HOPS || /[/+\p{Cc}]/u.test(name) ||
      api.length > LONGEST_NAME || /[/+\s\p{Cc}]/u.test(api);
    const ours = formatShortName({ remote, name: prefixed(prefix, name) });
    if (isBehind(circles, `${remote}:${name}`)) continue;
    if (isOdd) odd++;
    else if (found.has(fullName(api, ours))) continue;
    else if (found.size >= MOST_RESOURCES) tooMany++;
    else found.set(fullName(api, ours), { api, theirs: name, ours });
  }
  if (odd > 0) {
    notes.push(`${odd} of its resources have names that cannot be used; they are left out`);
  }
  if (tooMany > 0) {
    notes.push(
      `it has ${MOST_RESOURCES + tooMany} resources; those after the first ${MOST_RESOURCES} are ` +
        "left out. Split it into more machines",
    );
  }
  return { resources: [...found.values()], notes, isSelf: false, machines };
}

/** The prefix stands before the resource's own name, behind the remotes that lead to it. */
export function prefixed(prefix: string, name: string): string {
  const at = name.lastIndexOf(":") + 1;
  return name.slice(0, at) + prefix + name.slice(at);
}

/**
 * The `MACHINES_HEADER` of a machine with these remotes. The nearest machines come first, so that
 * those behind one remote do not take the room of another.
 */
export function machinesHeader(
  ownId: string,
  remotes: Iterable<ReadonlyMap<string, string>>,
): string {
  const entries = [ownId];
  let length = ownId.length;
  for (const [path, id] of [...remotes].flatMap((one) => [...one]).sort(nearestFirst)) {
    const entry = `${path}=${id}`;
    length += entry.length + 1;
    if (entries.length >= MOST_MACHINES || length > LONGEST_HEADER) break;
    entries.push(entry);
  }
  return entries.join(",");
}

function nearestFirst([a]: readonly [string, string], [b]: readonly [string, string]): number {
  return a.split(":").length - b.split(":").length;
}

const ENTRY = /^([\w:-]{1,400})=([\w-]{1,64})$/;

/** The machines of a header, and the paths at which this machine itself is. */
function machinesBehind(remote: string, header: string, ownId: string) {
  const [id = "", ...entries] = header.split(",", MOST_MACHINES);
  const all = new Map<string, string>();
  if (id !== "") all.set(remote, id);
  for (const entry of entries) {
    const [, path, behind] = ENTRY.exec(entry) ?? [];
    if (path && behind) all.set(`${remote}:${path}`, behind);
  }
  const own = [...all].filter(([, id]) => id === ownId).map(([path]) => path);
  return {
    machines: new Map([...all].filter(([path]) => !own.includes(path) && !isBehind(own, path))),
    circles: own.filter((path) => !isBehind(own, path)),
  };
}

function isBehind(paths: readonly string[], path: string): boolean {
  return paths.some((other) => path.startsWith(`${other}:`));
}
