import { MOST_READ_BYTES, MOST_READ_ROWS } from "./query_form.ts";

/** A query needs more readings than may be read for one. */
export class TooManyReadingsError extends Error {
  override readonly name = "TooManyReadingsError";

  constructor() {
    super(
      `the query needs more than ${MOST_READ_ROWS} readings, or more than ` +
        `${MOST_READ_BYTES / 1024 ** 2} MiB of them; narrow it: in WHERE, joined by AND, name a ` +
        "component_name or part_id and a span of received_us (microseconds since 1970), or in a " +
        "first $match a component_name and a span of time_received",
    );
  }
}

/** There was no room for the readings of a query, whatever it needs. */
export class DiskFullError extends Error {
  override readonly name = "DiskFullError";

  constructor(options?: ErrorOptions) {
    super(
      "the disk of the data folder is full: queries of readings in PostgreSQL or in files copy what " +
        `they need there, up to ${MOST_READ_BYTES / 1024 ** 2} MiB each; make room, or move the ` +
        "data folder",
      options,
    );
  }
}
