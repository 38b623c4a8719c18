/** What a navigation service keeps: it survives a restart and a power cut. */
import { dirname } from "node:path";
import type { JsonValue } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { toError } from "../../../shared/base/errors/to_error.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import { type Kept, LISTS, type ReadKept, readKept } from "./kept.ts";

const NOTHING: Kept = { waypoints: [], locations: [], routes: [], zones: [] };
/** So many of each, and stops in all: a caller must not fill the disk. */
const MOST = 1_000;
const MOST_STOPS = 10_000;
/** Of a zone, in JSON. */
const MOST_BYTES = 20_000;
/** Of entries that are wrong so many are logged. */
const MOST_REASONS = 10;

/** See above. A change counts once it is on the disk. */
export class NavigationStore {
  #kept: Kept;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(private readonly file: string | undefined, kept: Kept) {
    this.#kept = kept;
  }

  /**
   * @param file undefined: nothing outlives the process.
   * @param log receives what of the file is wrong and left out.
   * @throws when there is a file that is not one of this service, or one with a zone that is wrong.
   */
  static async open(file: string | undefined, log: Logger): Promise<NavigationStore> {
    return new NavigationStore(file, file === undefined ? NOTHING : await load(file, log));
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
        await write(this.file, kept);
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

/** What is wrong is left out, and stays in a copy of the file. */
async function load(file: string, log: Logger): Promise<Kept> {
  let content: string;
  try {
    content = await Deno.readTextFile(file);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return NOTHING;
    throw error;
  }
  let read: ReadKept;
  try {
    read = readKept(JSON.parse(content) as JsonValue);
  } catch (error) {
    throw damaged(file, toError(error).message);
  }
  const { kept, wrong } = read;
  if (wrong.length === 0) return kept;
  const aside = `${file}.damaged`;
  log.error("what the navigation service keeps is damaged; the rest of it is used", {
    event: "navigation_damaged",
    wrong: wrong.slice(0, MOST_REASONS),
    aside,
  });
  await writeFileAtomic(aside, content);
  await write(file, kept);
  return kept;
}

async function write(file: string, kept: Kept): Promise<void> {
  await writeFileAtomic(file, `${JSON.stringify({ version: 1, ...kept })}\n`);
}

function damaged(file: string, reason: string): Error {
  return new Error(
    `${file} is no file of this version of the navigation service (${reason}); correct it, or move ` +
      "it away to begin without waypoints, locations, routes and zones",
  );
}
