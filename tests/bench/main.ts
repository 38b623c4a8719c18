import process from "node:process";
import { PostgresServer } from "../../shared/test_tools/postgres_server.ts";
import { benchAgentDownload } from "./agent_download.ts";
import { benchArchive } from "./archive.ts";
import { benchBackup } from "./backup.ts";
import { benchCapture } from "./capture.ts";
import { benchDataIngest } from "./data_ingest.ts";
import { benchDataQuery } from "./data_query.ts";
import { benchDeadReceivers, benchTriggerLatency } from "./triggers.ts";
import { benchColdStart, benchMemory, benchMemoryAfterLoad } from "./footprint.ts";
import { benchFleet } from "./fleet.ts";
import { benchFragments } from "./fragments.ts";
import { benchJournal } from "./journal.ts";
import { benchLists } from "./lists.ts";
import { benchLogFilter } from "./log_filter.ts";
import { benchLogIngest } from "./log_ingest.ts";
import { benchLogQuery } from "./log_query.ts";
import { benchManaged } from "./managed.ts";
import { benchMicro } from "./micro.ts";
import { benchModules } from "./modules.ts";
import { benchNodes } from "./nodes.ts";
import { benchPositionLoop } from "./position_loop.ts";
import { benchRemotes } from "./remotes.ts";
import { Reporter } from "./report.ts";
import { benchResources } from "./resources.ts";
import { benchRetention } from "./retention.ts";
import { benchPolledSave, benchSaveToVisible } from "./save_to_visible.ts";
import { benchSignIn } from "./sign_in.ts";
import { benchThroughput } from "./throughput.ts";
import { benchTraining } from "./training.ts";
import { benchVideo } from "./video.ts";
import { benchVision } from "./vision.ts";
import { benchWebRtc } from "./webrtc.ts";

const BENCHES: Readonly<Record<string, (reporter: Reporter, size?: number) => Promise<void>>> = {
  save: benchSaveToVisible,
  poll: benchPolledSave,
  memory: benchMemory,
  afterload: benchMemoryAfterLoad,
  start: benchColdStart,
  throughput: benchThroughput,
  logs: benchLogIngest,
  logquery: benchLogQuery,
  logfilter: benchLogFilter,
  journal: benchJournal,
  download: benchAgentDownload,
  resources: benchResources,
  ingest: benchDataIngest,
  query: benchDataQuery,
  archive: benchArchive,
  retention: benchRetention,
  triggers: benchTriggerLatency,
  receivers: benchDeadReceivers,
  micro: benchMicro,
  modules: benchModules,
  capture: benchCapture,
  training: benchTraining,
  fleet: benchFleet,
  lists: benchLists,
  backup: benchBackup,
  nodes: benchNodes,
  fragments: benchFragments,
  managed: benchManaged,
  "sign-in": benchSignIn,
  remotes: (reporter) => benchRemotes(reporter, { webrtc: false }),
  "remotes-webrtc": (reporter) => benchRemotes(reporter, { webrtc: true }),
  video: benchVideo,
  vision: benchVision,
  webrtc: benchWebRtc,
  "position-loop": benchPositionLoop,
};

/** They have a PostgreSQL of their own. */
const WITHOUT_POSTGRES = new Set(["nodes"]);

const HELP = `make bench [ARGS="NAME…"]

Measures cloud, agent and server as processes on this host and prints one JSON object for each
figure. Without names all are measured; NAME=NUMBER takes another size, where a bench has one: ${
  Object.keys(BENCHES).join(", ")
}.

  --postgres              the cloud's database is a PostgreSQL that is started for it; figures say so
  MACHINE_TEST_BINARIES   folder with compiled programs to measure in place of bin/
`;

async function main(args: string[]): Promise<number> {
  const isPostgres = args.includes("--postgres");
  const names = args.filter((text) => text !== "--postgres");
  if (names.includes("--help") || names.includes("-h")) {
    process.stdout.write(HELP);
    return 0;
  }
  const asked = new Map(names.map((text) => {
    const [name = "", size] = text.split("=");
    return [name, size === undefined ? undefined : Number(size)];
  }));
  const unknown = [...asked.keys()].find((name) => BENCHES[name] === undefined);
  if (unknown !== undefined) {
    process.stderr.write(`make bench: there is no "${unknown}"\n\n${HELP}`);
    return 2;
  }
  const wrong = [...asked.values()].find((size) => size !== undefined && !(size >= 1));
  if (wrong !== undefined) {
    process.stderr.write("make bench: a size is a number from 1 on\n");
    return 2;
  }
  const other = isPostgres
    ? [...asked.keys()].find((name) => WITHOUT_POSTGRES.has(name))
    : undefined;
  if (other !== undefined || (isPostgres && asked.size === 0)) {
    const which = other === undefined ? "names" : `another name than ${other}`;
    process.stderr.write(`make bench: --postgres takes ${which}\n`);
    return 2;
  }
  const reporter = await Reporter.create(isPostgres ? "_postgres" : "");
  await using _server = isPostgres ? await servePostgres() : undefined;
  for (const [name, bench] of Object.entries(BENCHES)) {
    if (names.length === 0 || asked.has(name)) await bench(reporter, asked.get(name));
  }
  return 0;
}

/** For programs that are started from now on; each data folder has a schema of its own. */
async function servePostgres(): Promise<PostgresServer> {
  const server = await PostgresServer.start();
  process.env["MACHINE_CLOUD_DATABASE"] = server.address("schema=bench{folder}");
  return server;
}

process.exit(await main(Deno.args));
