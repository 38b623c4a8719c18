/** From a sensor on a machine to a verified webhook and a mail, with the real programs. */
import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { createHmac } from "node:crypto";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { FakeReceiver, type ReceivedRequest } from "../../cloud/triggers/delivery/fake_receiver.ts";
import { FakeMailServer } from "../../cloud/triggers/mail/fake_mail_server.ts";
import { eventually, type Rig, rigTest } from "./rig.ts";

/** For what waits for two programs and, where it is offline that is waited for, for seconds. */
const DEADLINE_MS = 180_000;

function trigger(name: string, event: JsonObject, hook: string): JsonObject {
  return {
    name,
    event,
    notifications: [{ type: "webhook", value: hook }, { type: "email", value: "ops@example.com" }],
  };
}

/** A sensor whose readings are captured and uploaded at once, and a trigger of each type. */
function config(rig: Rig, origin: string): JsonObject {
  return {
    ...rig.defaultConfig(),
    components: [{
      name: "boiler",
      api: "rdk:component:sensor",
      model: "rdk:builtin:fake",
      attributes: { readings: { temperature: 91, place: { floor: 2 } } },
      service_configs: [{
        type: "rdk:service:data_manager",
        attributes: {
          capture_methods: [{ method: "Readings", capture_frequency_hz: 5, tags: ["heat"] }],
        },
      }],
    }],
    services: [{
      name: "data",
      api: "rdk:service:data_manager",
      model: "rdk:builtin:builtin",
      attributes: { sync_interval_mins: 0.005 },
    }],
    triggers: [
      trigger("comes", { type: "part_online" }, `${origin}/comes`),
      trigger("goes", { type: "part_offline" }, `${origin}/goes`),
      trigger("any", {
        type: "part_data_ingested",
        data_ingested: { data_types: ["tabular"] },
      }, `${origin}/any`),
      trigger("hot", {
        type: "conditional_data_ingested",
        conditional: {
          data_capture_method: "sensor:boiler:Readings",
          conditions: {
            evals: [
              { operator: "gt", value: { temperature: 80 } },
              { operator: "lt", value: { place: { floor: 3 } } },
            ],
          },
        },
      }, `${origin}/hot`),
      trigger("cold", {
        type: "conditional_data_ingested",
        conditional: {
          data_capture_method: "sensor:boiler:Readings",
          conditions: { evals: [{ operator: "lt", value: { temperature: 80 } }] },
        },
      }, `${origin}/cold`),
    ],
  };
}

/** The signing secret, from the command line as a person gets it. */
async function secretOf(rig: Rig, name: string): Promise<string> {
  const args = ["trigger", "secret", "--data", join(rig.dir, "cloud"), name];
  const { code, stdout, stderr } = await rig.run("machine-cloud", args);
  assert.equal(code, 0, stderr);
  return stdout.trim();
}

/** As the Standard Webhooks specification has it, without our own code. */
function assertGenuine({ headers, body }: ReceivedRequest, secret: string): void {
  const id = headers.get("webhook-id") ?? "";
  const timestamp = headers.get("webhook-timestamp") ?? "";
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const signature = createHmac("sha256", key).update(`${id}.${timestamp}.${body}`)
    .digest("base64");
  assert.equal(headers.get("webhook-signature"), `v1,${signature}`);
  assert.match(id, /^msg_[0-9a-f]{32}$/);
  assert.ok(Math.abs(Date.now() / 1_000 - Number(timestamp)) < 300, timestamp);
}

const of = (receiver: FakeReceiver, path: string) =>
  receiver.requests.filter((request) => request.path === path);

function came(receiver: FakeReceiver, path: string): Promise<ReceivedRequest> {
  return eventually(`a webhook to ${path}`, () => {
    return Promise.resolve(of(receiver, path)[0]);
  }, DEADLINE_MS);
}

function mailed(mail: FakeMailServer, subject: RegExp): Promise<string> {
  return eventually(`a mail with ${subject}`, () => {
    return Promise.resolve(mail.mails.find(({ text }) => subject.test(text))?.text);
  }, DEADLINE_MS);
}

/** The ids that every webhook has. */
function assertIds(rig: Rig, { headers }: ReceivedRequest): void {
  const { org_id, location_id, machine_id, part_id } = rig.bootstrapped;
  assert.deepEqual(
    ["Org-Id", "Location-Id", "Robot-Id", "Part-Id", "Part-Name"].map((name) => headers.get(name)),
    [org_id, location_id, machine_id, part_id, "bench-main"],
  );
}

const NAMES = ["Organization-Name", "Location-Name", "Machine-Name"];
const namesIn = ({ headers }: ReceivedRequest) => NAMES.map((name) => headers.get(name));

rigTest(
  "a machine comes, captures, fulfils a condition and goes: webhooks and mails",
  async (rig) => {
    await using receiver = FakeReceiver.start();
    await using mail = await FakeMailServer.start();
    await rig.bootstrap(config(rig, receiver.origin));
    await rig.startCloud([
      ...["--allow-private-webhooks", "--offline-after", "20"],
      ...["--smtp-url", mail.url, "--mail-from", "cloud@example.com"],
    ]);
    const machine = await rig.startServer();

    const online = await came(receiver, "/comes");
    assert.deepEqual([online.method, online.body], ["GET", ""]);
    assertIds(rig, online);
    assert.deepEqual(namesIn(online), ["Test", "Lab", "bench"]);
    assertGenuine(online, await secretOf(rig, "comes"));
    await mailed(mail, /Subject: bench: online \(comes\)/);

    const hot = await came(receiver, "/hot");
    assert.equal(hot.method, "POST");
    assertIds(rig, hot);
    assert.deepEqual(namesIn(hot), [null, null, null], "the body has the names");
    assertGenuine(hot, await secretOf(rig, "hot"));
    const { data, ...about } = JSON.parse(hot.body);
    assert.deepEqual(about, {
      component_name: "boiler",
      component_type: "rdk:component:sensor",
      method_name: "Readings",
      machine_name: "bench",
      location_name: "Lab",
      org_name: "Test",
      data_type: "tabular",
      trigger_condition: {
        evals: [
          { operator: "gt", value: { temperature: 80 } },
          { operator: "lt", value: { place: { floor: 3 } } },
        ],
      },
    });
    assert.deepEqual(data.data, { readings: { temperature: 91, place: { floor: 2 } } });
    for (const time of [data.metadata.received_at, data.metadata.requested_at]) {
      assert.ok(Math.abs(Date.parse(time) - Date.now()) < 120_000, time);
    }
    await mailed(mail, /Subject: bench: condition met \(hot\)/);

    const any = await came(receiver, "/any");
    assertGenuine(any, await secretOf(rig, "any"));
    const { min_time_received, max_time_received, file_id } = JSON.parse(any.body);
    assert.ok(Date.parse(min_time_received) <= Date.parse(max_time_received));
    assert.ok(file_id);

    await machine.stop(10_000);
    const offline = await came(receiver, "/goes");
    assert.deepEqual([offline.method, offline.body], ["GET", ""]);
    assert.deepEqual(namesIn(offline), ["Test", "Lab", "bench"]);
    assertGenuine(offline, await secretOf(rig, "goes"));
    await mailed(mail, /Subject: bench: offline \(goes\)/);

    assert.deepEqual(of(receiver, "/cold"), []);
    assert.equal(of(receiver, "/comes").length, 1, "once for each time it comes");
    const ids = receiver.requests.map(({ headers }) => headers.get("webhook-id"));
    assert.equal(new Set(ids).size, ids.length, "nothing is told twice");
  },
);
