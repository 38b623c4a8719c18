import { join } from "node:path";
import { SensorService } from "../../shared/gen/viam/component/sensor/v1/sensor_pb.ts";
import { buildMicro } from "../../tools/micro/build.ts";
import { noSourcesBecause } from "../../tools/micro/sources.ts";
import { ownTarget } from "../../tools/micro/targets.ts";
import { findZig } from "../../tools/micro/zig.ts";
import { ROOT } from "../../tools/programs.ts";
import { signIn } from "../../tools/run/cloud_api.ts";
import { freePort } from "../../shared/test_tools/free_port.ts";
import { Program } from "../e2e/program.ts";
import { eventually, Rig } from "../e2e/rig.ts";
import { residentMiB } from "./footprint.ts";
import { findGhz, runGhz } from "./ghz.ts";
import { benchRelay } from "./micro_relay.ts";
import { percentile, type Reporter } from "./report.ts";
import { GET_READINGS, runOwnClient } from "./throughput.ts";

const STARTS = 10;
const SETTLE_MS = 15_000;
const CHANGES = 10;
const RUN_S = 10;
const DEADLINE_MS = 60_000;

const COMPONENTS = ["fake", "b", "c", "d", "e"].map((name) => ({
  ...{ name, api: "rdk:component:sensor", model: "rdk:builtin:fake" },
}));

/** machine-micro-server, compiled: its start, its memory idle and after load, GetReadings. */
export async function benchMicro(reporter: Reporter): Promise<void> {
  const missing = await noSourcesBecause();
  if (missing) return reporter.note(`machine-micro-server is not measured: ${missing}`);
  const options = { root: ROOT, zig: await findZig(ROOT), version: "0.0.0", commit: "bench" };
  const output = join(ROOT, ".tools", "micro", "bench", "machine-micro-server");
  const { file } = await buildMicro(ownTarget(), { ...options, output });
  await using rig = await Rig.create();
  const cloud = await rig.startCloud();
  await rig.saveConfig({ components: COMPONENTS });
  const port = freePort();
  const start = () => {
    const micro = Program.start({
      name: "machine-micro-server",
      command: file,
      args: [
        ...["-config", rig.credentialsFile, "-state", join(rig.dir, "micro")],
        ...["-listen", `127.0.0.1:${port}`],
      ],
    });
    rig.programs.push(micro);
    return micro;
  };

  reporter.note(`${STARTS} starts of machine-micro-server …`);
  const samples: number[] = [];
  for (let n = -1; n < STARTS; n++) {
    const started = performance.now();
    const micro = start();
    await micro.waitForLine(/serving: port/, DEADLINE_MS);
    if (n >= 0) samples.push(performance.now() - started); // The first fills the caches.
    await micro.stop(5_000);
  }
  reporter.report("cold_start_micro_p50", percentile(samples, 0.5), "ms");
  reporter.report("cold_start_micro_max", percentile(samples, 1), "ms");

  const micro = start();
  const key = { id: rig.bootstrapped.api_key_id, key: rig.bootstrapped.api_key };
  const url = `http://127.0.0.1:${port}`;
  const session = await eventually("signed in", () => signIn(url, key));
  await eventually("a reading", () => session.client(SensorService).getReadings({ name: "fake" }));
  await new Promise((done) => setTimeout(done, SETTLE_MS));
  reporter.report("rss_idle_micro", await residentMiB(micro.pid), "MiB");

  await reportChanges(reporter, rig, micro);
  const ghz = await findGhz(reporter);
  const { accessToken } = session;
  for (const inFlight of [16, 1]) {
    const load = { ...GET_READINGS, port, accessToken, inFlight, seconds: RUN_S };
    const suffix = ghz === undefined ? "_own_client" : "";
    const rate = ghz
      ? await runGhz(ghz, load)
      : await runOwnClient(url, accessToken, inFlight, RUN_S);
    reporter.report(`get_readings_micro_${inFlight}${suffix}`, rate, "calls/s");
  }
  await new Promise((done) => setTimeout(done, SETTLE_MS));
  reporter.report("rss_after_load_micro", await residentMiB(micro.pid), "MiB");
  await benchRelay(reporter, rig, cloud.pid);
  reporter.report("rss_after_relay_micro", await residentMiB(micro.pid), "MiB");
}

/** From before a configuration is saved until the device says that it has applied it. */
async function reportChanges(reporter: Reporter, rig: Rig, micro: Program): Promise<void> {
  const applied = () => micro.lines.filter((line) => line.includes("applied revision")).length;
  const samples: number[] = [];
  for (let n = 0; n < CHANGES; n++) {
    const [before, started] = [applied(), performance.now()];
    const attributes = { readings: { n } };
    await rig.saveConfig({ components: COMPONENTS.map((each) => ({ ...each, attributes })) });
    while (applied() === before) {
      if (performance.now() - started > DEADLINE_MS) throw new Error("no change is applied");
      await new Promise((done) => setTimeout(done, 1));
    }
    samples.push(performance.now() - started);
  }
  reporter.report("save_applied_micro_p50", percentile(samples, 0.5), "ms");
  reporter.report("save_applied_micro_max", percentile(samples, 1), "ms");
}
