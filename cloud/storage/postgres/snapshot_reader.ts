import type { Client } from "pg";
import type { PostgresAddress } from "./address.ts";
import { clientConfig } from "./connect.ts";
import { HOLD_READINGS } from "./week_tables.ts";

/** A batch is about so long, characters. */
const BATCH_LENGTH = 1024 * 1024;
const FIRST_ROWS = 10;
const MOST_ROWS = 5_000;

/**
 * Rows come in the order of an index where there is one: sorted, all of them would be on the
 * server's disk before the first one is here.
 */
const SETTINGS = ["cursor_tuple_fraction = 1", "enable_sort = off", "jit = off"];

/**
 * Reads rows as they are at one moment, on a connection of its own that can write nothing. What is
 * read streams: of it there is one batch here, and the next one on its way.
 */
export class SnapshotReader implements AsyncDisposable {
  private constructor(private readonly client: Client) {}

  /** @param statementTimeoutMs after which the server ends the reading of a batch */
  static async open(address: PostgresAddress, statementTimeoutMs: number): Promise<SnapshotReader> {
    const config = await clientConfig({ ...address, statementTimeoutMs }, "machine-cloud reader");
    const { default: pg } = await import("pg");
    // Values stay as PostgreSQL writes them: no number is rounded.
    const types = { getTypeParser: () => (text: string) => text };
    const client = new pg.Client({ ...config, types: types as unknown as typeof pg.types });
    client.on("error", () => undefined); // the next statement reports it
    try {
      await client.connect();
      const settings = SETTINGS.map((setting) => `set local ${setting}`);
      await client.query(
        ["begin isolation level repeatable read read only", ...settings, HOLD_READINGS].join("; "),
      );
      return new SnapshotReader(client);
    } catch (error) {
      await client.end().catch(() => undefined); // the first error is the one to report
      throw error;
    }
  }

  /** The first column of each row that a SELECT gives, in batches. */
  async *column(sql: string, values: readonly unknown[]): AsyncGenerator<string[]> {
    await this.client.query(`declare reading no scroll cursor for ${sql}`, [...values]);
    try {
      let count = FIRST_ROWS;
      for (let next = this.#fetch(count);;) {
        const batch = await next;
        if (batch.length === 0) return;
        const length = batch.reduce((sum, { length }) => sum + length + 1, 0);
        const fitting = Math.ceil(BATCH_LENGTH * batch.length / length);
        count = Math.min(fitting, 4 * count, MOST_ROWS);
        next = this.#fetch(count);
        next.catch(() => undefined); // It is reported when its turn comes.
        yield batch;
      }
    } finally {
      await this.client.query("close reading").catch(() => undefined); // it has failed before
    }
  }

  async #fetch(count: number): Promise<string[]> {
    const text = `fetch ${count} from reading`;
    const { rows } = await this.client.query<string[]>({ text, rowMode: "array" });
    return rows.map(([first = ""]) => first);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client.end().catch(() => undefined); // nothing is lost
  }
}
