import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { Code } from "@connectrpc/connect";
import {
  Channel,
  ProgramCommand_Action,
  ReleaseService,
} from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import {
  AgentDeviceService,
  PackageFormat,
} from "../../../shared/gen/viam/app/agent/v1/agent_pb.ts";
import { verifyRelease, verifyReleaseKey } from "../../../shared/transfer/releases/manifest.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { apiKey, failure, partSecret, TestCloud } from "../../serve/cloud_testing.ts";
import { addRelease, releases, script, testMachine } from "./releases_testing.ts";

const LINUX = { binary: "machine-server", version: "1.0.0" };

Deno.test("AddRelease() stores a signed file that agents of both kinds are told", async () => {
  await using cloud = await TestCloud.open();
  const machine = await testMachine(cloud, "one", "stable");
  const { made, agent } = machine;
  const client = releases(cloud, made);
  const contents = script("the server");
  const sha256 = new Uint8Array(createHash("sha256").update(contents).digest());

  const release = await addRelease(client, "1.0.0", { contents, sha256, notes: "The first." });
  const targets = await agent.getTargets({ partId: made.part_id, platform: "linux/amd64" });
  const device = await cloud.client(AgentDeviceService, partSecret(made)).deviceAgentConfig({
    id: made.part_id,
    hostInfo: { platform: "linux/amd64" },
  });

  const { server: target, keys: [key] } = targets;
  assert.ok(target && key && release);
  assert.equal(release.channel, Channel.STABLE);
  assert.deepEqual(
    [target.version, target.size, target.notes, target.pinned, target.problem, target.asked],
    ["1.0.0", BigInt(contents.length), "The first.", false, "", "stable"],
  );
  assert.deepEqual(target.sha256, sha256);
  assert.equal(
    target.url,
    "http://127.0.0.1:8080/releases/machine-server/1.0.0/linux/amd64/machine-server",
  );
  const manifest = {
    binary: "machine-server",
    version: "1.0.0",
    platform: "linux/amd64",
    size: contents.length,
    sha256: sha256.toHex(),
  };
  assert.equal(target.keyId, key.id);
  assert.ok(await verifyRelease(key.publicKey, manifest, target.signature));
  const info = device.viamServerUpdateInfo;
  assert.deepEqual(
    [info?.version, info?.url, info?.filename, info?.format],
    ["1.0.0", target.url, "viam-server", PackageFormat.EXECUTABLE],
  );
  assert.deepEqual(info?.sha256, sha256);
  assert.equal(targets.agent?.version, "", "the agent has no release");
  assert.equal(device.agentUpdateInfo, undefined);
});

Deno.test("AddRelease() refuses what is wrong, names it and leaves nothing", async () => {
  await using cloud = await TestCloud.open({ packageLimitBytes: 2_000 });
  const made = await cloud.bootstrap();
  const client = releases(cloud, made);
  await addRelease(client, "1.0.0");
  const elf = (machine: number) => {
    const bytes = new Uint8Array(64);
    bytes.set([0x7f, 0x45, 0x4c, 0x46]);
    bytes[18] = machine;
    return bytes;
  };
  type Info = Parameters<typeof addRelease>[2];
  const cases: [version: string, info: Info, code: Code, reason: RegExp][] = [
    ["1.1.0", { binary: "machine-cloud" }, Code.InvalidArgument, /^binary: .*machine-agent/],
    ["v1.1.0", {}, Code.InvalidArgument, /^version: "v1\.1\.0" is no version/],
    ["1.1", {}, Code.InvalidArgument, /^version: /],
    ["1.1.0+x", {}, Code.InvalidArgument, /^version: .*\+build/],
    ["stable", {}, Code.InvalidArgument, /^version: /],
    ["1.1.0", { platform: "linux/any" }, Code.InvalidArgument, /^platform: .*linux\/arm64/],
    ["1.1.0", { platform: "" }, Code.InvalidArgument, /^platform: /],
    ["1.1.0", { channel: 9 as Channel }, Code.InvalidArgument, /^channel: /],
    ["1.1.0", { sha256: new Uint8Array(3) }, Code.InvalidArgument, /sha256: .*32 bytes/],
    ["1.1.0", { sha256: new Uint8Array(32) }, Code.InvalidArgument, /^sha256: the file that came/],
    ["1.1.0", { rollout: { percent: 101 } }, Code.InvalidArgument, /^percent: 101/],
    ["1.1.0", { rollout: { percent: NaN } }, Code.InvalidArgument, /^percent: NaN/],
    ["1.1.0", { rollout: { tags: ["a b"] } }, Code.InvalidArgument, /^tags: "a b"/],
    ["1.1.0", { rollout: { stopMinimum: 0 } }, Code.InvalidArgument, /^stop_minimum: /],
    ["1.1.0", { contents: new Uint8Array() }, Code.InvalidArgument, /the file is empty/],
    ["1.1.0", { contents: elf(183) }, Code.InvalidArgument, /for arm64 processors, not for amd64/],
    ["1.1.0", { contents: elf(62).subarray(0, 10) }, Code.InvalidArgument, /was cut/],
    [
      "1.1.0",
      { contents: elf(62), platform: "windows/amd64" },
      Code.InvalidArgument,
      /for Linux, not for windows/,
    ],
    [
      "1.1.0",
      { contents: new TextEncoder().encode("MZ and more than twenty bytes") },
      Code.InvalidArgument,
      /for Windows, not for linux/,
    ],
    ["1.1.0", { contents: script("x".repeat(2_000)) }, Code.ResourceExhausted, /larger than 2000/],
    ["1.0.0", { contents: script("other") }, Code.AlreadyExists, /has a file for linux\/amd64/],
    ["1.0.0", { channel: Channel.DEV }, Code.AlreadyExists, /is on stable; .*promote/],
    [
      "1.0.0",
      { platform: "linux/arm64", rollout: { percent: 5 } },
      Code.AlreadyExists,
      /release rollout/,
    ],
  ];
  for (const [version, info, code, reason] of cases) {
    const what = `${version} ${JSON.stringify(info)}`;
    const refused = await failure(addRelease(client, version, info));
    assert.equal(refused.code, code, `${what}: ${refused.message}`);
    assert.match(refused.message, reason, what);
  }
  const { releases: left } = await client.listReleases({});
  assert.deepEqual(left.map(({ version, files }) => [version, files.length]), [["1.0.0", 1]]);
  assert.equal(blobsOf(cloud).length, 1);
});

Deno.test("AddRelease() takes the same file again, and other platforms into the release", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const client = releases(cloud, made);
  await addRelease(client, "1.0.0", { channel: Channel.DEV, notes: "First" });
  await addRelease(client, "1.0.0", {});
  await Promise.all([
    addRelease(client, "1.0.0", { platform: "linux/arm64", notes: "Both" }),
    addRelease(client, "1.0.0", { platform: "windows/amd64" }),
  ]);
  const [release] = (await client.listReleases({ binary: "machine-server" })).releases;
  assert.equal(release?.channel, Channel.DEV);
  assert.equal(release.notes, "Both");
  assert.deepEqual(release.files.map(({ platform, url }) => [platform, url.split("/").at(-1)]), [
    ["linux/amd64", "machine-server"],
    ["linux/arm64", "machine-server"],
    ["windows/amd64", "machine-server.exe"],
  ]);
  assert.equal(blobsOf(cloud).length, 3);
  assert.deepEqual((await client.listReleases({ binary: "machine-agent" })).releases, []);
});

Deno.test("ReleaseService takes changes from owners of the first organisation only", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const first = await cloud.bootstrap();
  await clock.advance(1);
  const second = await cloud.bootstrap({ organization: "Second" });
  await addRelease(releases(cloud, first), "1.0.0", { rollout: { percent: 5 } });
  for (const credentials of [apiKey(second), partSecret(first)]) {
    const client = cloud.client(ReleaseService, credentials);
    const calls: [name: string, call: () => Promise<unknown>][] = [
      ["add", () => addRelease(client, "2.0.0")],
      ["remove", () => client.removeRelease(LINUX)],
      ["promote", () => client.promoteRelease(LINUX)],
      ["withdraw", () => client.withdrawRelease(LINUX)],
      ["rollout", () => client.setRollout(LINUX)],
      ["pause", () => client.pauseRollout(LINUX)],
      ["resume", () => client.resumeRollout(LINUX)],
      ["rollouts", () => client.listRollouts({})],
      ["rotate", () => client.rotateReleaseKey({})],
    ];
    for (const [name, call] of calls) {
      const { code, message } = await failure(call());
      assert.equal(code, Code.PermissionDenied, name);
      assert.match(message, /owners of the cloud's first organisation/);
    }
    const [seen] = (await client.listReleases({})).releases;
    assert.equal(seen?.version, "1.0.0");
    assert.equal(seen.rollout, undefined, "how far it is is no business of others");
    assert.equal((await client.getReleaseKey({})).keys.length, 1);
  }
  const nobody = cloud.client(ReleaseService);
  assert.equal((await failure(nobody.listReleases({}))).code, Code.Unauthenticated);
});

Deno.test("WithdrawRelease() takes a release from targets at once, PromoteRelease() brings it back", async () => {
  await using cloud = await TestCloud.open();
  const machine = await testMachine(cloud, "one", "stable");
  const pinned = await testMachine(cloud, "two", "1.1.0");
  const client = releases(cloud, machine.made);
  const newer = { binary: "machine-server", version: "1.1.0" };
  await addRelease(client, "1.0.0");
  await addRelease(client, "1.1.0", { channel: Channel.DEV });

  assert.equal((await machine.target()).version, "1.0.0");
  assert.equal((await pinned.target()).version, "1.1.0");
  await client.promoteRelease(newer);
  assert.equal((await machine.target("1.0.0")).version, "1.1.0");
  const { release } = await client.withdrawRelease(newer);
  assert.ok(release?.withdrawnAt && !release.goesBack);
  assert.equal((await machine.target("1.0.0")).version, "1.0.0");
  const kept = await machine.target("1.1.0");
  assert.equal(kept.version, "");
  assert.match(kept.heldBack, /1\.1\.0 was withdrawn; the machine keeps it/);
  assert.match((await pinned.target("1.1.0")).problem, /release 1\.1\.0 .* was withdrawn/);
  await client.withdrawRelease({ ...newer, goBack: true });
  assert.equal((await machine.target("1.1.0")).version, "1.0.0");
  await client.promoteRelease({ ...newer, channel: Channel.DEV });
  assert.equal((await machine.target("1.0.0")).version, "1.0.0");
  assert.equal((await pinned.target()).version, "1.1.0");
  const { code } = await failure(client.withdrawRelease({ ...newer, version: "9.9.9" }));
  assert.equal(code, Code.NotFound);
});

Deno.test("GetTargets() goes by what the agent reported last when it does not tell", async () => {
  await using cloud = await TestCloud.open();
  const machine = await testMachine(cloud, "one", "stable");
  const client = releases(cloud, machine.made);
  await addRelease(client, "1.0.0");
  await addRelease(client, "1.1.0");
  await machine.report({ installed: "1.1.0", running: "1.1.0" });
  await client.withdrawRelease({ binary: "machine-server", version: "1.1.0" });
  assert.equal((await machine.target()).version, "");
  assert.equal((await machine.target("1.0.0")).version, "1.0.0");
});

Deno.test("GetTargets() follows the configuration from one question to the next", async () => {
  await using cloud = await TestCloud.open();
  const machine = await testMachine(cloud, "one", "stable");
  const client = releases(cloud, machine.made);
  await addRelease(client, "1.0.0");
  await addRelease(client, "1.1.0");
  assert.equal((await machine.target()).version, "1.1.0");
  await testMachine(cloud, "one", "1.0.0");
  assert.equal((await machine.target("1.1.0")).version, "1.0.0");
  await testMachine(cloud, "one", "~1.0.0");
  assert.equal((await machine.target()).version, "1.0.0");
  await testMachine(cloud, "one", "1.2.0");
  assert.deepEqual(await machine.target("1.0.0"), {
    version: "",
    problem: "there is no release 1.2.0 of machine-server; there is 1.1.0, 1.0.0",
    heldBack: "",
  });
});

Deno.test("RemoveRelease() refuses while machines run the release or are pinned to it", async () => {
  await using cloud = await TestCloud.open();
  const running = await testMachine(cloud, "runs-it", "stable");
  const pinned = await testMachine(cloud, "pinned", "1.0.0");
  const client = releases(cloud, running.made);
  await addRelease(client, "1.0.0");
  await addRelease(client, "1.0.0", { platform: "linux/arm64" });
  await running.report({ installed: "1.0.0", running: "1.0.0" });
  await pinned.report({ installed: "0.9.0", running: "0.9.0" });

  const { code, message } = await failure(client.removeRelease(LINUX));
  assert.equal(code, Code.FailedPrecondition);
  assert.match(message, /(runs-it|pinned), (runs-it|pinned) run release 1\.0\.0 .*or are pinned/);
  assert.match(message, /release withdraw .*--go-back/);
  assert.equal(
    (await failure(client.removeRelease({ ...LINUX, platform: "linux/amd64" }))).code,
    Code.FailedPrecondition,
  );
  await client.removeRelease({ ...LINUX, platform: "linux/arm64" });
  assert.equal(
    (await failure(client.removeRelease({ ...LINUX, platform: "linux/arm64" }))).code,
    Code.NotFound,
  );
  await running.report({ installed: "1.1.0" });
  await testMachine(cloud, "pinned", "stable");
  await client.removeRelease(LINUX);
  assert.deepEqual((await client.listReleases({})).releases, []);
  assert.deepEqual(blobsOf(cloud), []);
});

Deno.test("RotateReleaseKey() makes a key that the one before vouches for", async () => {
  await using cloud = await TestCloud.open();
  const machine = await testMachine(cloud, "one", "stable");
  const client = releases(cloud, machine.made);
  assert.deepEqual((await client.getReleaseKey({})).keys, []);
  await addRelease(client, "1.0.0");
  const { keys: [first, second] } = await client.rotateReleaseKey({});
  assert.ok(first && second);
  assert.deepEqual([first.signedBy, second.signedBy], ["", first.id]);
  assert.ok(await verifyReleaseKey(first.publicKey, second.publicKey, second.signature));
  await addRelease(client, "1.1.0");
  const [newer, older] = (await client.listReleases({})).releases;
  assert.deepEqual([older?.files[0]?.keyId, newer?.files[0]?.keyId], [first.id, second.id]);
  const { keys } = await machine.agent.getTargets({
    partId: machine.made.part_id,
    platform: "linux/amd64",
  });
  assert.deepEqual(keys.map(({ id }) => id), [first.id, second.id]);
});

Deno.test("AddRelease() makes no other key when the one there was is lost", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const client = releases(cloud, made);
  await addRelease(client, "1.0.0");
  const text = await Deno.readTextFile(cloud.path("release.key"));
  if (Deno.build.os !== "windows") {
    assert.equal((await Deno.stat(cloud.path("release.key"))).mode! & 0o777, 0o600);
  }
  await Deno.remove(cloud.path("release.key"));
  const lost = await failure(addRelease(client, "1.1.0"));
  assert.equal(lost.code, Code.FailedPrecondition);
  assert.match(lost.message, /release\.key does not hold the release key [0-9a-f]{16}; put/);
  for (
    const damaged of ["{", "null", '{"keys": 5}', text.replace(/KEY-----\\n..../, "KEY-----\\n")]
  ) {
    await Deno.writeTextFile(cloud.path("release.key"), damaged);
    const { code, message } = await failure(addRelease(client, "1.1.0"));
    assert.equal(code, Code.FailedPrecondition, damaged);
    assert.match(message, /release\.key is damaged; put it back from a backup/, damaged);
  }
  await Deno.writeTextFile(cloud.path("release.key"), text);
  await addRelease(client, "1.1.0");
  assert.equal((await client.getReleaseKey({})).keys.length, 1);
});

Deno.test("CommandAgent() reaches the agent until it is done or the deadline is exceeded", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const { made, agent } = await testMachine(cloud, "one");
  await clock.advance(1);
  const second = await cloud.bootstrap({ organization: "Second" });
  const client = releases(cloud, made);
  const partId = made.part_id;
  const heard = async (finishedCommands: string[] = []) => {
    const { commands } = await agent.reportAgentStatus({ partId, status: { finishedCommands } });
    return commands;
  };
  const force = { partId, program: "machine-server", action: ProgramCommand_Action.FORCE };

  assert.deepEqual(await heard(), []);
  const { command, expiresAt } = await client.commandAgent(force);
  assert.equal(
    Number(expiresAt?.seconds) * 1_000 + Number(expiresAt?.nanos) / 1e6,
    clock.now().getTime() + 3_600_000,
  );
  await clock.advance(1_000);
  await client.commandAgent({
    partId,
    program: "machine-agent",
    action: ProgramCommand_Action.FORGET_BAD,
    version: "1.2.3",
    validFor: { seconds: 5n },
  });
  const [first, next] = await heard();
  assert.deepEqual([first?.id, first?.program, first?.action], [
    command?.id,
    "machine-server",
    ProgramCommand_Action.FORCE,
  ]);
  assert.deepEqual([next?.program, next?.version], ["machine-agent", "1.2.3"]);
  assert.equal((await heard([first?.id ?? ""])).length, 1);
  await clock.advance(5_000);
  assert.deepEqual(await heard(), []);

  const wrong: [call: object, code: Code][] = [
    [{ program: "machine-cloud" }, Code.InvalidArgument],
    [{ action: ProgramCommand_Action.UNSPECIFIED }, Code.InvalidArgument],
    [{ validFor: { seconds: 0n } }, Code.InvalidArgument],
    [{ validFor: { seconds: 8n * 86_400n } }, Code.InvalidArgument],
    [{ partId: second.part_id }, Code.NotFound],
    [{ partId: "" }, Code.InvalidArgument],
  ];
  for (const [fields, code] of wrong) {
    assert.equal((await failure(client.commandAgent({ ...force, ...fields }))).code, code);
  }
  const asPart = cloud.client(ReleaseService, partSecret(made));
  assert.equal((await failure(asPart.commandAgent(force))).code, Code.PermissionDenied);
  const own = releases(cloud, second);
  await own.commandAgent({ ...force, partId: second.part_id });
  for (let at = 0; at < 20; at++) await client.commandAgent(force);
  assert.equal((await failure(client.commandAgent(force))).code, Code.ResourceExhausted);
});

function blobsOf(cloud: TestCloud): string[] {
  const folders = ["releases", "releases/incoming"].map((name) => cloud.path(name));
  return folders.flatMap((folder) =>
    [...Deno.readDirSync(folder)].filter((entry) => entry.isFile).map((entry) => entry.name)
  );
}
