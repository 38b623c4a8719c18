import assert from "node:assert/strict";
import { join } from "node:path";
import { createClient } from "@connectrpc/connect";
import { UsageError } from "../../../shared/base/flags/flags.ts";
import { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { DataSyncService } from "../../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createGrpcTransport } from "../../../shared/rpc/client/grpc_transport.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { bootstrapFolder } from "../bootstrap/bootstrap_testing.ts";
import { NOON, uploadTemperatures } from "../../data/ingest/data_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { startCloud } from "../../serve/cloud.ts";
import { partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { runCloudCommand } from "./commands_testing.ts";

const deps = { clock: systemClock, random: systemRandom };

/** Runs a command line; `env` is all of its environment. */
function run(argv: readonly string[], env: Record<string, string> = {}): Promise<string> {
  return runCloudCommand(["data", ...argv], { env });
}

const CSV = [
  "time_received,time_requested,tags,readings.temperature",
  "2026-01-02T12:00:00.005000Z,2026-01-02T12:00:00.000000Z,,1.5",
  "2026-01-02T12:00:01.005000Z,2026-01-02T12:00:01.000000Z,,2.5",
  "",
].join("\r\n");

Deno.test("data sources, export and settings work on a folder beside a running cloud", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const data = ["--data", cloud.dataDir];
  assert.equal(await run(["sources", ...data]), "no data was captured\n");
  assert.equal(await run(["sources", ...data, "--part", "demo"]), "no data was captured\n");
  await assert.rejects(run(["sources", ...data, "--part", "x"]), /no part or machine "x"/);
  const sync = cloud.client(DataSyncService, partSecret(made));
  await uploadTemperatures(sync, made.part_id, NOON, [1.5, 2.5]);

  assert.match(
    await run(["sources", ...data]),
    /^demo +demo-main +climate +rdk:component:sensor +Readings +2026-01-02T12:00:00 +2026-01-02T12:00:01$/m,
  );
  assert.match(await run(["sources", ...data, "--part", "demo"]), /^demo +demo-main +climate/m);
  assert.equal(await run(["export", ...data, "--resource", "climate"]), CSV);
  const later = ["--from", "2026-01-02T12:00:01Z", "--format", "jsonl"];
  const lines = (await run(["export", ...data, "--resource", "climate", ...later])).split("\n");
  assert.equal(lines.length, 2);
  const path = join(cloud.dataDir, "out.csv");
  assert.match(
    await run(["export", ...data, "--resource", "climate", "--out", path]),
    /^\d+ bytes in .*out\.csv\n$/,
  );
  assert.equal(await Deno.readTextFile(path), CSV);

  assert.match(await run(["settings", ...data]), /^kept for +ever\nquota +none\nreadings +2, /);
  const limits = ["--retention-days", "30", "--quota-mib", "500"];
  assert.match(
    await run(["settings", ...data, ...limits]),
    /^kept for +30 days\nquota +500\.0 MiB/,
  );
  assert.match(
    await run(["settings", ...data, "--quota-mib", "none"]),
    /^kept for +30 days\nquota +none/,
  );
  assert.match(await run(["settings", ...data, "--retention-days", "forever"]), /^kept for +ever/);
  const archived = await run(["settings", ...data, "--archive-after-days", "7"]);
  assert.match(archived, /\nold readings +to files after 7 days\n/);
  const both = await run(["settings", ...data, "--quota-mib", "9"]);
  assert.match(both, /\nold readings +to files after 7 days\n/);
  const never = await run(["settings", ...data, "--archive-after-days", "never"]);
  assert.match(never, /\nold readings +stay\n/);
});

Deno.test("data export names what is wrong with the command line", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ machine: "other" });
  for (const part of [made, other]) {
    const sync = cloud.client(DataSyncService, partSecret(part));
    await uploadTemperatures(sync, part.part_id, NOON, [1]);
  }
  const data = ["--data", cloud.dataDir];
  const cases: [string[], RegExp][] = [
    [["export", ...data, "--resource", "none"], /no Readings of "none" was captured; there is cl/],
    [["export", ...data, "--resource", "climate"], /several parts have it; name one with --part: /],
    [["export", ...data, "--resource", "climate", "--part", "x"], /no part or machine "x"/],
    [["export", ...data, "--resource", "climate", "--from", "noon"], /^--from: "noon" is no time/],
    [["settings", ...data, "--quota-mib", "much"], /^--quota-mib: "much" is neither a number nor/],
    [["sources"], /name the cloud/],
  ];
  for (const [argv, message] of cases) {
    await assert.rejects(run(argv), (error: unknown) => {
      assert.ok(error instanceof UsageError);
      assert.match(error.message, message);
      return true;
    });
  }
  const path = join(cloud.dataDir, "none", "out.csv");
  const chosen = ["--part", "demo-main", "--resource", "climate", "--out", path];
  await assert.rejects(run(["export", ...data, ...chosen]), /out\.csv/);
});

Deno.test("data commands work over the network with an API key", async () => {
  const dir = await Deno.makeTempDir({ prefix: "machine-cloud-data-command-" });
  const made = await bootstrapFolder(dir);
  const cloud = await startCloud({
    dataDir: dir,
    listen: { hostname: "127.0.0.1", port: 0 },
    domain: "machine.internal",
    hostname: "localhost",
    packageLimitBytes: 1_000_000,
  }, { ...deps, log: memoryLogger("machine-cloud") });
  try {
    const plain = createGrpcTransport({ baseUrl: cloud.url });
    const { accessToken } = await createClient(AuthService, plain).authenticate({
      entity: made.part_id,
      credentials: { type: "robot-secret", payload: made.part_secret },
    });
    plain.close();
    const transport = createGrpcTransport({
      baseUrl: cloud.url,
      interceptors: [(next) => (request) => {
        request.header.set("authorization", `Bearer ${accessToken}`);
        return next(request);
      }],
    });
    await uploadTemperatures(createClient(DataSyncService, transport), made.part_id, NOON, [
      1.5,
      2.5,
    ]);
    transport.close();

    const place = ["--cloud", cloud.url];
    const env = {
      MACHINE_CLOUD_API_KEY_ID: made.api_key_id,
      MACHINE_CLOUD_API_KEY: made.api_key,
    };
    assert.match(await run(["sources", ...place], env), /demo +demo-main +climate/);
    assert.equal(await run(["export", ...place, "--resource", "climate"], env), CSV);
    assert.match(await run(["settings", ...place, "--quota-mib", "7"], env), /quota +7\.0 MiB/);
    const wrong = { ...env, MACHINE_CLOUD_API_KEY: "wrong" };
    await assert.rejects(run(["sources", ...place], wrong), /credentials|API key/);
  } finally {
    await cloud.close({ graceMs: 1_000 });
    await Deno.remove(dir, { recursive: true });
  }
});
