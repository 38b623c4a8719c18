import type { Table } from "./rows.ts";

/**
 * The tables of `logs.db` with what PostgreSQL has of them. A line that two nodes took at once is
 * there twice, and counts once.
 */
export const LOG_TABLES: readonly Table[] = [
  {
    name: "sources",
    columns: ["number", "part_id", "bytes"],
    key: ["number"],
    from: `(select number, part_id, coalesce(
      (select sum(bytes) from log_usage where source = number), 0)::bigint as bytes
      from log_sources) as sources`,
  },
  {
    name: "lines",
    columns: [
      ...["seq", "source", "time_ns", "digest", "received_at", "level", "logger", "message"],
      ...["host", "caller", "stack", "fields"],
    ],
    key: ["seq"],
    from: `(select distinct on (source, time_ns, digest) * from log_lines
      order by source, time_ns, digest, seq) as lines`,
    sequence: "log_seq",
  },
];
