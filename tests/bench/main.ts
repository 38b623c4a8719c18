import process from "node:process";
import { benchAgentDownload } from "./agent_download.ts";
import { benchCapture } from "./capture.ts";
import { benchDataIngest } from "./data_ingest.ts";
import { benchDataQuery } from "./data_query.ts";
import { benchDeadReceivers, benchTriggerLatency } from "./triggers.ts";
import { benchColdStart, benchMemory, benchMemoryAfterLoad } from "./footprint.ts";
import { benchFragments } from "./fragments.ts";
import { benchJournal } from "./journal.ts";
import { benchLogFilter } from "./log_filter.ts";
import { benchLogIngest } from "./log_ingest.ts";
import { benchManaged } from "./managed.ts";
import { benchModules } from "./modules.ts";
import { Reporter } from "./report.ts";
import { benchResources } from "./resources.ts";
import { benchPolledSave, benchSaveToVisible } from "./save_to_visible.ts";
import { benchThroughput } from "./throughput.ts";
import { benchTraining } from "./training.ts";
import { benchWebRtc } from "./webrtc.ts";

const BENCHES: Readonly<Record<string, (reporter: Reporter) => Promise<void>>> = {
  save: benchSaveToVisible,
  poll: benchPolledSave,
  memory: benchMemory,
  afterload: benchMemoryAfterLoad,
  start: benchColdStart,
  throughput: benchThroughput,
  logs: benchLogIngest,
  logfilter: benchLogFilter,
  journal: benchJournal,
  download: benchAgentDownload,
  resources: benchResources,
  ingest: benchDataIngest,
  query: benchDataQuery,
  triggers: benchTriggerLatency,
  receivers: benchDeadReceivers,
  modules: benchModules,
  capture: benchCapture,
  training: benchTraining,
  fragments: benchFragments,
  managed: benchManaged,
  webrtc: benchWebRtc,
};

const HELP = `make bench [ARGS="NAME…"]

Measures cloud, agent and server as processes on this host and prints one JSON object for each
figure. Without names all are measured: ${Object.keys(BENCHES).join(", ")}.

  MACHINE_TEST_BINARIES   folder with compiled programs to measure in place of bin/
`;

async function main(names: string[]): Promise<number> {
  if (names.includes("--help") || names.includes("-h")) {
    process.stdout.write(HELP);
    return 0;
  }
  const unknown = names.find((name) => BENCHES[name] === undefined);
  if (unknown !== undefined) {
    process.stderr.write(`make bench: there is no "${unknown}"\n\n${HELP}`);
    return 2;
  }
  const reporter = await Reporter.create();
  for (const [name, bench] of Object.entries(BENCHES)) {
    if (names.length === 0 || names.includes(name)) await bench(reporter);
  }
  return 0;
}

process.exit(await main(Deno.args));
