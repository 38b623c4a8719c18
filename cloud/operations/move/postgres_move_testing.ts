import { sql } from "kysely";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { addonFor, connect } from "../../../shared/base/store/connect.ts";
import {
  type FaultChildResult,
  runFaultChild,
} from "../../../shared/base/faults/fault_child_testing.ts";
import { PostgresServer } from "../../../shared/test_tools/postgres_server.ts";
import { bootstrap } from "../../local/bootstrap/bootstrap.ts";
import { openDatabase } from "../../storage/data_folder/database_choice.ts";
import { type Queries, SqliteDatabase } from "../../storage/database/cloud_database.ts";
import { loadOrCreateKeys } from "../../storage/keys/key_file.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { moveToPostgres } from "./move_to_postgres.ts";

export const READINGS = 5_000;

/** For tests: a data folder with SQLite and a server to move it to. */
export class Rig implements AsyncDisposable {
  readonly lines: string[] = [];

  private constructor(readonly dataDir: string, readonly server: PostgresServer) {}

  static async open(): Promise<Rig> {
    const server = await PostgresServer.start();
    const rig = new Rig(await Deno.makeTempDir({ prefix: "machine-move-" }), server);
    await rig.change(async (queries) => {
      await fillRows(queries);
    });
    return rig;
  }

  /** Works on `cloud.db`, as a cloud does that is served. */
  async change(work: (queries: Queries) => Promise<void>): Promise<void> {
    const database = SqliteDatabase.open(this.dataDir);
    try {
      await work(database.queries);
    } finally {
      await database.close();
    }
  }

  /** @param cut is asked at each line of progress whether the move shall be cut there */
  async move(
    cut: (line: string) => boolean = () => false,
    to: string = this.server.address(),
  ): Promise<string> {
    const progress = (line: string) => {
      this.lines.push(line);
      if (cut(line)) throw new Error("cut");
    };
    const deps = { clock: systemClock, progress };
    return (await moveToPostgres(this.dataDir, to, deps)).kept;
  }

  /** A move in a process of its own, which dies at a point of it. */
  killed(point: string): Promise<FaultChildResult> {
    const source = `import { moveToPostgres } from "./move_to_postgres.ts";
      import { systemClock as clock } from "../../../shared/base/time/clock.ts";
      const [dataDir, to] = ${JSON.stringify([this.dataDir, this.server.address()])};
      await moveToPostgres(dataDir, to, { clock, progress: () => {} });`;
    return runFaultChild(source, { folder: import.meta.dirname!, faultPoint: point });
  }

  /** All rows of a table on PostgreSQL and in the file that was kept. */
  async both(kept: string, table: string, order: string): Promise<readonly [unknown, unknown]> {
    const database = await openDatabase(this.dataDir, this.server.address());
    const file = connect(kept, addonFor(kept), true);
    try {
      const { rows } = await sql`select * from ${sql.table(table)} order by ${sql.raw(order)}`
        .execute(database.queries);
      return [rows, file.prepare(`SELECT * FROM ${table} ORDER BY ${order}`).all()];
    } finally {
      file.close();
      await database.close();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server[Symbol.asyncDispose]();
    await Deno.remove(this.dataDir, { recursive: true });
  }

  async bootstrap(): Promise<void> {
    const database = SqliteDatabase.open(this.dataDir);
    const keys = await loadOrCreateKeys(this.dataDir, systemRandom);
    const names = { organization: "Acme", location: "Lab", machine: "demo", config: undefined };
    try {
      const deps = { clock: systemClock, random: systemRandom };
      await bootstrap({ database, keys }, deps, names);
    } finally {
      await database.close();
    }
  }
}

/** Puts rows in that are easily damaged on the way between two databases. */
export async function fillRows(queries: Queries): Promise<void> {
  const source = {
    ...{ org_id: "o", location_id: "l", machine_id: "m", part_id: "p", machine_name: "Zoë" },
    ...{ part_name: "main", component_type: "sensor", method_name: "Readings" },
  };
  await queries.insertInto("data_sources").values([
    { id: 7, ...source, component_name: "climate" },
    { id: 9, ...source, component_name: "oven" },
  ]).execute();
  for (let from = 0; from < READINGS; from += 500) {
    await queries.insertInto("tabular_readings").values(
      Array.from({ length: 500 }, (_, at) => ({
        ...{ source_id: 7, received_us: 1_700_000_000_000_000 + from + at, upload_id: 1 },
        ...{ position: 0, requested_us: Number.MAX_SAFE_INTEGER - at },
        data: JSON.stringify({ readings: { text: `a 'b' "c" \\ {1,2} ${at} ☃ 𝄞`, none: null } }),
      })),
    ).execute();
  }
  await queries.insertInto("organizations").values({ id: "o", name: "Øre", created_at: 5 })
    .execute();
  // The child's id comes before its parent's.
  const location = { org_id: "o", created_at: 6 };
  await queries.insertInto("locations").values({ id: "z", name: "Parent", ...location }).execute();
  await queries.insertInto("locations").values({
    ...{ id: "a", name: "Child", parent_id: "z", ...location },
  }).execute();
  const change = { org_id: "o", part_id: null, kind: "access", created_at: 1 } as const;
  await queries.insertInto("changes").values(Array.from({ length: 40 }, () => change)).execute();
  await queries.deleteFrom("changes").where("seq", ">", 10).execute();
}
