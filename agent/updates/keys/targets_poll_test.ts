import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { defaultAgentSettings } from "../../../shared/config/agent_settings_testing.ts";
import { AgentService } from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import type { DeviceConfig } from "../../settings/device_config.ts";
import type { CurrentSettings } from "../../settings/settings_source.ts";
import { FakeCloud, settle } from "../../testing.ts";
import { Watched } from "../../../shared/workers/watched.ts";
import { type Targets, TargetsPoll } from "./targets_poll.ts";

function rig() {
  const cloud = new FakeCloud();
  const clock = new FakeClock();
  const log = memoryLogger();
  const got: Targets[] = [];
  const device = (server: string | undefined): DeviceConfig => ({
    checkIntervalMs: 5_000,
    server: server === undefined ? undefined : { version: "customURL", url: server, sha256: "" },
    agent: undefined,
    sections: {},
  });
  const current = new Watched<CurrentSettings>({
    settings: defaultAgentSettings(),
    device: device("file:///kept"),
    problems: [],
  });
  const answered = new Watched(true);
  const refused = new Map<string, string>();
  const learned: string[][] = [];
  const vetted: string[] = [];
  const poll = new TargetsPoll({
    client: cloud.connection.client(AgentService),
    partId: "part-1",
    platform: "linux/amd64",
    installed: () => ({ agent: "0.1.0", server: "0.2.0" }),
    current,
    answered,
    keys: {
      learn: (keys) => Promise.resolve(void learned.push(keys.map(({ id }) => id))),
    },
    policy: {
      problemOf: (program, { version, problem }, current) => {
        vetted.push(`${program} ${version} over ${current}`);
        return Promise.resolve(problem ?? refused.get(version));
      },
    },
    trusted: () => ({ agent: "0.1.0", server: "0.1.9" }),
    onTargets: (targets) => got.push(targets),
    clock,
    log,
    random: () => 0.5,
  });
  const stop = new AbortController();
  let running: Promise<void> = Promise.resolve();
  return {
    cloud,
    clock,
    log,
    got,
    current,
    answered,
    refused,
    learned,
    vetted,
    start: () => void (running = poll.run(stop.signal).catch(() => {})),
    settingsName(server: string | undefined) {
      current.value = { ...current.value, device: device(server) };
    },
    async pass(ms: number) {
      await settle();
      await clock.advance(ms);
      await settle();
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await running;
    },
  };
}

const sha = new Uint8Array([1, 255]);

Deno.test("TargetsPoll gives what the cloud names, with all that is known of it", async () => {
  await using at = rig();
  at.cloud.targets = {
    keys: [{ id: "k1" }],
    server: {
      version: "1.2.3",
      url: "https://x/y",
      sha256: sha,
      size: 9n,
      signature: sha,
      keyId: "k1",
      platform: "linux/amd64",
    },
    agent: {},
  };
  at.start();
  await at.pass(0);
  const [question] = at.cloud.targetQuestions;
  assert.deepEqual(
    [question?.partId, question?.platform, question?.agentInstalled, question?.serverInstalled],
    ["part-1", "linux/amd64", "0.1.0", "0.2.0"],
  );
  assert.deepEqual(at.got, [{
    agent: undefined,
    server: {
      version: "1.2.3",
      url: "https://x/y",
      sha256: "01ff",
      size: 9,
      signature: "01ff",
      keyId: "k1",
      platform: "linux/amd64",
    },
  }]);
  assert.deepEqual(at.learned, [["k1"]]);
});

Deno.test("TargetsPoll passes on why there is no target, and refuses what is not right", async () => {
  await using at = rig();
  at.refused.set("1.0.1", "the signature is wrong");
  at.cloud.targets = {
    server: { problem: "there is no machine-server 9.9.9" },
    agent: { version: "1.0.1", url: "https://x" },
  };
  at.start();
  await at.pass(0);
  assert.equal(at.got[0]?.server?.problem, "there is no machine-server 9.9.9");
  assert.equal(at.got[0]?.agent?.problem, "the signature is wrong");
  assert.deepEqual(at.vetted, ["machine-agent 1.0.1 over 0.1.0", "machine-server  over 0.1.9"]);
});

Deno.test("TargetsPoll asks when the settings change, and each minute", async () => {
  await using at = rig();
  at.cloud.targets = {};
  at.start();
  await at.pass(0);
  at.settingsName("file:///b");
  await at.pass(0);
  assert.equal(at.cloud.targetQuestions.length, 2);
  await at.pass(59_999);
  assert.equal(at.cloud.targetQuestions.length, 2);
  await at.pass(1);
  assert.equal(at.cloud.targetQuestions.length, 3);
  assert.deepEqual(at.got.at(-1), { agent: undefined, server: undefined });
});

Deno.test("TargetsPoll takes the settings of a cloud that knows no targets", async () => {
  await using at = rig();
  at.start();
  await at.pass(0);
  const named = (url: string): Targets => ({
    agent: undefined,
    server: { version: "customURL", url, sha256: "" },
  });
  assert.deepEqual(at.got, [named("file:///kept")]);
  at.settingsName("file:///b");
  await at.pass(0);
  assert.deepEqual(at.got.at(-1), named("file:///b"));
  assert.equal(at.cloud.targetQuestions.length, 1, "it is not asked again soon");
  at.settingsName(undefined);
  await at.pass(0);
  assert.equal(at.got.at(-1)?.server, undefined);
  assert.equal(at.log.messages("info").length, 1);
  at.cloud.targets = { server: { version: "2.0.0", url: "https://x" } };
  await at.pass(11 * 60_000);
  assert.equal(at.got.at(-1)?.server?.version, "2.0.0", "the cloud was replaced");
});

Deno.test("TargetsPoll leaves everything as it is while the cloud is away", async () => {
  await using at = rig();
  at.answered.value = false;
  at.start();
  await at.pass(60_000);
  assert.equal(at.cloud.targetQuestions.length, 0, "what was kept of an earlier run is no news");
  at.cloud.failure = Code.Unavailable;
  at.answered.value = true;
  await at.pass(5_000);
  assert.equal(at.cloud.targetQuestions.length, 2);
  assert.equal(at.got.length, 0);
  at.cloud.failure = undefined;
  at.cloud.targets = { server: { version: "1.0.0", url: "https://x" } };
  await at.pass(60_000);
  assert.equal(at.got[0]?.server?.version, "1.0.0");
});

Deno.test("TargetsPoll asks the same of what settings name as of what the cloud signs", async () => {
  await using at = rig();
  at.refused.set("customURL", "it is not signed");
  at.start();
  await at.pass(0);
  assert.deepEqual(at.got, [{
    agent: undefined,
    server: {
      version: "customURL",
      url: "file:///kept",
      sha256: "",
      problem: "it is not signed",
    },
  }]);
});
