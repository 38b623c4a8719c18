/** What a navigation service keeps: it survives a restart and a power cut. */
import { dirname } from "node:path";
import type { JsonObject, JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { isJsonObject } from "../../../shared/base/json/json.ts";

/** A position on the globe. Degrees; heading clockwise from north. */
export interface Spot {
  readonly latitude: number;
  readonly longitude: number;
  readonly heading?: number;
}

/** A stop of a route: a location by its name, or a position. */
export type Stop = { readonly location: string } | { readonly spot: Spot };

/** All of it, in the order in which it was added. */
export interface Kept {
  readonly waypoints: readonly { readonly id: string; readonly spot: Spot }[];
  readonly locations: readonly { readonly name: string; readonly spot: Spot }[];
  readonly routes: readonly { readonly name: string; readonly stops: readonly Stop[] }[];
  readonly zones: readonly KeptZone[];
}

export interface KeptZone {
  readonly name: string;
  readonly type: "keepout" | "speed_limit";
  readonly geometry: JsonObject;
  /** Metres a second, of a speed_limit. */
  readonly maxSpeed?: number;
}

const NOTHING: Kept = { waypoints: [], locations: [], routes: [], zones: [] };
const LISTS = ["waypoints", "locations", "routes", "zones"] as const;
/** So many of each, and stops in all: a caller must not fill the disk. */
const MOST = 1_000;
const MOST_STOPS = 10_000;
/** Of a zone, in JSON. */
const MOST_BYTES = 20_000;

/** See above. A change counts once it is on the disk. */
export class NavigationStore {
  #kept: Kept;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(private readonly file: string | undefined, kept: Kept) {
    this.#kept = kept;
  }

  /**
   * @param file undefined: nothing outlives the process.
   * @throws when there is a file that is not one of this service.
   */
  static async open(file: string | undefined): Promise<NavigationStore> {
    return new NavigationStore(file, file === undefined ? NOTHING : await readKept(file));
  }

  get kept(): Kept {
    return this.#kept;
  }

  /**
   * One change after the other.
   *
   * @param change gives the new state; what it throws changes nothing.
   * @throws {ConnectError} RESOURCE_EXHAUSTED when it would be too much.
   */
  change(change: (kept: Kept) => Kept): Promise<void> {
    const next = this.#last.then(async () => {
      const kept = bounded(change(this.#kept));
      if (this.file !== undefined) {
        await Deno.mkdir(dirname(this.file), { recursive: true, mode: 0o700 });
        await writeFileAtomic(this.file, `${JSON.stringify({ version: 1, ...kept })}\n`);
      }
      this.#kept = kept;
    });
    this.#last = next.catch(() => {});
    return next;
  }
}

function bounded(kept: Kept): Kept {
  const stops = kept.routes.reduce((sum, { stops }) => sum + stops.length, 0);
  const full = LISTS.find((list) => kept[list].length > MOST);
  const zone = kept.zones.find(({ geometry }) => JSON.stringify(geometry).length > MOST_BYTES);
  if (full === undefined && stops <= MOST_STOPS && !zone) return kept;
  const what = full
    ? `${MOST} ${full}`
    : zone
    ? `${MOST_BYTES} bytes a zone`
    : `${MOST_STOPS} stops`;
  throw new ConnectError(`at most ${what} are kept; delete some first`, Code.ResourceExhausted);
}

async function readKept(file: string): Promise<Kept> {
  let found: JsonValue;
  try {
    found = JSON.parse(await Deno.readTextFile(file)) as JsonValue;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return NOTHING;
    if (error instanceof SyntaxError) throw damaged(file);
    throw error;
  }
  if (!isJsonObject(found) || found["version"] !== 1) throw damaged(file);
  for (const list of LISTS) if (!Array.isArray(found[list])) throw damaged(file);
  return found as unknown as Kept;
}

function damaged(file: string): Error {
  return new Error(
    `${file} is no file of this version of the navigation service; move it away to begin without ` +
      "waypoints, locations, routes and zones",
  );
}
