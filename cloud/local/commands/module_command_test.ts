import assert from "node:assert/strict";
import { createClient } from "@connectrpc/connect";
import { AuthService } from "../../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createWebTransport } from "../../../shared/rpc/client/fallback/web_transport.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import type { BootstrapResult } from "../bootstrap/bootstrap.ts";
import { bootstrapFolder } from "../bootstrap/bootstrap_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { uploadModule } from "../../registry/packages/packages_testing.ts";
import { startCloud } from "../../serve/cloud.ts";
import { TestCloud } from "../../serve/cloud_testing.ts";
import { runCloudCommand } from "./commands_testing.ts";
import { writeArchive } from "../../../shared/commands/upload/archive_testing.ts";

const deps = { clock: systemClock, random: systemRandom };
const META = {
  module_id: "acme:weather",
  description: "Weather stations",
  models: [{ api: "rdk:component:sensor", model: "acme:weather:station" }],
  entrypoint: "./bin/weather",
  first_run: "setup.sh",
};
const FILES = { "bin/weather": "#!/bin/sh\n", "setup.sh": "", "meta.json": JSON.stringify(META) };

/** Runs a command line; `env` is all of its environment. */
function run(argv: readonly string[], env: Record<string, string> = {}): Promise<string> {
  return runCloudCommand(argv, { env });
}

Deno.test("module upload, list and remove work on a data folder that is being served", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const data = ["--data", cloud.dataDir];
  const file = await writeArchive(cloud.dataDir, "m.tar.gz", FILES);

  assert.match(await run(["module", "list", ...data]), /^no modules; upload one/);
  assert.equal(
    await run(["module", "namespace", ...data, "acme"]),
    "modules of Acme are acme:NAME now\n",
  );
  const told = JSON.parse(
    await run(["module", "upload", ...data, "--json", "--version", "1.0.0", file]),
  );
  assert.deepEqual(told, {
    module_id: "acme:weather",
    version: "1.0.0",
    platform: "any",
    entrypoint: "bin/weather",
    size: (await Deno.stat(file)).size,
  });
  const more = ["--name", "Acme:weather", "--version", "1.1.0", "--platform", "linux/arm64"];
  assert.match(
    await run(["module", "upload", ...data, ...more, file]),
    /^uploaded acme:weather 1\.1\.0 for linux\/arm64, \d+ B\n$/,
  );
  const { module } = await cloud.app(made).getModule({ moduleId: "acme:weather" });
  assert.equal(module?.description, META.description);
  assert.equal(module.firstRun, "setup.sh");
  assert.deepEqual(module.models.map(({ model }) => model), ["acme:weather:station"]);
  const list = await run(["module", "list", ...data, "--org", made.org_id]);
  assert.deepEqual(list.split("\n").map((line) => line.split(/ {2,}/).slice(0, 4)), [
    ["MODULE", "VERSION", "PLATFORMS", "VISIBLE TO"],
    ["acme:weather", "1.1.0", "linux/arm64", "organisation"],
    ["acme:weather", "1.0.0", "any", "organisation"],
    [""],
  ]);
  const remove = ["module", "remove", ...data, "--name", "acme:weather"];
  assert.equal(await run([...remove, "--version", "1.0.0"]), "removed acme:weather 1.0.0\n");
  assert.equal(await run(remove), "removed acme:weather\n");
  assert.deepEqual((await cloud.app(made).listModules({})).modules, []);
});

Deno.test("module upload says what is wrong before anything is made", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const data = ["--data", cloud.dataDir];
  const upload = ["module", "upload", ...data];
  const file = await writeArchive(cloud.dataDir, "m.tar.gz", FILES);
  const bare = await writeArchive(cloud.dataDir, "bare.tar.gz", { "bin/run": "" });
  const name = ["--name", "Acme:m"];
  const version = ["--version", "1.0.0"];
  const cases: [argv: string[], reason: RegExp][] = [
    [[...upload, "--version", "1", file], /--version: "1" is no version/],
    [[...upload, ...version, bare], /--name is missing: .*bare\.tar\.gz has no meta\.json/],
    [[...upload, ...version, ...name, bare], /--entrypoint is missing: /],
    [
      [...upload, ...version, ...name, "--entrypoint", "run", bare],
      /holds no file "run"; did you mean bin\/run\?/,
    ],
    [[...upload, ...version, ...name, "--entrypoint", "../run", bare], /leaves the archive/],
    [
      [...upload, ...version, file],
      /no organisation called "acme"; .*Acme \(.*module namespace sets/,
    ],
    [[...upload, ...version, "--name", "a b", file], /--name: "a b" is no name/],
    [["module", "upload", ...version, file], /--data DIR of one on this host, or --cloud/],
    [[...upload, ...version, "--cloud", "http://x", file], /--data and --cloud do not go together/],
    [["module", "list", "--cloud", "http://127.0.0.1:1"], /needs an API key/],
    [["module", "remove", ...data, "--name", "Acme:m"], /no registry item with id/],
    [["module", "namespace", ...data, "Not Good"], /is no namespace; allowed are/],
  ];
  for (const [argv, reason] of cases) {
    await assert.rejects(async () => await run(argv), reason, argv.join(" "));
  }
  assert.deepEqual((await cloud.app(made).listModules({})).modules, []);
  await cloud.bootstrap({ organization: "Second" });
  await assert.rejects(run(["module", "list", ...data]), /several organisations are there; name/);
});

Deno.test("module upload works over the network, and the wrong key is told", () =>
  withCloud(async ({ url, dir, made }) => {
    const file = await writeArchive(dir, "m.tar.gz", FILES);
    const key = {
      MACHINE_CLOUD_API_KEY_ID: made.api_key_id,
      MACHINE_CLOUD_API_KEY: made.api_key,
    };
    const cloud = ["--cloud", url];
    const name = ["--name", `${made.org_id}:weather`];
    const upload = ["module", "upload", ...cloud, ...name, "--version", "1.0.0", file];
    const told = JSON.parse(await run([...upload, "--json"], key));
    assert.equal(told.module_id, `${made.org_id}:weather`);
    await assert.rejects(run(upload, key), /weather has 1\.0\.0 for any already/);
    assert.match(await run(["module", "list", ...cloud], key), /weather +1\.0\.0 +any/);
    const wrong = { ...key, MACHINE_CLOUD_API_KEY: "wrong" };
    await assert.rejects(run(["module", "list", ...cloud], wrong), /does not take the API key/);
  }));

Deno.test("UploadModuleFile() works over gRPC-web, as older runtimes speak it", () =>
  withCloud(async ({ url, made }) => {
    const plain = createWebTransport({ baseUrl: url });
    const credentials = { type: "api-key", payload: made.api_key };
    const { accessToken } = await createClient(AuthService, plain)
      .authenticate({ entity: made.api_key_id, credentials });
    plain.close();
    const transport = createWebTransport({
      baseUrl: url,
      interceptors: [(next) => (request) => {
        request.header.set("authorization", `Bearer ${accessToken}`);
        return next(request);
      }],
    });
    await uploadModule(transport, `${made.org_id}:m`);
    const { modules } = await createClient(AppService, transport).listModules({});
    assert.equal(modules[0]?.versions[0]?.version, "1.0.0");
    transport.close();
  }));

async function withCloud(
  work: (rig: { url: string; dir: string; made: BootstrapResult }) => Promise<void>,
) {
  const dir = await Deno.makeTempDir({ prefix: "machine-cloud-module-" });
  const made = await bootstrapFolder(dir);
  const cloud = await startCloud({
    dataDir: dir,
    listen: { hostname: "127.0.0.1", port: 0 },
    domain: "machine.internal",
    hostname: "localhost",
    packageLimitBytes: 1_000_000,
  }, { ...deps, log: memoryLogger("machine-cloud") });
  try {
    await work({ url: cloud.url, dir, made });
  } finally {
    await cloud.close({ graceMs: 1_000 });
    await Deno.remove(dir, { recursive: true });
  }
}
