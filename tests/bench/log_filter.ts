import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { configureLogging, getLogger } from "../../shared/log/configure.ts";
import type { LogLine, LogSink } from "../../shared/log/line.ts";
import { LogSpool } from "../../shared/log/spool.ts";
import { spoolSink } from "../../shared/log/spool_sink.ts";
import { GrpcClient } from "./grpc_client.ts";
import { percentile, type Reporter } from "./report.ts";

const LINES = 500_000;
const SPOOLED_LINES = 100_000;
const FLOOD_SERVER = fileURLToPath(new URL("./log_flood_server.ts", import.meta.url));
const PHASE_MS = 8_000;

/** What log lines cost by what becomes of them, and what calls feel of 50,000 a second. */
export async function benchLogFilter(reporter: Reporter): Promise<void> {
  reporter.note(`${LINES} log lines, dropped, held back and written …`);
  const folder = await Deno.makeTempDir({ prefix: "bench-log-" });
  try {
    await benchLines(reporter, folder);
    await benchCalls(reporter, folder);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

async function benchLines(reporter: Reporter, folder: string): Promise<void> {
  const spool = LogSpool.open(join(folder, "lines.db"), { host: "bench" });
  const toSpool = spoolSink(spool, "bench");
  let written = 0;
  const sink: LogSink = (line: LogLine) => {
    written++;
    toSpool(line);
  };
  const logging = await configureLogging({ output: { stdout: false }, sinks: [sink] });
  const log = getLogger("rdk.resource_manager.rdk:component:sensor/bench");
  const fields = { attempt: 3, reason: "no answer" };
  const perSecond = (count: number, say: (index: number) => void) => {
    for (let index = 0; index < 1_000; index++) say(-index - 1);
    const started = performance.now();
    for (let index = 0; index < count; index++) say(index);
    return count / ((performance.now() - started) / 1000);
  };
  const report = (name: string, rate: number) =>
    reporter.report(`log_lines_${name}`, rate, "lines/s");
  report("dropped_by_level", perSecond(LINES, (n) => log.debug(`value ${n}`, fields)));
  report("deduplicated", perSecond(LINES, () => log.info("cannot read the sensor")));
  report("deduplicated_fields", perSecond(LINES, () => log.info("cannot read the sensor", fields)));
  report("left_out", perSecond(LINES, (n) => log.info(`value ${n}`, fields)));
  await logging.close();
  // The whole way of a line that is written, without the pace that is kept otherwise.
  const line: LogLine = {
    time: new Date(),
    level: "info",
    logger: log.name,
    message: "value",
    fields,
    caller: { file: "bench/log_filter.ts", line: 1, functionName: "bench" },
  };
  report("to_spool", perSecond(SPOOLED_LINES, (n) => toSpool({ ...line, message: `value ${n}` })));
  reporter.note(`${written} lines were written in the flood`);
  spool.close();
}

/** GetReadings, one call at a time, while the same process logs nothing or 50,000 lines a second. */
async function benchCalls(reporter: Reporter, folder: string): Promise<void> {
  reporter.note("GetReadings beside 50000 log lines a second …");
  const child = new Deno.Command(Deno.execPath(), {
    args: ["run", "-A", "--no-check", FLOOD_SERVER, folder],
    stdin: "piped",
    stdout: "piped",
  }).spawn();
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  const commands = child.stdin.getWriter();
  const tell = (text: string) => commands.write(new TextEncoder().encode(`${text}\n`));
  try {
    const { port } = JSON.parse((await lines.read()).value ?? "") as { port: number };
    using grpc = new GrpcClient(`http://127.0.0.1:${port}`, "");
    const sensor = grpc.client(SensorService);
    const measure = async (durationMs: number): Promise<number[]> => {
      const samples: number[] = [];
      for (const end = performance.now() + durationMs; performance.now() < end;) {
        const started = performance.now();
        await sensor.getReadings({ name: "bench" });
        samples.push(performance.now() - started);
      }
      return samples;
    };
    await measure(PHASE_MS / 4);
    const idle = await measure(PHASE_MS);
    await tell("flood");
    const flooded = await measure(PHASE_MS);
    await tell("report");
    const { rate } = JSON.parse((await lines.read()).value ?? "") as { rate: number };
    reporter.report("log_flood", rate, "lines/s");
    for (const [name, samples] of Object.entries({ idle, flooded })) {
      reporter.report(`get_readings_${name}_p50`, percentile(samples, 0.5), "ms");
      reporter.report(`get_readings_${name}_p99`, percentile(samples, 0.99), "ms");
    }
  } finally {
    await commands.close();
    await child.status;
    await lines.cancel();
  }
}
