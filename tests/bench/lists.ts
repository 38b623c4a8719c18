import { join } from "node:path";
import { FleetService } from "../../shared/gen/machine/cloud/v1/fleet_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { openDataFolder } from "../../cloud/storage/data_folder/data_folder.ts";
import { systemRandom } from "../../cloud/storage/keys/random.ts";
import { Rig } from "../e2e/rig.ts";
import { copyMachine } from "./copied_machines.ts";
import { processorMs } from "./footprint.ts";
import { GrpcClient } from "./grpc_client.ts";
import { percentile, type Reporter } from "./report.ts";

const MACHINES = 10_000;
/** As many pages as there are of 100 machines. */
const CALLS = 100;
const LONG_CALLS = 20;

/** Lists of a cloud with 10,000 machines: by page, by name, and those that have no pages. */
export async function benchLists(reporter: Reporter, machines = MACHINES): Promise<void> {
  reporter.note(`${machines} machines …`);
  await using rig = await Rig.create();
  await rig.bootstrap({});
  const folder = await openDataFolder(join(rig.dir, "cloud"), systemRandom);
  await copyMachine(folder.database.queries, machines);
  // As PostgreSQL does on its own within a minute.
  await folder.database.direct()?.script("analyze machines, parts, part_revisions");
  await folder.database.close();
  const cloud = await rig.startCloud();
  const { accessToken } = await rig.cloud();
  using grpc = new GrpcClient(rig.cloudUrl, accessToken);
  const app = grpc.client(AppService);
  const fleet = grpc.client(FleetService);
  const { org_id: organizationId, location_id: locationId } = rig.bootstrapped;
  const page = async (pageLimit: bigint, pageToken: string) =>
    (await fleet.listMachines({ organizationId, pageLimit, pageToken })).nextPageToken;
  let next = "";
  const lists: Readonly<Record<string, readonly [number, () => Promise<unknown>]>> = {
    // From the first page to the last.
    page_of_100: [CALLS, async () => next = await page(100n, next)],
    // As `machine machines list` asks.
    all_by_page: [LONG_CALLS, async () => {
      for (let token = await page(1_000n, ""); token !== "";) token = await page(1_000n, token);
    }],
    one_by_name: [CALLS, () => fleet.listMachines({ organizationId, called: ["demo"] })],
    all_summaries: [
      LONG_CALLS,
      () => app.listMachineSummaries({ organizationId, limit: machines }),
    ],
    robots: [LONG_CALLS, () => app.listRobots({ locationId })],
  };
  for (const [name, [calls, list]] of Object.entries(lists)) {
    const samples: number[] = [];
    const before = await processorMs(cloud.pid);
    for (let n = 0; n < calls; n++) {
      const started = performance.now();
      await list();
      samples.push(performance.now() - started);
    }
    const each = (await processorMs(cloud.pid) - before) / calls;
    reporter.report(`list_${name}_p50`, percentile(samples, 0.5), "ms");
    reporter.report(`list_${name}_p99`, percentile(samples, 0.99), "ms");
    reporter.report(`list_${name}_processor`, each, "ms");
  }
}
