import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { startCloud } from "../../serve/cloud.ts";
import { runCloudCommand } from "./commands_testing.ts";

const deps = { clock: systemClock, random: systemRandom };

/** Runs a command line; `env` is all of its environment. */
function run(argv: readonly string[], env: Record<string, string> = {}): Promise<string> {
  return runCloudCommand(["secret", ...argv], { env });
}

const ids = (table: string) =>
  table.trimEnd().split("\n").slice(1).map((line) => line.split(" ")[0]!);

Deno.test("secret create and delete replace a part's secret beside a cloud that serves", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const place = ["--data", cloud.dataDir];
  const before = ids(await run(["list", ...place]));
  assert.equal(before.length, 1);
  const secret = (await run(["create", ...place])).trimEnd();
  const both = ids(await run(["list", ...place]));
  assert.deepEqual([both.length, both[1]], [2, before[0]]);
  await assert.rejects(() => run(["create", ...place]), /has 2 secrets; delete one of them first/);
  await cloud.token({ ...partSecret(made), payload: secret });

  assert.match(await run(["delete", ...place, before[0]!]), /counts no more/);
  const { code } = await failure(cloud.token(partSecret(made)));
  assert.equal(code, Code.Unauthenticated);
  await assert.rejects(() => run(["delete", ...place, both[0]!]), /the only secret of this part/);
  await assert.rejects(() => run(["delete", ...place, "other"]), /no secret with id "other"/);
  await assert.rejects(() => run(["list", ...place, "--machine", "none"]), /no machine fits/);
});

Deno.test("secret create makes a location's secret, also over the network", async () => {
  await using folder = await TestCloud.open();
  const made = await folder.bootstrap();
  const cloud = await startCloud({
    dataDir: folder.dataDir,
    listen: { hostname: "127.0.0.1", port: 0 },
    domain: "machine.internal",
    hostname: "localhost",
    packageLimitBytes: 1_000_000,
    notifications: { allowPrivateWebhooks: true },
  }, { ...deps, log: memoryLogger("machine-cloud") });
  try {
    const env = { MACHINE_CLOUD_API_KEY_ID: made.api_key_id, MACHINE_CLOUD_API_KEY: made.api_key };
    const place = ["--cloud", cloud.url, "--location", made.location_id];
    const payload = (await run(["create", ...place], env)).trimEnd();
    assert.equal(ids(await run(["list", ...place], env)).length, 2);
    await folder.services.changes.drain();
    await folder.token({ type: "robot-location-secret", entity: made.fqdn, payload });
    const wrong = { ...env, MACHINE_CLOUD_API_KEY: "wrong" };
    await assert.rejects(() => run(["list", ...place], wrong), /does not take the API key/);
  } finally {
    await cloud.close({ graceMs: 100 });
  }
});
