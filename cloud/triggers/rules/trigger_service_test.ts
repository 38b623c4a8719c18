import assert from "node:assert/strict";
import { Webhook } from "standardwebhooks";
import { timestampFromMs, timestampMs } from "@bufbuild/protobuf/wkt";
import { Code } from "@connectrpc/connect";
import { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import { DeliveryState, TriggerService } from "../../../shared/gen/machine/cloud/v1/triggers_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { OVERLAP_MS } from "../delivery/signing_secrets.ts";
import { FakeReceiver } from "../delivery/fake_receiver.ts";
import { FakeMailServer } from "../mail/fake_mail_server.ts";
import { apiKey, failure, partSecret } from "../../serve/cloud_testing.ts";
import { evals, trigger, TriggerRig, webhook, when } from "./rig_testing.ts";

Deno.test("SetTrigger() and DeleteTrigger() edit the configuration, with its history", async () => {
  await using rig = await TriggerRig.open([]);
  const { calls, partId } = rig;
  const mail = [{ type: "email", value: "a@b.example" }];
  await calls.setTrigger({ partId, trigger: trigger({ type: "part_online" }, mail) });
  await calls.setTrigger({ partId, trigger: trigger({ type: "part_offline" }, mail) });
  const other = trigger({ type: "part_online" }, mail, { name: "other", notes: "n" });
  await calls.setTrigger({ partId, trigger: other, replaces: "t" });
  await calls.setTrigger({ partId, trigger: trigger({ type: "part_online" }, mail) });
  const { triggers } = await calls.listTriggers({ partId });
  assert.deepEqual(triggers.map(({ name, config }) => [name, config?.["notes"]]), [
    ["other", "n"],
    ["t", undefined],
  ]);
  assert.equal(triggers[0]?.machineName, "demo");
  await calls.deleteTrigger({ partId, name: "other" });
  const app = rig.cloud.app(rig.made);
  const { part } = await app.getRobotPart({ id: partId });
  assert.deepEqual(part?.robotConfig?.["triggers"], [trigger({ type: "part_online" }, mail)]);
  const { history } = await app.getRobotPartHistory({ id: partId });
  assert.equal(history.length, 5);
});

Deno.test("TriggerService refuses what is wrong, and says what is", async () => {
  await using rig = await TriggerRig.open([
    {
      name: "logs",
      event: { type: "conditional_logs_ingested", log_levels: ["error"] },
      notifications: [{ type: "email", value: "a@b" }],
    },
    trigger({ type: "part_online" }, [{ type: "push" }], { name: "push" }),
  ]);
  const { calls, partId } = rig;
  const bad = trigger({ type: "part_online" }, []);
  assert.match(
    (await failure(calls.setTrigger({ partId, trigger: bad }))).message,
    /triggers\[2\]\.notifications: nobody is notified/,
  );
  const cases: [() => Promise<unknown>, number, RegExp][] = [
    [() => calls.setTrigger({ partId }), Code.InvalidArgument, /the trigger is missing/],
    [
      () => calls.setTrigger({ partId, trigger: bad, replaces: "x" }),
      Code.NotFound,
      /no trigger "x"/,
    ],
    [() => calls.deleteTrigger({ partId, name: "x" }), Code.NotFound, /no trigger "x"/],
    [() => calls.testTrigger({ partId, name: "x" }), Code.NotFound, /no trigger "x"/],
    [
      () => calls.previewTrigger({ partId, name: "logs" }),
      Code.FailedPrecondition,
      /only triggers of/,
    ],
    [
      () => calls.previewTrigger({ partId, name: "push" }),
      Code.FailedPrecondition,
      /only triggers of/,
    ],
    [() => calls.getTriggerSecret({ partId, name: "" }), Code.InvalidArgument, /name is missing/],
    [
      () => calls.replayDelivery({ partId, deliveryId: "x" }),
      Code.NotFound,
      /no delivery with id "x"/,
    ],
    [() => calls.listDeliveries({ partId, pageToken: "!" }), Code.InvalidArgument, /page token/],
    [() => calls.setOwnerEmails({ emails: [] }), Code.InvalidArgument, /resource: name an/],
    [
      () =>
        calls.setOwnerEmails({
          resource: { resource: { case: "machineId", value: rig.made.machine_id } },
          emails: ["nobody"],
        }),
      Code.InvalidArgument,
      /emails: "nobody" is no e-mail address/,
    ],
  ];
  for (const [call, code, message] of cases) {
    const refused = await failure(call());
    assert.equal(refused.code, code, refused.message);
    assert.match(refused.message, message);
  }
  const { triggers } = await calls.listTriggers({});
  assert.deepEqual(triggers.map(({ problem }) => problem), [
    "",
    "notifications of type push are not sent by this cloud",
  ]);
});

Deno.test("TriggerService is for those who manage the part", async () => {
  await using rig = await TriggerRig.open([trigger(when(), [{ type: "email", value: "a@b" }])]);
  const stranger = await rig.cloud.bootstrap({ organization: "Other" });
  const app = rig.cloud.client(AppService, apiKey(rig.made));
  const { id, key } = await app.createKey({
    name: "watcher",
    authorizations: [{
      resourceType: "location",
      resourceId: rig.made.location_id,
      organizationId: rig.made.org_id,
      authorizationType: "role",
      authorizationId: "location_operator",
      identityType: "api-key",
      identityId: "",
    }],
  });
  const callers = [
    { credentials: apiKey(stranger), code: Code.NotFound },
    { credentials: partSecret(rig.made), code: Code.PermissionDenied },
    { credentials: { type: "api-key", entity: id, payload: key }, code: Code.PermissionDenied },
  ];
  const { partId } = rig;
  const resource = { case: "organizationId", value: rig.made.org_id } as const;
  for (const { credentials, code } of callers) {
    const calls = rig.cloud.client(TriggerService, credentials);
    const attempts = [
      () => calls.listTriggers({ partId }),
      () => calls.setTrigger({ partId, trigger: {} }),
      () => calls.deleteTrigger({ partId, name: "t" }),
      () => calls.previewTrigger({ partId, name: "t" }),
      () => calls.testTrigger({ partId, name: "t" }),
      () => calls.listDeliveries({ partId }),
      () => calls.replayDelivery({ partId, deliveryId: "x" }),
      () => calls.getTriggerSecret({ partId, name: "t" }),
      () => calls.rotateTriggerSecret({ partId, name: "t" }),
      () => calls.setOwnerEmails({ resource: { resource }, emails: [] }),
    ];
    for (const [at, attempt] of attempts.entries()) {
      assert.equal((await failure(attempt())).code, code, `${credentials.type} ${at}`);
    }
    assert.deepEqual((await calls.listTriggers({})).triggers, []);
  }
});

Deno.test("PreviewTrigger() shows what was found and tells nobody", async () => {
  await using receiver = FakeReceiver.start();
  await using rig = await TriggerRig.open([
    trigger(when(evals("gt", { cpu: 90 })), [webhook(receiver)]),
  ]);
  const { calls, partId } = rig;
  assert.deepEqual((await calls.previewTrigger({ partId, name: "t" })).readings, []);
  const capturedAt = new Date("2026-01-01T10:00:00Z");
  const readings = [{ readings: { cpu: 10 } }, { readings: { cpu: "hot" } }, {
    readings: { cpu: 50 },
  }];
  await rig.sync({ readings, capturedAt });
  await rig.sync({ component: "other", capturedAt });
  const saved = await calls.previewTrigger({ partId, name: "t" });
  assert.deepEqual(saved.readings.map(({ holds }) => holds), [false, false, false]);
  const unsaved = trigger(when(evals("gt", { cpu: 40 })), [webhook(receiver)]);
  const preview = await calls.previewTrigger({ partId, trigger: unsaved, limit: 2 });
  assert.deepEqual(
    preview.readings.map(({ holds, data, comparisons: [one] }) => [
      holds,
      data,
      one?.path,
      one?.problem,
    ]),
    [
      [true, { readings: { cpu: 50 } }, "cpu", ""],
      [false, { readings: { cpu: "hot" } }, "cpu", "cpu is a text, the condition has a number"],
    ],
  );
  const sinceMs = Date.now() - 60_000;
  const counted = async (since: number) =>
    (await calls.previewTrigger({ partId, trigger: unsaved, since: timestampFromMs(since) })).past;
  await rig.sync({ readings: [{ readings: { cpu: 41 } }, { readings: { cpu: 42 } }] });
  const week = await counted(0);
  // Uploads fire once, with the first reading that fulfils the condition.
  assert.deepEqual(
    [week?.fired, week?.uploads, week?.readings, week?.incomparable, week?.complete],
    [2n, 2n, 5n, 1n, true],
  );
  assert.equal(week?.oldest && timestampMs(week.oldest), capturedAt.getTime());
  assert.equal((await counted(sinceMs))?.fired, 1n);
  assert.equal((await counted(Date.now() + 60_000))?.oldest, undefined);
  assert.equal(receiver.requests.length, 0);
});

Deno.test("TestTrigger() sends a sample to everybody at once and says what came of it", async () => {
  await using mail = await FakeMailServer.start();
  await using receiver = FakeReceiver.start(({ path }) =>
    new Response("hm", { status: path === "/hook" ? 200 : 500 })
  );
  const notifications = [
    webhook(receiver, { seconds_between_notifications: 3_600 }),
    { type: "webhook", value: `${receiver.origin}/broken` },
    { type: "email", value: "ops@example.com" },
  ];
  await using rig = await TriggerRig.open(
    [trigger(when(evals("gt", { cpu: 40 })), notifications, { disabled: true })],
    { settings: { smtpUrl: mail.url } },
  );
  const { calls, partId } = rig;
  for (let n = 0; n < 2; n++) {
    const { deliveries } = await calls.testTrigger({ partId, name: "t" });
    const told = deliveries.map(({ type, target, state, test, attempts: [attempt] }) => [
      type,
      target.replace(receiver.origin, ""),
      state,
      test,
      attempt?.statusCode,
    ]).sort();
    assert.deepEqual(told, [
      ["email", "ops@example.com", DeliveryState.DELIVERED, true, 250],
      ["webhook", "/broken", DeliveryState.FAILED, true, 500],
      ["webhook", "/hook", DeliveryState.DELIVERED, true, 200],
    ]);
  }
  const [request] = receiver.requests;
  assert.match(request?.headers.get("webhook-id") ?? "", /^test_/);
  const body = JSON.parse(request?.body ?? "{}");
  assert.equal(body.component_name, "host");
  assert.deepEqual(body.data.data, { readings: { cpu: 40 } });
  assert.match(mail.mails[0]?.text ?? "", /Subject: Test: demo: condition met/);
  assert.match(mail.mails[0]?.text ?? "", /This is a test that somebody requested/);

  // What failed last stands in the settings; a mail to oneself shows what the mail server says.
  const { org_id: organizationId } = rig.made;
  const { mailFailure, webhookFailure } = await calls.getNotificationSettings({ organizationId });
  assert.equal(mailFailure, undefined);
  assert.equal(webhookFailure?.target, `${receiver.origin}/broken`);
  assert.match(webhookFailure.error, /500/);
  assert.deepEqual([webhookFailure.partId, webhookFailure.triggerName], [partId, "t"]);
  const resource = { resource: { case: "organizationId", value: organizationId } } as const;
  await calls.setOwnerEmails({ resource, emails: ["ann@example.com"] });
  const send = (to: string) => calls.sendTestMail({ organizationId, to });
  const { answer, error } = await send("ann@example.com");
  assert.match(answer, /^250 /);
  assert.equal(error, "");
  assert.deepEqual(mail.mails.at(-1)?.to, ["ann@example.com"]);
  assert.match(mail.mails.at(-1)?.text ?? "", /This is a test mail of the organisation/);
  assert.equal((await failure(send("eve@example.com"))).code, Code.InvalidArgument);
  for (let n = 0; n < 4; n++) await send("ann@example.com");
  assert.equal((await failure(send("ann@example.com"))).code, Code.ResourceExhausted);
});

Deno.test("GetTriggerSecret() and RotateTriggerSecret() verify with the published library", async () => {
  const clock = new FakeClock(Date.now());
  await using receiver = FakeReceiver.start();
  await using rig = await TriggerRig.open([trigger(when(), [webhook(receiver)])], { clock });
  const { calls, partId } = rig;
  let cpu = 0;
  const next = async () => {
    await rig.sync({ readings: [{ readings: { cpu: cpu++ } }] });
    const request = (await receiver.received(cpu))[cpu - 1];
    assert.ok(request);
    return request;
  };
  const verifies = (secret: string, { body, headers }: { body: string; headers: Headers }) => {
    try {
      new Webhook(secret).verify(body, Object.fromEntries(headers));
      return true;
    } catch {
      return false; // The library throws for what is not genuine.
    }
  };
  const { secret: first, rotatedAt } = await calls.getTriggerSecret({ partId, name: "t" });
  assert.match(first, /^whsec_[A-Za-z0-9+/]{43}=$/);
  assert.equal(rotatedAt, undefined);
  assert.equal(verifies(first, await next()), true);
  const { secret: second } = await calls.rotateTriggerSecret({ partId, name: "t" });
  assert.notEqual(second, first);
  const shown = await calls.getTriggerSecret({ partId, name: "t" });
  assert.equal(shown.secret, second);
  assert.ok(shown.rotatedAt);
  const both = await next();
  assert.equal(verifies(first, both), true);
  assert.equal(verifies(second, both), true);
  const { secret: other } = await calls.rotateTriggerSecret({ partId, name: "t" });
  assert.equal(verifies(other, both), false);
  clock.setNow(clock.now().getTime() + OVERLAP_MS);
  const later = await next();
  assert.equal(later.headers.get("webhook-signature")?.split(" ").length, 1);
});

Deno.test("ListDeliveries() has payload and attempts in pages; ReplayDelivery() sends the same again", async () => {
  await using receiver = FakeReceiver.start((_, count) =>
    new Response("sorry", { status: count === 1 ? 404 : 200 })
  );
  await using rig = await TriggerRig.open([
    trigger(when(evals("gt", { cpu: 40 })), [webhook(receiver)]),
  ]);
  const { calls, partId } = rig;
  await rig.sync({ readings: [{ readings: { cpu: 41 } }] });
  await receiver.received(1);
  const newest = async (state: DeliveryState) => {
    const { deliveries: [one] } = await calls.listDeliveries({ partId, triggerName: "t" });
    return one?.state === state ? one : undefined;
  };
  const failed = await waitFor(() => newest(DeliveryState.FAILED), { deadlineMs: 60_000 });
  assert.equal(failed.body, receiver.requests[0]?.body);
  assert.equal(failed.headers["Part-Id"], partId);
  assert.equal(failed.attempts[0]?.response, "sorry");
  assert.deepEqual(failed.evaluation, {
    readings: 1,
    comparisons: [{ operator: "gt", path: "cpu", expected: 40, found: 41, outcome: "holds" }],
  });
  const stranger = await rig.cloud.bootstrap({ organization: "Other" });
  const theirs = rig.cloud.client(TriggerService, apiKey(stranger));
  const refused = await failure(theirs.replayDelivery({ deliveryId: failed.id }));
  assert.equal(refused.code, Code.NotFound);
  assert.match(refused.message, /no delivery with id/);
  await calls.replayDelivery({ deliveryId: failed.id });
  const [first, again] = await receiver.received(2);
  assert.equal(again?.body, first?.body);
  assert.equal(again?.headers.get("webhook-id"), failed.id);
  const delivered = await waitFor(() => newest(DeliveryState.DELIVERED), { deadlineMs: 60_000 });
  assert.deepEqual(delivered.attempts.map(({ statusCode }) => statusCode), [404, 200]);

  for (let n = 0; n < 4; n++) await rig.sync({ readings: [{ readings: { cpu: 50 + n } }] });
  await receiver.received(6);
  const seen: string[] = [];
  let pageToken = "";
  do {
    const page = await calls.listDeliveries({ partId, limit: 2, pageToken });
    seen.push(...page.deliveries.map(({ id }) => id));
    pageToken = page.nextPageToken;
  } while (pageToken !== "");
  assert.equal(seen.length, 5);
  assert.equal(new Set(seen).size, 5);
  assert.deepEqual((await calls.listDeliveries({ partId, triggerName: "x" })).deliveries, []);
});
