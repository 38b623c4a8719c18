import type { Database } from "../../../shared/base/store/connect.ts";
import { dayOf } from "../archive/days.ts";
import type { PostgresAddress } from "../../storage/postgres/address.ts";
import { SnapshotReader } from "../../storage/postgres/snapshot_reader.ts";
import type { Narrowing, Needs } from "./narrowing.ts";
import {
  MOST_READ_BYTES,
  MOST_READ_ROWS,
  type QueryScope,
  type RemoteReadings,
} from "./query_form.ts";
import {
  type ArchivedPart,
  copyArchived,
  PIECE,
  pieceOf,
  type QueryPiece,
} from "./archived_copy.ts";
import {
  type CopyPlaces,
  openCopy,
  READINGS,
  SOURCES,
  UPLOADS,
  type Within,
  withinOf,
} from "./copy_database.ts";
import { TooManyReadingsError } from "./copy_errors.ts";
import { type CopyBounds, CopySize } from "./copy_size.ts";
import { GRANTED, SOURCE_COLUMNS } from "./readings_view.ts";

/**
 * What a query needs, copied from PostgreSQL into tables as those of `cloud.db`: the query itself
 * is then the same as there, and cannot reach more.
 *
 * @throws {TooManyReadingsError}, {DiskFullError}, or what the server or the connection reports
 */
export async function copyReadings(
  remote: RemoteReadings,
  scope: QueryScope,
  needs: Needs,
  { addon, files }: CopyPlaces,
  bounds: CopyBounds = { rows: MOST_READ_ROWS, bytes: MOST_READ_BYTES },
): Promise<Database> {
  const database = openCopy(addon, bounds);
  const size = new CopySize(database, bounds);
  try {
    const address = JSON.parse(remote.reader) as PostgresAddress;
    if (scope.grants.length > 0) {
      await using reader = await SnapshotReader.open(address, remote.limitMs);
      const copy = new Copy(database, reader, { scope, needs, mostRows: bounds.rows, size });
      const part = await copy.all();
      if (part) await copyArchived(database, part, { files, needs, mostRows: bounds.rows, size });
    }
    return database;
  } catch (error) {
    database.close();
    throw size.failure(error);
  }
}

/** What is read for one table. */
interface Selection {
  readonly table: string;
  /** Of the table, and the SQL of each on the server. */
  readonly columns: readonly Column[];
  /** Behind SELECT and the columns. */
  readonly from: string;
  readonly values: readonly unknown[];
}

type Column = readonly [name: string, sql: string];

interface CopyOptions {
  readonly scope: QueryScope;
  readonly needs: Needs;
  readonly mostRows: number;
  readonly size: CopySize;
}

class Copy {
  #rows = 0;

  constructor(
    private readonly database: Database,
    private readonly reader: SnapshotReader,
    private readonly options: CopyOptions,
  ) {}

  /** @returns what files have besides; undefined: nothing of it is looked at */
  async all(): Promise<ArchivedPart | undefined> {
    const { pipelineId } = this.options.scope;
    if (pipelineId !== undefined) {
      await this.#pipeline(pipelineId);
      return undefined;
    }
    const { looks } = this.options.needs;
    if (looks.length === 0) return undefined;
    await this.#sources(looks);
    const sources = this.#ids("id");
    if (sources.length === 0) return undefined;
    await this.#names("machines", this.#ids("machine_id"));
    await this.#names("parts", this.#ids("part_id"));
    const within = withinOf(this.options.scope, this.options.needs, sources);
    if (this.options.needs.uploads) await this.#uploads(within);
    await this.#readings(within);
    return { within, pieces: await this.#pieces(within), rows: this.#rows };
  }

  /** What files have. */
  async #pieces(within: Within): Promise<QueryPiece[]> {
    const parameters = new Parameters();
    const from = `FROM archived_sources a JOIN archived_files f ON f.id = a.file_id
      WHERE a.source_id = ANY(${parameters.add(within.sources)}::bigint[])
      ${parameters.bound("a.day", ">=", dayOf(within.fromUs))}
      ${parameters.bound("a.day", "<=", dayOf(within.toUs))}
      ${parameters.bound("a.max_received_us", ">=", within.fromUs)}
      ${parameters.bound("a.min_received_us", "<=", within.toUs)}`;
    const row = PIECE.map(([, sql]) => sql).join(", ");
    const pieces: QueryPiece[] = [];
    const batches = this.reader.column(
      `SELECT json_build_array(${row})::text ${from} ORDER BY a.file_id, a.first_row`,
      parameters.values,
    );
    for await (const rows of batches) pieces.push(...rows.map((text) => pieceOf(JSON.parse(text))));
    return pieces;
  }

  async #sources(looks: readonly Narrowing[]): Promise<void> {
    const parameters = new Parameters();
    const one = (column: string, texts: readonly string[]) =>
      `${column} = ANY(${parameters.add(texts.filter(isStorable))}::text[])`;
    const granted = this.options.scope.grants.map(({ resource, id }) =>
      one(GRANTED[resource], [id])
    );
    const looked = looks.map(({ texts }) =>
      ["true", ...[...texts].map(([name, wanted]) => one(SOURCE_COLUMNS.get(name) ?? name, wanted))]
        .join(" AND ")
    );
    const from = `FROM data_sources s WHERE s.org_id = ${parameters.add(this.options.scope.orgId)}
      AND (${granted.join(" OR ")}) AND (${looked.join(" OR ")})`;
    const { values } = parameters;
    await this.#copy({ table: "data_sources", columns: columnsOf("s", SOURCES), from, values });
  }

  async #names(table: "machines" | "parts", ids: readonly (string | number)[]): Promise<void> {
    const from = `FROM ${table} x WHERE x.id = ANY($1::text[])`;
    await this.#copy({ table, columns: columnsOf("x", ["id", "name"]), from, values: [ids] });
  }

  async #uploads(within: Within): Promise<void> {
    const parameters = new Parameters();
    const from = `FROM ${uploadsWithin(within, parameters)}`;
    const { values } = parameters;
    await this.#copy({ table: "data_uploads", columns: columnsOf("u", UPLOADS), from, values });
  }

  /** Source by source in the order of the index, so that the server sorts nothing. */
  async #readings(within: Within): Promise<void> {
    const parameters = new Parameters();
    const tagged = within.tags.length > 0
      ? ` AND r.upload_id IN (SELECT u.id FROM ${uploadsWithin(within, parameters)})`
      : "";
    const from = `FROM unnest(${parameters.add(within.sources)}::bigint[]) AS source (id)
      CROSS JOIN LATERAL (SELECT * FROM tabular_readings r WHERE r.source_id = source.id
        ${parameters.bound("r.received_us", ">=", within.fromUs)}
        ${parameters.bound("r.received_us", "<=", within.toUs)}${tagged}
        ORDER BY r.received_us, r.upload_id, r.position) AS r`;
    const data: Column = ["data", this.options.needs.data ? "r.data" : "'{}'"];
    const columns = [...columnsOf("r", READINGS), data];
    await this.#copy({ table: "tabular_readings", columns, from, values: parameters.values });
  }

  async #pipeline(id: string): Promise<void> {
    const values = [id, this.options.scope.orgId];
    const own = "data_pipelines p WHERE p.id = $1 AND p.org_id = $2";
    const runs = `data_pipeline_runs r WHERE r.pipeline_seq IN (SELECT p.seq FROM ${own})`;
    const columns = columnsOf("p", ["seq", "id", "org_id"]);
    await this.#copy({ table: "data_pipelines", columns, from: `FROM ${own}`, values });
    await this.#copy({
      table: "data_pipeline_runs",
      columns: columnsOf("r", [
        ...["seq", "id", "pipeline_seq", "data_from", "data_to", "result_attempt"],
      ]),
      from: `FROM ${runs}`,
      values,
    });
    await this.#copy({
      table: "data_pipeline_results",
      columns: [
        ...columnsOf("x", ["run_seq", "attempt", "position"]),
        ["document", "encode(x.document, 'hex')"],
      ],
      from: `FROM data_pipeline_results x
        WHERE (x.run_seq, x.attempt) IN (SELECT r.seq, r.result_attempt FROM ${runs})`,
      values,
    });
  }

  #ids(column: string): (string | number)[] {
    const sql = `SELECT DISTINCT ${column} FROM data_sources ORDER BY ${column}`;
    return this.database.prepare<[], string | number>(sql).pluck().all();
  }

  /** Rows come as arrays in JSON, which SQLite takes apart itself. */
  async #copy({ table, columns, from, values }: Selection): Promise<void> {
    const names = columns.map(([name]) => name).join(", ");
    const fields = columns.map(([name], at) =>
      name === "document" ? `unhex(value ->> ${at})` : `value ->> ${at}`
    ).join(", ");
    const insert = this.database.prepare<[string]>(
      `INSERT INTO ${table} (${names}) SELECT ${fields} FROM json_each(?)`,
    );
    const row = columns.map(([, sql]) => sql).join(", ");
    this.database.exec("BEGIN");
    const batches = this.reader.column(`SELECT json_build_array(${row})::text ${from}`, values);
    for await (const rows of batches) {
      this.#rows += rows.length;
      if (this.#rows > this.options.mostRows) throw new TooManyReadingsError();
      const batch = `[${rows.join(",")}]`;
      this.options.size.next(batch.length);
      insert.run(batch);
    }
    this.database.exec("COMMIT");
  }
}

/** Behind FROM: uploads that can have readings which are looked at. */
function uploadsWithin({ sources, fromUs, toUs, tags }: Within, parameters: Parameters): string {
  // It may be part of another text.
  const has = (tag: string) => `position(${parameters.add(JSON.stringify(tag))} IN u.tags) > 0`;
  const tagged = tags.map((all) => all.map(has).join(" AND ")).join(" OR ");
  return `data_uploads u WHERE u.source_id = ANY(${parameters.add(sources)}::bigint[])
    ${parameters.bound("u.max_received_us", ">=", fromUs)}
    ${parameters.bound("u.min_received_us", "<=", toUs)}${tagged && ` AND (${tagged})`}`;
}

/** Values of a statement. */
class Parameters {
  readonly values: unknown[] = [];

  /** @returns what stands for it */
  add(value: unknown): string {
    return `$${this.values.push(value)}`;
  }

  bound(column: string, operator: string, us: number): string {
    return Number.isFinite(us) ? `AND ${column} ${operator} ${this.add(us)}::bigint` : "";
  }
}

function columnsOf(table: string, names: readonly string[]): Column[] {
  return names.map((name) => [name, `${table}.${name}`]);
}

/** Others no text in PostgreSQL holds. */
function isStorable(text: string): boolean {
  return !text.includes("\0");
}
