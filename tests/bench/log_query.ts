import { DatabaseSync } from "node:sqlite";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { apiKey, TestCloud } from "../../cloud/serve/cloud_testing.ts";
import { percentile, type Reporter } from "./report.ts";

const LINES = 10_000_000;
/** One part has a fifth of them, about what it may keep; each other one has 10,000. */
const BUSY_SHARE = 0.2;
const LINES_OF_PART = 10_000;
const ASKED = 60;
/** 2 January 2026. */
const RECEIVED_MS = 1_767_312_000_000;
const START_NS = BigInt(RECEIVED_MS) * 1_000_000n;
const DAY_MS = 24 * 3_600_000;

/**
 * Pages of log lines out of 10 million, in the cloud's process without the network. One line in a
 * thousand is an error, one in a million says `overheated`.
 */
export async function benchLogQuery(reporter: Reporter, lines = LINES): Promise<void> {
  reporter.note(`${lines} log lines …`);
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const busy = Math.round(lines * BUSY_SHARE);
  await fill(cloud, { partId: made.part_id, busy, others: lines - busy });
  const app = cloud.client(AppService, apiKey(made));
  const at = (share: number) => {
    const ns = START_NS + BigInt(Math.round(busy * share)) * 1_000_000n;
    return { seconds: ns / 1_000_000_000n, nanos: Number(ns % 1_000_000_000n) };
  };
  const kinds = {
    newest: () => ({}),
    span: (n: number) => ({ start: at(n / ASKED / 2), end: at(n / ASKED / 2 + 0.01) }),
    errors: (n: number) => ({ errorsOnly: true, end: at(1 - n / ASKED / 2) }),
    text: (n: number) => ({ filter: "overheated", end: at(1 - n / ASKED / 2) }),
    absent: (n: number) => ({ filter: "nowhere", end: at(1 - n / ASKED / 2) }),
  } as const;
  for (const [kind, ask] of Object.entries(kinds)) {
    const samples: number[] = [];
    for (let n = -3; n < ASKED; n++) {
      const started = performance.now();
      await app.getRobotPartLogs({ id: made.part_id, limit: 100n, ...ask(Math.max(n, 0)) });
      if (n >= 0) samples.push(performance.now() - started); // The first three warm up.
    }
    reporter.report(`log_query_${kind}_p50`, percentile(samples, 0.5), "ms");
    reporter.report(`log_query_${kind}_p99`, percentile(samples, 0.99), "ms");
  }
  const started = performance.now();
  let looked = 0;
  for (let pageToken = ""; looked === 0 || pageToken !== ""; looked++) {
    const request = { id: made.part_id, limit: 100n, filter: "nowhere", pageToken };
    pageToken = (await app.getRobotPartLogs(request)).nextPageToken;
  }
  reporter.report("log_search_whole_part", performance.now() - started, "ms");
  reporter.report("log_search_whole_part_pages", looked, "calls");
}

interface Filling {
  readonly partId: string;
  readonly busy: number;
  readonly others: number;
}

/** Lines straight into the database; those of all parts lie among one another. */
async function fill(cloud: TestCloud, filling: Filling): Promise<void> {
  const { busy, others } = filling;
  const parts = Math.max(Math.ceil(others / LINES_OF_PART), 1);
  const every = Math.max(Math.round((busy + others) / busy), 1);
  const rows = `SELECT CASE WHEN i % ${every} = 0 THEN 1 ELSE 2 + i % ${parts} END,
      ${START_NS} + (i / ${every}) * 1000000, i, ${RECEIVED_MS},
      CASE WHEN i / ${every} % 1000 = 7 THEN 'error' ELSE 'info' END,
      'rdk.resource_manager.rdk:component:sensor/host',
      'reading ' || i || ' took longer than the one before' ||
        CASE WHEN i / ${every} % 1000000 = 500000 THEN ': the motor overheated' ELSE '' END, 'bench'`;
  const columns = "source, time_ns, digest, received_at, level, logger, message, host";
  const sources = [filling.partId, ...Array.from({ length: parts }, (_, n) => `other-${n}`)]
    .map((id, at) => `(${at + 1}, '${id}')`).join(", ");
  const statements = cloud.folder.database.direct();
  if (statements) {
    const day = Math.floor(RECEIVED_MS / DAY_MS);
    await statements.script(`INSERT INTO log_sources (number, part_id) VALUES ${sources};
      CREATE TABLE log_lines_${day} PARTITION OF log_lines FOR VALUES FROM (${day}) TO (${
      day + 1
    })`);
    await statements.alone(`INSERT INTO log_lines (day, ${columns}) SELECT ${day}, lines.* FROM
      generate_series(0::bigint, ${
      busy + others - 1
    }) AS n(i) CROSS JOIN LATERAL (${rows}) AS lines`);
    // As the database does on its own within minutes.
    await statements.alone("VACUUM ANALYZE log_lines");
    return;
  }
  const store = new DatabaseSync(cloud.path("logs.db"));
  store.exec("PRAGMA synchronous = OFF; PRAGMA cache_size = -500000");
  store.exec(`INSERT INTO sources (number, part_id) VALUES ${sources}`);
  store.prepare(`INSERT INTO lines (${columns})
    WITH RECURSIVE n(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?)
    ${rows} FROM n`).run(busy + others);
  store.close();
}
