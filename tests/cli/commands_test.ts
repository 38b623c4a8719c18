/** Each command of `machine` against a real cloud. */
import assert from "node:assert/strict";
import { createClient } from "@connectrpc/connect";
import { decodeQR } from "qr/decode.js";
import { UsageError } from "../../shared/base/flags/flags.ts";
import { Secret } from "../../shared/base/redaction/secret.ts";
import { CloudConnection } from "../../shared/cloud/client/connection.ts";
import { RobotService } from "../../shared/gen/viam/app/v1/robot_pb.ts";
import { memoryLogger } from "../../shared/log/memory_logger_testing.ts";
import { CliRig, runMachine } from "./rig.ts";

Deno.test("login keeps a profile for its owner alone; logout forgets it", async () => {
  await using rig = await CliRig.open();
  const file = rig.path("settings/profiles.json");
  if (Deno.build.os !== "windows") assert.equal((await Deno.stat(file)).mode! & 0o777, 0o600);
  const me = await rig.json("whoami");
  assert.equal(me.cloud, rig.cloud.url);
  assert.deepEqual(me.organizations, [{ id: rig.made.org_id, name: "Acme" }]);
  await rig.run(["login", "--cloud", rig.cloud.url, "--profile", "second"], { env: rig.keyEnv });
  assert.deepEqual(
    (await rig.json("profiles", "list")).map((one: { name: string }) => one.name),
    ["default", "second"],
  );
  await rig.run(["profiles", "use", "default"]);
  await assert.rejects(rig.run(["profiles", "use", "secnd"]), /did you mean second\?/);
  await rig.run(["logout", "--profile", "second"]);
  await rig.run(["logout"]);
  await assert.rejects(rig.run(["machines", "list"]), /not signed in; sign in with machine login/);
});

Deno.test("login takes what is typed where options say nothing", async () => {
  await using rig = await CliRig.open();
  const answers = [rig.made.api_key_id, rig.made.api_key];
  const ask = () => Promise.resolve(answers.shift() ?? "");
  await rig.run(["login", "--cloud", rig.cloud.url], { deps: { ask } });
  assert.deepEqual(answers, []);
});

Deno.test("what is wrong with the way to a cloud is told in one line", async () => {
  await using rig = await CliRig.open();
  const { api_key_id } = rig.made;
  const at = (cloud: string, key = "wrong") =>
    runMachine(["machines", "list", "--cloud", cloud, "--key-id", api_key_id, "--key", key]);
  const cases: [() => Promise<unknown>, RegExp][] = [
    [
      () => at("http://127.0.0.1:1"),
      /^cannot reach a cloud at http:\/\/127\.0\.0\.1:1 \(connect ECONNR/,
    ],
    [
      () => at(rig.cloud.url),
      /does not take the API key .* sign in again with machine login --cloud/,
    ],
    [() => at("ftp://cloud"), /^--cloud: "ftp:\/\/cloud" is no such address; write https:/],
    [() => at("http://cloud.example"), /is plaintext, so that others could read the key/],
    [() => runMachine(["machines", "list", "--cloud", rig.cloud.url]), /--cloud needs an API key/],
  ];
  for (const [failed, message] of cases) {
    await assert.rejects(failed(), (error: Error) => {
      assert.match(error.message, message);
      assert.doesNotMatch(error.message, /\n/);
      return true;
    });
  }
});

Deno.test("parts qr: a phone that reads the code gets the part's credentials", async () => {
  await using rig = await CliRig.open();
  const file = rig.path("rover.json");
  const { part_id } = await rig.json(
    ...["machines", "create", "rover", "--location", "Lab", "--credentials-out", file],
  );
  const { out } = await rig.run(["parts", "qr", part_id]);
  const { link } = await rig.json("parts", "qr", part_id);
  assert.equal(readCode(out.split("\n\n")[0] ?? ""), link);
  const [address, given = ""] = link.split("#credentials=");
  assert.equal(address, "http://10.42.0.1/");
  assert.deepEqual(
    JSON.parse(atob(given.replaceAll("-", "+").replaceAll("_", "/"))),
    JSON.parse(await Deno.readTextFile(file)),
  );
  const svg = rig.path("code.svg");
  await rig.run(["parts", "qr", part_id, "--svg", svg]);
  assert.match(await Deno.readTextFile(svg), /^<svg /);
});

/** A QR code that was drawn with blocks, two rows of its squares a line; light is drawn. */
function readCode(drawn: string): string {
  const lines = drawn.split("\n").filter(Boolean);
  const width = Math.max(...lines.map((line) => line.length));
  const isLight = (x: number, y: number) => {
    const block = lines[y >> 1]?.[x] ?? " ";
    return block === "█" || block === (y % 2 === 0 ? "▀" : "▄");
  };
  const scale = 4;
  const size = { width: width * scale, height: lines.length * 2 * scale };
  const data = new Uint8ClampedArray(size.width * size.height * 4).fill(255);
  for (let y = 0; y < size.height; y++) {
    for (let x = 0; x < size.width; x++) {
      if (isLight(Math.floor(x / scale), Math.floor(y / scale))) continue;
      data.fill(0, (y * size.width + x) * 4, (y * size.width + x) * 4 + 3);
    }
  }
  return decodeQR({ ...size, data });
}

Deno.test("machines are made, listed, renamed, moved, restarted and deleted", async () => {
  await using rig = await CliRig.open();
  const file = rig.path("arm.json");
  const made = await rig.json(
    "machines",
    "create",
    "arm",
    "--location",
    "Lab",
    "--credentials-out",
    file,
  );
  const { cloud } = JSON.parse(await Deno.readTextFile(file));
  assert.deepEqual([cloud.app_address, cloud.id], [rig.cloud.url, made.part_id]);
  assert.notEqual(cloud.secret, "");
  const { out } = await rig.run(["machines", "list"]);
  assert.match(out, /^ID +MACHINE +LOCATION +STATE +LAST SEEN\n/);
  assert.match(out, new RegExp(`^${made.id} +arm +Lab +awaiting setup`, "m"));
  const quiet = await rig.run(["machine", "list", "--quiet", "--location", "Lab"]);
  assert.deepEqual(quiet.out.trim().split("\n").sort(), [made.id, rig.made.machine_id].sort());
  await rig.run(["machines", "rename", "arm", "leg"]);
  const attic = await rig.json("locations", "create", "Attic");
  await rig.run(["machines", "move", "leg", "Attic"]);
  const moved = (await rig.json("machines", "list")).find((one: { id: string }) =>
    one.id === made.id
  );
  assert.deepEqual([moved.name, moved.location_id], ["leg", attic.id]);
  assert.match((await rig.run(["machines", "status", "leg"])).out, /leg, Attic[^]*part +arm-main/);
  const { out: ids } = await rig.run(["machines", "status", "leg", "--quiet"]);
  assert.match(ids, /^[-0-9a-f]{36}\n$/);
  assert.match((await rig.run(["machines", "restart", "leg"])).out, /restarts/);
  await assert.rejects(rig.run(["machines", "restart", "leg", "--part", "x"]), /has no part "x"/);
  await assert.rejects(rig.run(["machines", "status", "lgg"]), /did you mean leg\?/);
  await assert.rejects(rig.run(["machines", "delete", "leg"]), /confirm with --yes/);
  await rig.run(["machines", "delete", "leg", "--yes"]);
  assert.equal((await rig.json("machines", "list")).length, 1);
});

Deno.test("parts, locations, organisations and keys", async () => {
  await using rig = await CliRig.open();
  const [part] = await rig.json("parts", "list", "demo");
  assert.deepEqual([part.id, part.main, part.machine_name], [rig.made.part_id, true, "demo"]);
  assert.equal((await rig.json("parts", "get", "demo")).fqdn, rig.made.fqdn);
  await rig.run(["parts", "rename", "demo", "head"]);
  assert.equal((await rig.json("parts", "get", "demo:head")).id, rig.made.part_id);

  const attic = await rig.json("locations", "create", "Attic");
  assert.deepEqual((await rig.json("locations", "list")).at(0).id, attic.id);
  await rig.run(["locations", "rename", "Attic", "Loft"]);
  assert.match((await rig.run(["locations", "list"])).out, /Loft +0/);
  await rig.run(["locations", "delete", "Loft", "--yes"]);
  assert.equal((await rig.json("locations", "list")).length, 1);

  assert.equal((await rig.json("organizations", "list"))[0].name, "Acme");
  const key = await rig.json("keys", "create", "ci", "--role", "operator", "--machine", "demo");
  const [found] = (await rig.json("keys", "list")).filter((one: { id: string }) =>
    one.id === key.id
  );
  assert.deepEqual(found.authorizations, [
    { role: "robot_operator", resource_type: "robot", resource_id: rig.made.machine_id },
  ]);
  const env = { MACHINE_CLOUD_API_KEY_ID: key.id, MACHINE_CLOUD_API_KEY: key.key };
  const of = ["demo", "--cloud", rig.cloud.url];
  assert.match((await rig.run(["parts", "get", ...of], { env })).out, /demo/);
  await assert.rejects(
    rig.run(["config", "get", ...of], { env }),
    /you do not see the configuration of head; it takes an owner/,
  );
  await rig.run(["keys", "rename", "ci", "build"]);
  const rotated = await rig.json("keys", "rotate", "build", "--yes");
  assert.notEqual(rotated.key, key.key);
  await rig.run(["keys", "rotate", rig.made.api_key_id, "--yes"]);
  const own = (await rig.run(["whoami", "--quiet"])).out.trim();
  assert.notEqual(own, rig.made.api_key_id, "the profile signs in with the new key");
  await assert.rejects(
    rig.run(["keys", "delete", own]),
    /delete API key [0-9a-f-]+; profile default signs in with it\?/,
  );
  await rig.run(["keys", "delete", rotated.id, "--yes"]);
  await assert.rejects(rig.run(["keys", "delete", rotated.id, "--yes"]), /there is no API key/);
});

const HOST = { name: "host", api: "rdk:component:sensor", model: "rdk:builtin:host" };

Deno.test("config set, diff, history and restore", async () => {
  await using rig = await CliRig.open();
  const file = await rig.write("config.json", { components: [HOST] });
  const saved = await rig.run(["config", "set", "demo", file]);
  assert.match(saved.err, /^\+ resource rdk:component:sensor\/host/);
  assert.equal((await rig.json("config", "get", "demo")).components[0].name, "host");
  assert.match((await rig.run(["config", "set", "demo", file])).out, /^nothing changed/);
  const input = { readInput: () => Promise.resolve('{"components": []}') };
  await rig.run(["config", "set", "demo", "-"], { deps: input });
  const history = await rig.json("config", "history", "demo");
  assert.deepEqual(history.map((one: { changes: string[] }) => one.changes.length), [1, 1, 0]);
  assert.equal(history[0].saved_by, rig.made.api_key_id);
  assert.deepEqual([history[0].saved_by_name, history[0].saved_how], ["bootstrap", "cli"]);
  const { changes } = await rig.json("config", "diff", "demo");
  assert.deepEqual(changes, ["- resource rdk:component:sensor/host"]);
  assert.match((await rig.run(["config", "diff", "demo", "--file", file])).out, /^\+ resource/);
  const wrong = await rig.write("wrong.json", { components: [HOST, { ...HOST, name: "a b" }] });
  const compared = await rig.run(["config", "diff", "demo", "--file", wrong]);
  assert.match(compared.err, /^it cannot be saved: components\[1\]\.name: .*"a b"/m);
  assert.match(compared.out, /^\+ resource rdk:component:sensor\/host/);
  const { problems } = await rig.json("config", "diff", "demo", "--file", wrong);
  assert.match(problems.join(), /^components\[1\]\.name: /);
  assert.deepEqual((await rig.json("config", "diff", "demo", "--file", file)).problems, []);
  assert.match((await rig.run(["config", "diff", "demo", "0", "2"])).out, /^nothing differs/);
  await rig.run(["config", "restore", "demo", "1"]);
  assert.equal((await rig.json("config", "history", "demo"))[0].saved_how, "restore");
  assert.equal((await rig.json("config", "get", "demo")).components.length, 1);
  assert.equal((await rig.json("config", "get", "demo", "--revision", "1")).components.length, 0);
  await assert.rejects(
    rig.run(["config", "restore", "demo", "9"]),
    /no revision 9; the oldest is 3/,
  );
  await assert.rejects(rig.run(["config", "restore", "demo", "x"]), UsageError);
  const many = Array.from({ length: 300 }, (_, n) => ({ ...HOST, name: `s${n}` }));
  const large = await rig.write("large.json", { components: many });
  const { err } = await rig.run(["config", "set", "demo", large]);
  assert.equal(err.match(/^\+ resource/gm)?.length, 200);
  assert.match(err, /^… and \d+ lines more; config diff --file shows all of a file$/m);
  const long = await rig.write("long.json", { components: many, note: "n".repeat(5_000) });
  assert.match((await rig.run(["config", "set", "demo", long])).err, /^ {4}note: .*n{900}…$/m);
  await rig.write("bad.json", '{"components": [');
  await assert.rejects(
    rig.run(["config", "set", "demo", rig.path("bad.json")]),
    /bad\.json is no JSON/,
  );
});

Deno.test("config edit saves what the editor leaves, and keeps it when somebody else saved", async () => {
  await using rig = await CliRig.open();
  const edit = (change: (text: string) => string, meanwhile = () => Promise.resolve()) => ({
    deps: {
      openEditor: async (path: string) => {
        await Deno.writeTextFile(path, change(await Deno.readTextFile(path)));
        await meanwhile();
        return 0;
      },
    },
  });
  const withHost = () => JSON.stringify({ components: [HOST] });
  assert.match(
    (await rig.run(["config", "edit", "demo"], edit((text) => text))).out,
    /^nothing ch/,
  );
  await rig.run(["config", "edit", "demo"], edit(withHost));
  assert.equal((await rig.json("config", "get", "demo")).components.length, 1);

  const other = await rig.write("other.json", { components: [{ ...HOST, name: "theirs" }] });
  const meanwhile = async () => void await rig.run(["config", "set", "demo", other]);
  const mine = () => JSON.stringify({ components: [{ ...HOST, name: "mine" }] });
  await assert.rejects(
    rig.run(["config", "edit", "demo"], edit(mine, meanwhile)),
    /somebody saved[^]*They changed:\n[^]*theirs/,
  );
  assert.equal((await rig.json("config", "get", "demo")).components[0].name, "theirs");
  await assert.rejects(
    rig.run(["config", "edit", "demo"], edit(() => "{")),
    (error: Error) => {
      const [, path = ""] = /your text is in (\S+)$/.exec(error.message) ?? [];
      assert.equal(Deno.readTextFileSync(path), "{");
      return true;
    },
  );
});

Deno.test("logs are filtered, and followed", async () => {
  await using rig = await CliRig.open();
  const connection = CloudConnection.open({
    appAddress: rig.cloud.url,
    credentials: {
      type: "robot-secret",
      entity: rig.made.part_id,
      payload: new Secret(rig.made.part_secret),
    },
    log: memoryLogger("machine"),
  });
  const robot = createClient(RobotService, connection.transport);
  const log = async (message: string, level = "info", loggerName = "rdk.arm") => {
    const entry = { host: "vm", level, loggerName, message };
    const ms = BigInt(Date.now());
    const time = { seconds: ms / 1000n, nanos: Number(ms % 1000n) * 1_000_000 };
    await robot.log({ id: rig.made.part_id, logs: [{ ...entry, time }] });
  };
  try {
    await log("one");
    await log("two", "error", "rdk.leg");
    const lines = async (...more: string[]) =>
      (await rig.run(["logs", "demo", ...more])).out.trim().split("\n").filter((line) =>
        / (one|two)$/.test(line)
      );
    assert.equal((await lines()).length, 2);
    assert.match((await lines("--level", "warn")).join(), /ERROR rdk\.leg +two$/);
    assert.match((await lines("--source", "rdk.arm")).join(), /INFO +rdk\.arm +one$/);
    assert.match((await lines("--filter", "tw", "--since", "1h")).join(), /two$/);
    assert.deepEqual(await lines("--until", "1h"), []);
    await assert.rejects(
      rig.run(["logs", "demo", "--since", "noon"]),
      /--since: "noon" is no time/,
    );

    const three = Promise.withResolvers<void>();
    let text = "";
    const following = rig.run(["logs", "demo", "-f", "--json"], {
      onText: (more) => {
        if (text === "") void log("three");
        text += more;
        if (text.includes("three")) three.resolve();
      },
    });
    following.catch(() => undefined); // ends with the cloud
    await three.promise;
    const messages = text.trim().split("\n").map((line) => JSON.parse(line).message);
    assert.equal(new Set(messages).size, messages.length, "each line once");
  } finally {
    connection.close();
  }
});

Deno.test("triggers, secrets and releases are those of the commands that the cloud has, too", async () => {
  await using rig = await CliRig.open();
  const night = {
    name: "night",
    event: { type: "part_online" },
    notifications: [{ type: "webhook", value: "https://example.com/hook" }],
  };
  const file = await rig.write("trigger.json", night);
  const saved = await rig.json("triggers", "set", file, "--machine", "demo");
  assert.deepEqual([saved.name, saved.part_id], ["night", rig.made.part_id]);
  assert.equal((await rig.json("trigger", "list"))[0].name, "night");
  assert.deepEqual(await rig.json("triggers", "deliveries", "night"), []);
  await assert.rejects(
    rig.run(["triggers", "delete", "night"]),
    /delete trigger night\?.*confirm with --yes/,
  );
  await rig.run(["triggers", "delete", "night", "--yes"]);
  assert.match((await rig.run(["triggers", "list"])).out, /add one with machine triggers set/);
  await assert.rejects(
    rig.run(["triggers", "delete", "night", "--yes"]),
    /no trigger "night" here, there is none; add one with machine triggers set/,
  );

  const made = await rig.json("secrets", "create", "--machine", "demo");
  const before = (await rig.json("secrets", "list")).map((one: { id: string }) => one.id);
  assert.deepEqual([before.length, before[0]], [2, made.id]);
  await rig.run(["secrets", "delete", before[1], "--yes"]);
  assert.equal((await rig.json("secrets", "list")).length, 1);

  const program = await rig.write("program", "#!/bin/sh\n");
  const of = ["--binary", "machine-server", "--version", "1.0.0"];
  const added = await rig.json("releases", "add", ...of, "--platform", "linux/amd64", program);
  assert.equal(added.size, 10);
  assert.equal((await rig.json("releases", "list"))[0].version, "1.0.0");
  assert.match((await rig.run(["releases", "key"])).out, /signs$/m);
});
