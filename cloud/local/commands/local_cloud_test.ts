import assert from "node:assert/strict";
import { UsageError } from "../../../shared/base/flags/flags.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createClient } from "@connectrpc/connect";
import { ReleaseService } from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { TestCloud } from "../../serve/cloud_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { openLocalCloud } from "./local_cloud.ts";
import { runCloudCommand as run } from "./commands_testing.ts";

const deps = { clock: systemClock, random: systemRandom, log: memoryLogger("machine-cloud") };

Deno.test("openLocalCloud() may everything in all organisations, or in the one that is named", async () => {
  await using cloud = await TestCloud.open();
  const acme = await cloud.bootstrap();
  await cloud.bootstrap({ organization: "Beta" });
  const namesIn = async (organization?: string) => {
    const options = { organization, packageLimitBytes: 1_000 };
    await using local = await openLocalCloud(cloud.dataDir, options, deps);
    const app = createClient(AppService, local.transport);
    const { organizations } = await app.listOrganizations({});
    const [{ id = "", name = "" } = {}] = organizations;
    await app.updateOrganization({ organizationId: id, name });
    return organizations.map(({ name }) => name).sort();
  };
  assert.deepEqual(await namesIn(), ["Acme", "Beta"]);
  assert.deepEqual(await namesIn("Beta"), ["Beta"]);
  assert.deepEqual(await namesIn(acme.org_id), ["Acme"]);
  await assert.rejects(namesIn("Gamma"), UsageError);
});

Deno.test("openLocalCloud() keeps releases before there is an organisation, and nothing else", async () => {
  await using cloud = await TestCloud.open();
  await using local = await openLocalCloud(cloud.dataDir, { packageLimitBytes: 1_000 }, deps);
  const { releases } = await createClient(ReleaseService, local.transport).listReleases({});
  assert.deepEqual(releases, []);
  await assert.rejects(
    run(["module", "list", "--data", cloud.dataDir]),
    /no organisation yet; make one with machine-cloud bootstrap/,
  );
});

Deno.test("what a command on a folder changes is in the audit log", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  await run(["module", "namespace", "--data", cloud.dataDir, "acme"]);
  const rows = await cloud.folder.database.queries.selectFrom("audit_entries").selectAll()
    .where("action", "like", "%UpdateOrganizationNamespace").execute();
  assert.deepEqual(rows.map((row) => [row.org_id, row.actor_type, row.actor]), [
    [made.org_id, "operator", "machine-cloud"],
  ]);
});

Deno.test("training jobs of a folder are listed, and what takes a serving cloud says so", async () => {
  await using cloud = await TestCloud.open();
  await cloud.bootstrap();
  const data = ["--data", cloud.dataDir];
  assert.match(await run(["training", "list", ...data]), /^no training jobs/);
  const refused =
    /start machine-cloud serve --data \S+, .* give this command --cloud http\S+ in place of --data/;
  await assert.rejects(run(["training", "containers", ...data]), refused);
  await assert.rejects(run(["training", "cancel", ...data, "x"]), refused);
});

Deno.test("lists in JSON have a line for each entry", async () => {
  await using cloud = await TestCloud.open();
  await cloud.bootstrap();
  for (const name of ["a", "b"]) await run(["dataset", "create", name, "--data", cloud.dataDir]);
  const text = await run(["datasets", "list", "--json", "--data", cloud.dataDir]);
  const names = text.trim().split("\n").map((line) => JSON.parse(line).name);
  assert.deepEqual(names.sort(), ["a", "b"]);
});
