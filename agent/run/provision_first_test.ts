import assert from "node:assert/strict";
import { join } from "node:path";
import { toJson } from "@bufbuild/protobuf";
import { Code } from "@connectrpc/connect";
import { CredentialsError } from "../../shared/cloud/credentials/credentials_file.ts";
import { AgentStatusSchema } from "../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { FakeNetworkManager, noBus } from "../networks/manager/fake_network_manager.ts";
import { FakeCloud, testHost } from "../testing.ts";
import { NewCredentials } from "./new_credentials.ts";
import type { NetworkSystem } from "./network_system.ts";
import { networkSystem } from "./network_system.ts";
import { type AgentRig, agentTest as test } from "./testing.ts";

function withNetworks(at: AgentRig, openBus: NetworkSystem["openBus"]): void {
  at.networks = {
    hasBus: () => true,
    openBus,
    hasBluetooth: () => false,
    reboot: () => Promise.resolve("not in a test"),
    bootClock: { boot: "b", uptimeMs: () => performance.now() },
    dnsmasqFolder: join(at.dir, "dnsmasq"),
  };
}

const CREDENTIALS = {
  cloud: { app_address: "http://127.0.0.1:1", id: "part-1", secret: "hush-hush" },
};

test("runAgent() without credentials opens the hotspot, and goes on when they come", async (at) => {
  const nm = new FakeNetworkManager();
  withNetworks(at, () => Promise.resolve(nm));
  await Deno.remove(at.credentialsFile);
  at.run();
  await waitFor(() => nm.isHotspot, { deadlineMs: 60_000 });
  const report = await at.reported(({ networks }) => networks?.state === "provisioning");
  assert.match(report.waiting_for, /machine\.json is missing/);
  assert.ok(at.told.includes("ready"));
  await at.writeCredentials(CREDENTIALS);
  await at.serving(1);
  assert.equal(nm.isHotspot, false);
});

test("runAgent() without credentials ends cleanly when it is told to", async (at) => {
  const nm = new FakeNetworkManager();
  withNetworks(at, () => Promise.resolve(nm));
  await Deno.remove(at.credentialsFile);
  const agent = at.run();
  await waitFor(() => nm.isHotspot, { deadlineMs: 60_000 });
  await agent.stop();
  assert.equal(nm.profiles.size, 0);
});

test("runAgent() without credentials ends at once where networks are left alone", async (at) => {
  await Deno.remove(at.credentialsFile);
  await assert.rejects(at.run().ended, CredentialsError);
  withNetworks(at, noBus);
  const defaults = { advanced_settings: { disable_network_configuration: true } };
  await Deno.writeTextFile(join(at.dir, "defaults.json"), JSON.stringify(defaults));
  await assert.rejects(at.run().ended, CredentialsError);
  await assert.rejects(Deno.stat(at.agentDir), Deno.errors.NotFound);
});

test("NewCredentials asks the cloud, writes for the owner alone, and finds what is there", async (at) => {
  const cloud = new FakeCloud();
  const secrets: string[] = [];
  const file = join(at.dir, "new.json");
  const credentials = new NewCredentials(
    file,
    { openCloud: () => cloud.connection, host: testHost, version: "1" },
    { add: (values) => void secrets.push(...values) },
  );
  const chosen = { appAddress: "https://cloud:1", partId: "p", key: { id: "k", key: "s3cret" } };
  const never = new AbortController().signal;
  assert.equal(await credentials.check(chosen, never), "accepted");
  cloud.failure = Code.Unauthenticated;
  assert.equal(await credentials.check(chosen, never), "refused");
  cloud.failure = Code.Unavailable;
  assert.equal(await credentials.check(chosen, never), "unreachable");
  assert.ok(secrets.includes("s3cret"));
  await credentials.look();
  assert.equal(credentials.has(), false);
  await credentials.write(chosen);
  assert.deepEqual([credentials.has(), credentials.appAddress], [true, "https://cloud:1"]);
  assert.equal(((await Deno.stat(file)).mode ?? 0) & 0o777, 0o600);
  assert.deepEqual(JSON.parse(await Deno.readTextFile(file)), {
    cloud: { app_address: "https://cloud:1", id: "p", api_key: { id: "k", key: "s3cret" } },
  });
});

test("where networks cannot be tended, what asks for it is told once, in log, status and cloud", async (at) => {
  const runProgram = () => Promise.resolve({ code: 0, stdout: "", stderr: "" });
  at.networks = networkSystem("windows", {}, false, runProgram);
  at.cloud.targets = {};
  at.cloud.answer = {
    ...at.cloud.answer,
    additionalNetworks: { home: { type: "wifi", ssid: "Home", psk: "correct horse" } },
  };
  const agent = at.run();
  const text = "agent.additional_networks has no effect: networks are tended on Linux";
  const report = await at.reported(({ networks }) => (networks?.problems.length ?? 0) > 0);
  assert.equal(report.networks?.state, "unavailable");
  assert.ok(report.networks?.problems[0]?.startsWith(text), `${report.networks?.problems}`);
  const isReported = () =>
    at.cloud.reports.some((one) => JSON.stringify(toJson(AgentStatusSchema, one)).includes(text));
  await waitFor(isReported, { deadlineMs: 60_000, what: "the report to the cloud" });
  await agent.stop();
  assert.equal(at.logs().filter((line) => line.includes(text)).length, 1);
});

Deno.test("networkSystem() says in a clause where networks are left alone", () => {
  const run = () => Promise.resolve({ code: 0, stdout: "", stderr: "" });
  assert.match(String(networkSystem("windows", {}, false, run)), /Linux with NetworkManager/);
  assert.match(String(networkSystem("linux", {}, true, run)), /--dev-mode/);
  const env = { DBUS_SYSTEM_BUS_ADDRESS: "unix:path=/x" };
  assert.equal(typeof networkSystem("linux", env, true, run), "object");
});
