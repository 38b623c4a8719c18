/**
 * Serves a sensor and, on request, logs 50,000 lines a second, as a driver out of control does:
 * a third of them below the level, a third always the same, a third each time another. What is
 * written goes to a file and to the queue for the cloud.
 *
 * Reads commands on standard input (`flood`, `report`), answers with one JSON object a line, and
 * ends with its input.
 */
import { join } from "node:path";
import process from "node:process";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { configureLogging, getLogger } from "../../shared/log/configure.ts";
import { LogSpool } from "../../shared/log/spool.ts";
import { spoolSink } from "../../shared/log/spool_sink.ts";
import { LineSplitter } from "../../shared/base/process/line_splitter.ts";
import { RpcRouter } from "../../shared/rpc/server/router.ts";
import { RpcServer } from "../../shared/rpc/server/server.ts";

const LINES_PER_MS = 50;

const folder = Deno.args[0] ?? ".";
const spool = LogSpool.open(join(folder, "flood.db"), { host: "bench" });
const logging = await configureLogging({
  output: { stdout: false, file: join(folder, "flood.log") },
  sinks: [spoolSink(spool, "bench")],
});
const log = getLogger("rdk.resource_manager.rdk:component:sensor/bench");
const value = (number: number) => ({ kind: { case: "numberValue" as const, value: number } });
const server = await RpcServer.start({
  router: new RpcRouter().service(SensorService, {
    getReadings: () => ({ readings: { a: value(1), b: value(2), c: value(3) } }),
  }),
  interceptors: [],
  http: () => new Response("", { status: 404 }),
  listen: { hostname: "127.0.0.1", port: 0 },
});
say({ port: server.address.port });

let floodFrom = Infinity;
let said = 0;
const flood = setInterval(() => {
  const wanted = (performance.now() - floodFrom) * LINES_PER_MS;
  for (; said < wanted; said++) {
    if (said % 3 === 0) log.debug(`value ${said}`);
    else if (said % 3 === 1) log.info("cannot read the sensor", { reason: "no answer" });
    else log.info(`value ${said}`, { reason: "no answer" });
  }
}, 1);

const commands = new LineSplitter(100, (command) => {
  if (command === "flood") floodFrom = performance.now();
  else say({ rate: said / ((performance.now() - floodFrom) / 1000) });
});
for await (const chunk of Deno.stdin.readable) commands.push(chunk);
clearInterval(flood);
await server.close({ graceMs: 100 });
await logging.close();
spool.close();

function say(answer: unknown): void {
  process.stdout.write(`${JSON.stringify(answer)}\n`);
}
