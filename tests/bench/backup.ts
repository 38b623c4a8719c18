import { join } from "node:path";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { Rig } from "../e2e/rig.ts";
import { GrpcClient } from "./grpc_client.ts";
import { percentile, type Reporter } from "./report.ts";

const MEBIBYTES = 1_024;
const QUIET_S = 10;
/** Between two calls: a second has 50 of each kind. */
const PAUSE_MS = 20;

/**
 * Reads and saves of a cloud without and with a backup of 1 GiB that is being made of it, which is
 * a process of its own. Most of it are files of a mebibyte.
 */
export async function benchBackup(reporter: Reporter, mebibytes = MEBIBYTES): Promise<void> {
  reporter.note(`a backup of ${mebibytes} MiB …`);
  await using rig = await Rig.create();
  await rig.startCloud();
  const folder = join(rig.dir, "cloud", "data-files");
  const bytes = new Uint8Array(2 ** 20);
  for (let n = 0; n < mebibytes; n++) {
    crypto.getRandomValues(bytes.subarray(0, 65_536));
    await Deno.writeFile(join(folder, crypto.randomUUID()), bytes);
  }
  // What was just written is not to be what slows the first calls down.
  await new Deno.Command("sync").output();
  using grpc = new GrpcClient(rig.cloudUrl, (await rig.cloud()).accessToken);
  const app = grpc.client(AppService);
  const calls = {
    read: async () => void await app.getRobotPart({ id: rig.partId }),
    save: async (n: number) => {
      await app.updateRobotPart({ id: rig.partId, name: "bench-main", robotConfig: { n } });
    },
  };
  const measure = async (until: Promise<unknown>) => {
    let isOver = false;
    void until.finally(() => isOver = true);
    const samples = { read: [] as number[], save: [] as number[] };
    for (let n = 0; !isOver; n++) {
      for (const kind of ["read", "save"] as const) {
        const started = performance.now();
        await calls[kind](Math.random());
        samples[kind].push(performance.now() - started);
      }
      await new Promise((done) => setTimeout(done, PAUSE_MS));
    }
    return samples;
  };
  await measure(new Promise((done) => setTimeout(done, 2_000)));
  const quiet = await measure(new Promise((done) => setTimeout(done, QUIET_S * 1_000)));
  const started = performance.now();
  const running = rig.run("machine-cloud", [
    "backup",
    join(rig.dir, "backup.tar"),
    ...["--data", join(rig.dir, "cloud")],
  ]);
  const busy = await measure(running);
  const { code, stderr } = await running;
  if (code !== 0) throw new Error(stderr);
  reporter.report("backup_duration", (performance.now() - started) / 1_000, "s");
  for (const kind of ["read", "save"] as const) {
    for (const [when, samples] of [["quiet", quiet], ["backup", busy]] as const) {
      reporter.report(`backup_${kind}_p50_${when}`, percentile(samples[kind], 0.5), "ms");
      reporter.report(`backup_${kind}_p99_${when}`, percentile(samples[kind], 0.99), "ms");
    }
  }
}
