import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { join } from "node:path";
import { ProgramCommand_Action } from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { bootstrapFolder } from "../bootstrap/bootstrap_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { testMachine } from "../../releases/catalogue/releases_testing.ts";
import { startCloud } from "../../serve/cloud.ts";
import { TestCloud } from "../../serve/cloud_testing.ts";
import { runCloudCommand } from "./commands_testing.ts";

const deps = { clock: systemClock, random: systemRandom };

/** Runs a command line; `env` is all of its environment. */
function run(argv: readonly string[], env: Record<string, string> = {}): Promise<string> {
  return runCloudCommand(argv, { env });
}

const cellsOf = (table: string) =>
  table.trimEnd().split("\n").map((line) => line.split(/ {2,}/).slice(0, 6));

async function writeProgram(folder: string, text = "echo hello"): Promise<string> {
  const file = join(folder, "program");
  await Deno.writeTextFile(file, `#!/bin/sh\n${text}\n`);
  return file;
}

Deno.test("release commands work on a data folder that is being served", async () => {
  await using cloud = await TestCloud.open();
  const machine = await testMachine(cloud, "one", "stable", ["canary"]);
  const data = ["--data", cloud.dataDir];
  const of = (version: string) => ["--binary", "machine-server", "--version", version];
  const file = await writeProgram(cloud.dataDir);
  const add = (version: string, ...more: string[]) =>
    run(["release", "add", ...data, ...of(version), "--platform", "linux/amd64", ...more, file]);

  assert.match(await run(["release", "list", ...data]), /^no releases; add one with/);
  assert.match(await run(["release", "key", ...data]), /^no release key yet/);
  const told = JSON.parse(await add("1.0.0"));
  const sha256 = createHash("sha256").update(await Deno.readFile(file)).digest("hex");
  const [, key] = (await run(["release", "key", ...data])).split("\n");
  assert.deepEqual({ ...told, url: undefined }, {
    binary: "machine-server",
    version: "1.0.0",
    platform: "linux/amd64",
    channel: "stable",
    size: 21,
    sha256,
    key_id: key?.split(" ")[0],
    url: undefined,
  });
  assert.match(told.url, /\/releases\/machine-server\/1\.0\.0\/linux\/amd64\/machine-server$/);
  assert.equal((await machine.target()).version, "1.0.0", "the running cloud sees it at once");

  await add("1.1.0", "--channel", "dev", "--notes", "Faster.", "--tag", "lab, canary");
  assert.equal((await machine.target()).version, "1.0.0");
  const promoted = await run(["release", "promote", ...data, ...of("1.1.0")]);
  assert.equal(promoted, "machine-server 1.1.0 is on channel stable\n");
  assert.equal((await machine.target()).version, "1.1.0");
  assert.deepEqual(cellsOf(await run(["release", "list", ...data])), [
    ["BINARY", "VERSION", "CHANNEL", "PLATFORMS", "ON", "GOES TO"],
    ["machine-server", "1.1.0", "stable", "linux/amd64", "0", "tag lab, tag canary"],
    ["machine-server", "1.0.0", "stable", "linux/amd64", "0", "all"],
  ]);
  await run(["release", "rollout", ...data, ...of("1.1.0"), "--percent", "0"]);
  assert.equal((await machine.target()).version, "1.0.0");
  await run(["release", "rollout", ...data, ...of("1.1.0"), "--percent", "100"]);
  const paused = await run(["release", "pause", ...data, ...of("1.1.0")]);
  assert.deepEqual(cellsOf(paused).at(-1)?.slice(1, 4), ["1.1.0", "100 %", "paused"]);
  assert.equal((await machine.target()).version, "1.0.0");
  await run(["release", "resume", ...data, ...of("1.1.0")]);
  assert.equal((await machine.target()).version, "1.1.0");
  assert.equal(
    await run(["release", "rollout", ...data, ...of("1.1.0"), "--all"]),
    "machine-server 1.1.0 goes to every machine on its channel\n",
  );
  assert.match(await run(["release", "rollout", ...data]), /^no rollouts: every machine gets/);

  await run(["release", "withdraw", ...data, ...of("1.1.0")]);
  assert.equal((await machine.target("1.1.0")).version, "");
  await run(["release", "withdraw", ...data, ...of("1.1.0"), "--go-back"]);
  assert.equal((await machine.target("1.1.0")).version, "1.0.0");
  assert.equal(
    await run(["release", "remove", ...data, ...of("1.1.0")]),
    "removed machine-server 1.1.0\n",
  );
  assert.equal((await run(["release", "key", "--rotate", ...data])).split("\n").length, 4);

  const partId = machine.made.part_id;
  const command = ["agent", "command", ...data, "--part", partId];
  await run([...command, "force"]);
  await run([...command, "--program", "machine-agent", "--version", "1.1.0", "forget-bad"]);
  const { commands } = await machine.agent.reportAgentStatus({ partId, status: {} });
  assert.deepEqual(commands.map(({ program, action, version }) => [program, action, version]), [
    ["machine-server", ProgramCommand_Action.FORCE, ""],
    ["machine-agent", ProgramCommand_Action.FORGET_BAD, "1.1.0"],
  ]);
});

Deno.test("release commands know what the serving cloud heard from machines", async () => {
  await using cloud = await TestCloud.open();
  const machine = await testMachine(cloud, "shop", "stable");
  const data = ["--data", cloud.dataDir];
  const of = ["--binary", "machine-server", "--version", "1.0.0"];
  const file = await writeProgram(cloud.dataDir);
  const platform = ["--platform", "linux/amd64"];
  await run(["release", "add", ...data, ...of, ...platform, "--percent", "100", file]);
  const bad = [{ version: "1.0.0", reason: "no ready line" }];
  await machine.report({ installed: "0.9.0", bad });
  await cloud.services.statuses.write();
  const table = await run(["release", "rollout", ...data]);
  assert.match(table, /machine-server 1\.0\.0 was stopped: the only machine that tried it rolled/);
  assert.match(table, /machine-server 1\.0\.0 rolled back on shop: no ready line/);
  await machine.report({ installed: "1.0.0", running: "1.0.0" });
  await cloud.services.statuses.write();
  assert.equal(cellsOf(await run(["release", "list", ...data])).at(-1)?.[4], "1");
  await assert.rejects(run(["release", "remove", ...data, ...of]), /^Error: shop run release 1\.0/);
});

Deno.test("release commands say what is wrong before anything is made", async () => {
  await using cloud = await TestCloud.open();
  const data = ["--data", cloud.dataDir];
  const file = await writeProgram(cloud.dataDir);
  const add = ["release", "add", ...data];
  const platform = ["--platform", "linux/amd64"];
  const of = ["--binary", "machine-server", "--version", "1.0.0"];
  const missing = join(cloud.dataDir, "missing");
  const cases: [argv: string[], reason: RegExp][] = [
    [[...add, ...of, ...platform], /FILE is missing/],
    [[...add, ...of, ...platform, missing], /cannot read the release .*missing: /],
    [[...add, ...of, ...platform, cloud.dataDir], /cannot read the release /],
    [[...add, ...of, file], /--platform/],
    [[...add, ...of, "--platform", "linux/any", file], /invalid value "linux\/any"/],
    [[...add, "--binary", "x", "--version", "1.0.0", ...platform, file], /machine-server, machine/],
    [[...add, "--binary", "machine-agent", "--version", "1", ...platform, file], /"1" is no vers/],
    [[...add, ...of, ...platform, "--percent", "101", file], /--percent/],
    [[...add, ...of, ...platform, "--tag", "a b", file], /tags: "a b" is no tag/],
    [[...add, ...of, ...platform, "--stop-percent", "5", file], /need --percent or --tag/],
    [["release", "add", ...of, ...platform, file], /name the cloud: --data DIR/],
    [["release", "list", ...data, "--cloud", "http://x"], /--data and --cloud do not go together/],
    [["release", "list", "--cloud", "http://127.0.0.1:1"], /--cloud needs an API key/],
    [["release", "remove", ...data, ...of], /there is no release 1\.0\.0 of machine-server/],
    [["release", "rollout", ...data, "--percent", "5"], /give --binary and --version/],
    [["release", "rollout", ...data, ...of, "--percent", "5", "--all"], /leave the other options/],
    [["release", "resume", ...data, ...of], /there is no release 1\.0\.0/],
    [
      ["agent", "command", ...data, "--part", "p", "dance"],
      /allowed are force, forget-bad, restart/,
    ],
    [["agent", "command", ...data, "--part", "p", "force"], /there is no organisation yet/],
  ];
  for (const [argv, reason] of cases) {
    await assert.rejects(async () => await run(argv), reason, argv.join(" "));
  }
  assert.match(await run(["release", "list", ...data]), /^no releases/);
});

Deno.test("release add works before there is an organisation, and over the network after", async () => {
  const dir = await Deno.makeTempDir({ prefix: "machine-cloud-release-" });
  const file = await writeProgram(dir, "x".repeat(600_000));
  const of = (version: string) => [
    ...["--binary", "machine-agent", "--version", version],
    ...["--platform", "linux/arm64", file],
  ];
  await run(["release", "add", "--data", dir, ...of("1.0.0")]);
  const made = await bootstrapFolder(dir);
  const cloud = await startCloud({
    dataDir: dir,
    listen: { hostname: "127.0.0.1", port: 0 },
    domain: "machine.internal",
    hostname: "localhost",
    packageLimitBytes: 1_000_000,
  }, { ...deps, log: memoryLogger("machine-cloud") });
  try {
    const key = { MACHINE_CLOUD_API_KEY_ID: made.api_key_id, MACHINE_CLOUD_API_KEY: made.api_key };
    const place = ["--cloud", cloud.url];
    const told = JSON.parse(await run(["release", "add", ...place, ...of("1.1.0")], key));
    assert.equal(told.size, 600_011);
    const response = await fetch(told.url);
    assert.equal(
      createHash("sha256").update(new Uint8Array(await response.arrayBuffer())).digest("hex"),
      told.sha256,
    );
    const list = cellsOf(await run(["release", "list", ...place], key));
    assert.deepEqual(list.map(([, version]) => version), ["VERSION", "1.1.0", "1.0.0"]);
    const wrong = { ...key, MACHINE_CLOUD_API_KEY: "wrong" };
    await assert.rejects(run(["release", "list", ...place], wrong), /does not take the API key/);
  } finally {
    await cloud.close({ graceMs: 1_000 });
    await Deno.remove(dir, { recursive: true });
  }
});
