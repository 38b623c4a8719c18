/** What the spec says of notifications (§2.1, §6, §7), a test a row, against real receivers. */
import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { DeliveryState } from "../../../shared/gen/machine/cloud/v1/triggers_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { FakeReceiver } from "../delivery/fake_receiver.ts";
import { FakeMailServer } from "../mail/fake_mail_server.ts";
import {
  come,
  dataEvent,
  evals,
  go,
  trigger,
  TriggerRig,
  webhook,
  when,
  withTrigger,
} from "./rig_testing.ts";

// §2.1: notifications.
Deno.test("seconds_between_notifications drops and counts what comes sooner, for each entry", async () => {
  const clock = new FakeClock();
  await using receiver = FakeReceiver.start();
  const paced = {
    type: "webhook",
    value: `${receiver.origin}/paced`,
    seconds_between_notifications: 60,
  };
  const each = { type: "webhook", value: `${receiver.origin}/each` };
  await using rig = await TriggerRig.open([trigger(when(), [paced, each])], { clock });
  const paths = () => receiver.requests.map(({ path }) => path).sort();
  let cpu = 0;
  const sync = () => rig.sync({ readings: [{ readings: { cpu: cpu++ } }] });
  await sync();
  await receiver.received(2);
  await rig.settled();
  await clock.advance(59_999);
  await sync();
  await receiver.received(3);
  assert.deepEqual(paths(), ["/each", "/each", "/paced"]);
  await rig.settled();
  await clock.advance(1);
  await sync();
  await receiver.received(5);
  assert.deepEqual(paths(), ["/each", "/each", "/each", "/paced", "/paced"]);
  const { triggers: [listed] } = await rig.calls.listTriggers({});
  assert.equal(listed?.counts?.suppressed, 1n);
  assert.equal(listed.counts.fired, 3n);
});

Deno.test("seconds_between_notifications is nothing to part_online and part_offline", async () => {
  const clock = new FakeClock();
  await withTrigger(
    (receiver) =>
      trigger({ type: "part_online" }, [
        webhook(receiver, { seconds_between_notifications: 86_400 }),
      ]),
    async (rig, receiver) => {
      await come(rig);
      await receiver.received(1);
      await go(rig, clock);
      await come(rig);
      await receiver.received(2);
    },
    clock,
  );
});

Deno.test("a webhook signs in with what its URL or `auth` says, and no log has the password", async () => {
  await using receiver = FakeReceiver.start(() => new Response(null, { status: 404 }));
  const inUrl = receiver.origin.replace("://", "://user:p%40ss@");
  await using rig = await TriggerRig.open([
    trigger(when(), [
      { type: "webhook", value: `${inUrl}/a?token=t0psecret` },
      webhook(receiver, { auth: { basic: { username: "u2", password: "p2-secret" } } }),
    ]),
  ]);
  await rig.sync();
  const given = (await receiver.received(2)).map(({ headers }) =>
    atob(headers.get("authorization")?.slice("Basic ".length) ?? "")
  );
  assert.deepEqual(given.sort(), ["u2:p2-secret", "user:p@ss"]);
  const lines = await rig.logs(2);
  const { deliveries } = await rig.calls.listDeliveries({ partId: rig.partId });
  const told = JSON.stringify([
    lines.map(({ message }) => message),
    deliveries.map((d) => d.target),
  ]);
  assert.doesNotMatch(told, /p@ss|p%40ss|p2-secret|user:/);
  assert.doesNotMatch(lines.map(({ message }) => message).join(), /t0psecret/);
});

// §6: the same events by mail.
const MAILS: readonly [event: JsonObject, subject: RegExp, text: RegExp][] = [
  [
    { type: "part_online" },
    /Subject: demo: online \(t\)/,
    /Part demo-main of machine demo is online\./,
  ],
  [
    { type: "part_offline" },
    /Subject: demo: offline \(t\)/,
    /Part demo-main of machine demo is offline\./,
  ],
  [dataEvent("tabular"), /Subject: demo: data arrived \(t\)/, /has synced data of host\./],
  [
    when(evals("gt", { cpu: 40 })),
    /Subject: demo: condition met \(t\)/,
    /Condition: \{"evals":\[\{"value":\{"cpu":40\},"operator":"gt"\}\]\}|Condition: .*"operator":"gt"/,
  ],
];
for (const [event, subject, text] of MAILS) {
  Deno.test(`a mail of ${event["type"]} says so, plain and in HTML, with a link`, async () => {
    const clock = new FakeClock();
    await using mail = await FakeMailServer.start();
    const notifications = [{ type: "email", value: "ops@example.com" }];
    await using rig = await TriggerRig.open([trigger(event, notifications)], {
      clock,
      settings: { smtpUrl: mail.url, mailFrom: "Machines <cloud@example.com>" },
    });
    await rig.sync();
    await come(rig);
    if (event["type"] === "part_offline") await go(rig, clock);
    const [one] = await mail.received(1);
    assert.deepEqual(one?.to, ["ops@example.com"]);
    assert.equal(one.from, "cloud@example.com");
    assert.match(one.text, subject);
    assert.match(one.text, text);
    assert.match(one.text, /Content-Type: text\/plain/);
    assert.match(one.text, /Content-Type: text\/html/);
    assert.match(
      one.text,
      new RegExp(`http://127\\.0\\.0\\.1:8080/\\?machine=${rig.made.machine_id}`),
    );
    assert.equal(mail.mails.length, 1);
  });
}

Deno.test("all_machine_owners are those of machine, location and organisation, each once", async () => {
  await using mail = await FakeMailServer.start();
  const notifications = [
    { type: "email", value: "all_machine_owners" },
    { type: "email", value: "b@example.com" },
  ];
  await using rig = await TriggerRig.open([trigger(when(), notifications)], {
    settings: { smtpUrl: mail.url },
  });
  const { made, calls } = rig;
  const set = (resource: JsonObject, emails: string[]) =>
    calls.setOwnerEmails({ resource: { resource: resource as never }, emails });
  const { triggers: [before] } = await calls.listTriggers({});
  assert.match(before?.problem ?? "", /all_machine_owners: no address is set/);
  await set({ case: "machineId", value: made.machine_id }, ["a@example.com", "b@example.com"]);
  await set({ case: "locationId", value: made.location_id }, ["c@example.com"]);
  await set({ case: "organizationId", value: made.org_id }, ["a@example.com", "d@example.com"]);
  await rig.sync();
  const mails = await mail.received(4);
  assert.deepEqual(mails.flatMap(({ to }) => to).sort(), [
    "a@example.com",
    "b@example.com",
    "c@example.com",
    "d@example.com",
  ]);
});

// §7: failures.
Deno.test("a failed webhook of part_online is logged in the form of the spec, without a component", async () => {
  const clock = new FakeClock();
  await using receiver = FakeReceiver.start(() => new Response("no", { status: 404 }));
  const online = trigger({ type: "part_online" }, [webhook(receiver)], { name: "night" });
  await using rig = await TriggerRig.open([online], { clock });
  await come(rig);
  const [line] = await rig.logs(1);
  assert.equal(line?.level, "error");
  assert.equal(line.logger, "app.trigger.night");
  assert.equal(
    line.message,
    `Trigger failed to notify ${receiver.origin}/hook for robotPartId ${rig.partId}. ` +
      "Component: N/A, Method: N/A, TriggerType: part_online, NotificationType: webhook, " +
      "Error: received unretryable status code: 404 in webhook response, ResponseCode: 404",
  );
});

Deno.test("a failed webhook about data is logged with component and method", async () => {
  await using receiver = FakeReceiver.start(() => new Response("no", { status: 500 }));
  await using rig = await TriggerRig.open([trigger(when(), [webhook(receiver)])]);
  await rig.sync();
  const [line] = await rig.logs(1);
  assert.equal(
    line?.message,
    `Trigger failed to notify ${receiver.origin}/hook for robotPartId ${rig.partId}. ` +
      "Component: host, Method: Readings, TriggerType: conditional_data_ingested, " +
      "NotificationType: webhook, " +
      "Error: received retryable status code: 500 in webhook response, ResponseCode: 500",
  );
});

Deno.test("a 404 is not tried again, and the log of the trigger says so", async () => {
  const clock = new FakeClock();
  await using receiver = FakeReceiver.start(() => new Response("gone", { status: 404 }));
  await using rig = await TriggerRig.open([trigger(when(), [webhook(receiver)])], { clock });
  await rig.sync();
  await rig.logs(1);
  await rig.settled();
  clock.setNow(clock.now().getTime() + 60 * 60_000);
  await clock.advance(2_000);
  const { deliveries: [delivery] } = await rig.calls.listDeliveries({ partId: rig.partId });
  assert.equal(delivery?.state, DeliveryState.FAILED);
  assert.deepEqual(delivery.attempts.map(({ statusCode, response }) => [statusCode, response]), [
    [404, "gone"],
  ]);
  assert.equal(receiver.requests.length, 1);
});

Deno.test("mail without a mail server is logged, and not tried again", async () => {
  await using rig = await TriggerRig.open([
    trigger(when(), [{ type: "email", value: "a@example.com" }]),
  ]);
  await rig.sync();
  const [line] = await rig.logs(1);
  assert.match(
    line?.message ?? "",
    /notify a@example\.com .*NotificationType: email, Error: no mail server is set; .*--smtp-url, /,
  );
});
