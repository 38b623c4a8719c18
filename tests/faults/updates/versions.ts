/** Versions of a server that are small scripts, and the database that they share. */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Target } from "../../../agent/updates/updater/target.ts";
import { closeSqlite, type Migration, openSqlite } from "../../../shared/base/store/sqlite.ts";
import { homeOf } from "./machine.ts";

/** What a version does. */
export type Behaviour =
  | "serves"
  | "serves with a newer schema"
  | "ends at once with a newer schema"
  | "ends at once"
  | "ends after it served"
  | "hangs before it serves"
  | "hangs after it served"
  | "ignores TERM"
  | "forks children";

const SCHEMA: readonly Migration[] = [
  { version: 1, name: "first schema", up: "CREATE TABLE notes (text TEXT) STRICT" },
  { version: 2, name: "newer schema", up: "ALTER TABLE notes ADD COLUMN at TEXT" },
];

/** A web server that answers `/restart_status` for all servers of a test. */
export class Answering implements Disposable {
  readonly url: string;
  readonly #server: Deno.HttpServer<Deno.NetAddr>;

  constructor() {
    this.#server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      () => Response.json({ restart_allowed: true }),
    );
    this.url = `http://127.0.0.1:${this.#server.addr.port}`;
  }

  [Symbol.dispose](): void {
    this.#server.unref();
    void this.#server.shutdown();
  }
}

/** The server's database before any update: the old schema, one row. */
export async function prepareHome(dir: string): Promise<void> {
  const home = homeOf(dir);
  await Deno.mkdir(home, { recursive: true });
  for (const [name, schema] of [["server.db", SCHEMA.slice(0, 1)], ["newer.db", SCHEMA]] as const) {
    const db = openSqlite(join(home, name), {
      name: "server",
      migrations: schema,
      synchronous: "NORMAL",
    });
    db.prepare("INSERT INTO notes (text) VALUES (?)").run(`of ${name}`);
    closeSqlite(db);
  }
}

/** Writes a version and says how to get it. */
export async function makeVersion(
  folder: string,
  version: string,
  behaviour: Behaviour,
  url: string,
): Promise<Target> {
  const path = join(folder, `server-${version}.sh`);
  await Deno.mkdir(folder, { recursive: true });
  await Deno.writeTextFile(path, scriptOf(version, behaviour, url), { mode: 0o755 });
  return { version, url: pathToFileURL(path).href, sha256: "" };
}

function scriptOf(version: string, behaviour: Behaviour, url: string): string {
  const address = behaviour === "hangs after it served" ? "http://127.0.0.1:9" : url;
  const says = `echo "version=${version}"
printf 'x\\tINFO\\trdk\\tw:1\\tserving\\t{"url":"${address}"}\\n'`;
  const newer = 'cp "$MACHINE_HOME/newer.db" "$MACHINE_HOME/server.db"';
  const lives = "exec sleep 1000";
  const body: Record<Behaviour, string[]> = {
    "serves": [says, lives],
    "serves with a newer schema": [newer, says, lives],
    "ends at once with a newer schema": [newer, "echo 'it is broken' >&2", "exit 3"],
    "ends at once": ["echo 'it is broken' >&2", "exit 3"],
    "ends after it served": [says, "sleep 0.03", "exit 4"],
    "hangs before it serves": [lives],
    "hangs after it served": [says, lives],
    "ignores TERM": ["trap '' TERM", says, "while :; do sleep 1; done"],
    "forks children": ["sleep 1000 &", "(sleep 1000 & sleep 1000) &", says, "wait"],
  };
  const knowsNewer = behaviour.endsWith("a newer schema");
  // As a program that refuses a database whose schema it does not know.
  const refuses = `if grep -q "newer schema" "$MACHINE_HOME/server.db"; then
  echo "the server database has a newer schema" >&2
  exit 1
fi`;
  return ["#!/bin/sh", ...(knowsNewer ? [] : [refuses]), ...body[behaviour], ""].join("\n");
}
