import assert from "node:assert/strict";
import { join } from "node:path";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { FakeReceiver } from "../../triggers/delivery/fake_receiver.ts";
import { bootstrapFolder } from "../bootstrap/bootstrap_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { startCloud } from "../../serve/cloud.ts";
import { TestCloud } from "../../serve/cloud_testing.ts";
import { runCloudCommand } from "./commands_testing.ts";

const deps = { clock: systemClock, random: systemRandom };

/** Runs a command line; `env` is all of its environment. */
function run(argv: readonly string[], env: Record<string, string> = {}): Promise<string> {
  return runCloudCommand(["trigger", ...argv], { env });
}

const trigger = (name: string, url: string, more: object = {}) => ({
  name,
  event: { type: "part_online" },
  notifications: [{ type: "webhook", value: url }],
  ...more,
});

async function write(cloud: TestCloud, content: unknown): Promise<string> {
  const path = join(cloud.dataDir, "trigger.json");
  await Deno.writeTextFile(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

Deno.test("trigger set says what of a trigger is not sent", async () => {
  await using cloud = await TestCloud.open();
  await cloud.bootstrap();
  const data = ["--data", cloud.dataDir];
  const pushing = { ...trigger("night", ""), notifications: [{ type: "push" }] };
  assert.equal(
    await run(["set", ...data, await write(cloud, pushing)]),
    "trigger night of demo is saved, but: notifications of type push are not sent by this cloud\n",
  );
});

Deno.test("trigger set, list, test, deliveries, replay, secret and delete work beside a cloud", async () => {
  await using receiver = FakeReceiver.start((_, count) =>
    new Response(null, { status: count === 1 ? 200 : 404 })
  );
  await using cloud = await TestCloud.open({ notifications: { allowPrivateWebhooks: true } });
  await cloud.bootstrap();
  cloud.services.notifications.deliverer.wake();
  const data = ["--data", cloud.dataDir];

  assert.match(
    await run(["list", ...data]),
    /^no triggers; add one with machine-cloud trigger set/,
  );
  const file = await write(cloud, trigger("night", `${receiver.origin}/hook`));
  assert.equal(await run(["set", ...data, file]), "trigger night of demo is saved\n");
  assert.match(await run(["list", ...data]), /^night +demo +part_online +on +0 +0 +0 +0 +0 +-$/m);

  assert.equal(await run(["list", ...data, "--quiet"]), "night\n");
  assert.match(await run(["test", ...data, "night"]), /\/hook +delivered +200 in \d+ ms$/m);
  await assert.rejects(
    run(["test", ...data, "night"]),
    /^Error: not delivered to \S+\/hook: received unretryable status/,
  );
  const table = await run(["deliveries", ...data, "night"]);
  const ids = [...table.matchAll(/^(test_\w+)/gm)].map(([, id]) => id ?? "");
  assert.equal(ids.length, 2);
  const [newest] = (await run(["deliveries", ...data, "--limit", "1", "--json", "night"])).split(
    "\n",
  );
  const shown = JSON.parse(newest ?? "");
  assert.equal(shown.id, ids[0]);
  assert.equal(shown.attempts[0].statusCode, 404);

  assert.match(await run(["replay", ...data, ids[1] ?? ""]), /is sent once more/);
  const [, , third] = await receiver.received(3);
  assert.equal(third?.headers.get("webhook-id"), ids[1]);

  const secret = await run(["secret", ...data, "night"]);
  assert.match(secret, /^whsec_\S+\n$/);
  assert.equal(await run(["secret", ...data, "night"]), secret);
  assert.notEqual(await run(["secret", ...data, "--rotate", "night"]), secret);
  assert.equal(await run(["delete", ...data, "night"]), "removed trigger night of demo\n");
  assert.match(await run(["list", ...data]), /^no triggers/);
});

Deno.test("trigger owners shows and sets who all_machine_owners are", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const data = ["--data", cloud.dataDir];
  assert.match(await run(["owners", ...data]), /^no addresses; set some with/);
  assert.equal(
    await run(["owners", ...data, "--set", "b@example.com, a@example.com"]),
    "a@example.com\nb@example.com\n",
  );
  const machine = ["--machine", made.machine_id];
  assert.match(await run(["owners", ...data, ...machine]), /^no addresses/);
  await run(["owners", ...data, ...machine, "--set", "d@example.com", "--set", "c@example.com"]);
  assert.equal(await run(["owners", ...data, ...machine]), "c@example.com\nd@example.com\n");
  assert.match(await run(["owners", ...data, "--set", "none"]), /^no addresses/);
  await assert.rejects(run(["owners", ...data, "--set", "x"]), /"x" is no e-mail address/);
});

Deno.test("trigger commands say what is wrong", async () => {
  await using cloud = await TestCloud.open();
  await cloud.bootstrap();
  const data = ["--data", cloud.dataDir];
  const good = await write(cloud, trigger("a", "http://h.example/"));
  await run(["set", ...data, good]);
  const cases: [argv: string[], reason: RegExp][] = [
    [["list"], /name the cloud: --data DIR/],
    [["test", ...data, "b"], /no trigger "b" here, there is a/],
    [["test", ...data, "--machine", "x", "a"], /no trigger "a" here, there is none/],
    [["list", ...data, "--machine", "x"], /no machine fits --machine and --part/],
    [["set", ...data, "--machine", "x", good], /no machine fits --machine and --part/],
    [["set", ...data, "--replaces", "b", good], /the part has no trigger "b"/],
    [["set", ...data, join(cloud.dataDir, "none.json")], /cannot read the trigger .*none\.json/],
    [["replay", ...data, "msg_x"], /no delivery with id "msg_x"/],
    [["owners", ...data, "--machine", "m", "--location", "l"], /do not go together/],
    [
      ["list", ...data, "--org", "x"],
      /no organisation called "x"; name one by its id with --org: Acme/,
    ],
  ];
  for (const [argv, reason] of cases) {
    await assert.rejects(async () => await run(argv), reason, argv.join(" "));
  }
  const bad = await write(cloud, "{");
  await assert.rejects(run(["set", ...data, bad]), /trigger\.json is no JSON/);
  const list = await write(cloud, []);
  await assert.rejects(run(["set", ...data, list]), /a trigger is a JSON object/);
  const wrong = await write(cloud, trigger("c", "not a URL"));
  await assert.rejects(
    run(["set", ...data, wrong]),
    /triggers\[1\]\.notifications\[0\]\.value: .*http:\/\/ or https:\/\//,
  );

  await cloud.bootstrap({ machine: "second" });
  await assert.rejects(run(["set", ...data, good]), /several machines are there; name one/);
  const again = await write(cloud, trigger("a", "http://h.example/"));
  await run(["set", ...data, "--machine", "second", again]);
  await assert.rejects(run(["secret", ...data, "a"]), /several machines have a trigger "a"/);
  await run(["secret", ...data, "--machine", "second", "a"]);
  await cloud.bootstrap({ organization: "Other" });
  assert.match(await run(["list", ...data, "--org", "Other"]), /^no triggers/);
  await assert.rejects(
    run(["set", ...data, good]),
    /several organisations are there; name one by its id with --org/,
  );
});

Deno.test("trigger commands work over the network", async () => {
  await using receiver = FakeReceiver.start();
  const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-trigger-" });
  const made = await bootstrapFolder(dataDir);
  const cloud = await startCloud({
    dataDir,
    listen: { hostname: "127.0.0.1", port: 0 },
    domain: "machine.internal",
    hostname: "localhost",
    packageLimitBytes: 1_000_000,
    notifications: { allowPrivateWebhooks: true },
  }, { ...deps, log: memoryLogger("machine-cloud") });
  try {
    const key = {
      MACHINE_CLOUD_API_KEY_ID: made.api_key_id,
      MACHINE_CLOUD_API_KEY: made.api_key,
    };
    const file = join(dataDir, "trigger.json");
    await Deno.writeTextFile(file, JSON.stringify(trigger("night", `${receiver.origin}/hook`)));
    const at = ["--cloud", cloud.url];
    await run(["set", ...at, file], key);
    assert.match(await run(["test", ...at, "night"], key), /\/hook +delivered +200/);
    assert.match(await run(["list", ...at], key), /^night +demo/m);
    const wrong = { ...key, MACHINE_CLOUD_API_KEY: "wrong" };
    await assert.rejects(run(["list", ...at], wrong), /does not take the API key/);
  } finally {
    await cloud.close({ graceMs: 1_000 });
    await Deno.remove(dataDir, { recursive: true });
  }
});
