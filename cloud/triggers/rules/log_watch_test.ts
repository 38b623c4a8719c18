import assert from "node:assert/strict";
import { create, type JsonObject } from "@bufbuild/protobuf";
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { LogEntrySchema } from "../../../shared/gen/viam/common/v1/common_pb.ts";
import { RobotService } from "../../../shared/gen/viam/app/v1/robot_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { FakeReceiver } from "../delivery/fake_receiver.ts";
import { FakeMailServer } from "../mail/fake_mail_server.ts";
import { partSecret } from "../../serve/cloud_testing.ts";
import { TOLD_EVERY_MS } from "./log_watch.ts";
import { trigger, TriggerRig, webhook } from "./rig_testing.ts";

const logged = (...levels: string[]): JsonObject => ({
  type: "conditional_logs_ingested",
  log_levels: levels,
});

/** A machine that logs, and a cloud that looks when the test says so. */
class LogRig implements AsyncDisposable {
  #lines = 0;

  private constructor(readonly rig: TriggerRig, readonly clock: FakeClock) {}

  static async open(triggers: JsonObject[], smtpUrl?: string): Promise<LogRig> {
    const clock = new FakeClock();
    const rig = await TriggerRig.open(triggers, { clock, settings: { smtpUrl } });
    await rig.cloud.services.notifications.logWatch.load();
    return new LogRig(rig, clock);
  }

  /** As the machine's server does. */
  async write(level: string, message: string, loggerName = "rdk.motor"): Promise<void> {
    // No two lines are the same one.
    const time = timestampFromDate(new Date(this.clock.now().getTime() + this.#lines++));
    const line = create(LogEntrySchema, { host: "h", level, loggerName, message, time });
    const robot = this.rig.cloud.client(RobotService, partSecret(this.rig.made));
    await robot.log({ id: this.rig.partId, logs: [line] });
  }

  look(): Promise<void> {
    return this.rig.cloud.services.notifications.logWatch.look();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.rig[Symbol.asyncDispose]();
  }
}

const messagesOf = (body: string) =>
  (JSON.parse(body) as { message: string }[]).map(({ message }) => message);

Deno.test("conditional_logs_ingested tells lines of its levels as a list", async () => {
  await using receiver = FakeReceiver.start();
  await using mail = await FakeMailServer.start();
  await using logs = await LogRig.open([
    trigger(logged("error", "warn"), [
      webhook(receiver),
      { type: "email", value: "ops@example.com" },
    ]),
  ], mail.url);
  await logs.write("info", "all is well");
  await logs.write("Warning", "it is warm");
  await logs.write("error", "it burns");
  await logs.look();
  const [request] = await receiver.received(1);
  assert.equal(request?.method, "POST");
  assert.equal(request.headers.get("content-type"), "application/json");
  assert.match(request.headers.get("webhook-signature") ?? "", /^v1,/);
  assert.equal(request.headers.get("machine-name"), "demo");
  const lines = JSON.parse(request.body) as JsonObject[];
  assert.deepEqual(lines.map(({ time: _, ...line }) => line), [
    { host: "h", level: "warn", logger_name: "rdk.motor", message: "it is warm" },
    { host: "h", level: "error", logger_name: "rdk.motor", message: "it burns" },
  ]);
  const [one] = await mail.received(1);
  assert.match(one?.text ?? "", /Subject: demo: logged \(t\)/);
  assert.match(one?.text ?? "", /Lines: .*it burns/);
});

Deno.test("conditional_logs_ingested tells an hour's lines together, whatever the spacing says", async () => {
  await using receiver = FakeReceiver.start();
  await using logs = await LogRig.open([
    trigger(logged("error"), [webhook(receiver, { seconds_between_notifications: 1e6 })]),
  ]);
  await logs.write("error", "one");
  await logs.look();
  await receiver.received(1);
  await logs.rig.settled();
  await logs.write("error", "two");
  await logs.clock.advance(TOLD_EVERY_MS - 1);
  await logs.write("error", "three");
  await logs.look();
  assert.equal(receiver.requests.length, 1);
  await logs.clock.advance(1);
  await logs.look();
  const [, second] = await receiver.received(2);
  assert.deepEqual(messagesOf(second?.body ?? ""), ["two", "three"]);
  await logs.rig.settled();
  await logs.clock.advance(TOLD_EVERY_MS);
  await logs.look();
  assert.equal(receiver.requests.length, 2, "nothing is told when nothing was logged");
});

Deno.test("conditional_logs_ingested finds what waits when the cloud starts again", async () => {
  await using receiver = FakeReceiver.start();
  await using logs = await LogRig.open([trigger(logged("error"), [webhook(receiver)])]);
  await logs.write("error", "told");
  await logs.look();
  await receiver.received(1);
  await logs.rig.settled();
  await logs.clock.advance(1_000);
  await logs.write("error", "waits");
  // Another one over the same data stands for the next run.
  const { notifications } = logs.rig.cloud.services;
  const { LogWatch } = await import("./log_watch.ts");
  const next = new LogWatch({
    ...notifications.logWatch["options"],
    intake: { listen: () => () => {} },
  });
  await next.load();
  await logs.clock.advance(TOLD_EVERY_MS);
  await next.look();
  next.close();
  const [, second] = await receiver.received(2);
  assert.deepEqual(messagesOf(second?.body ?? ""), ["waits"]);
});

Deno.test("conditional_logs_ingested finds what waited on a node that is gone, and tells it once", async () => {
  await using receiver = FakeReceiver.start();
  await using logs = await LogRig.open([trigger(logged("error"), [webhook(receiver)])]);
  const { LogWatch } = await import("./log_watch.ts");
  const other = new LogWatch({
    ...logs.rig.cloud.services.notifications.logWatch["options"],
    intake: { listen: () => () => {} },
  });
  await other.load();
  await logs.write("error", "told");
  await logs.look();
  await receiver.received(1);
  await logs.rig.settled();
  await logs.clock.advance(1_000);
  await logs.write("error", "waits");
  await logs.clock.advance(TOLD_EVERY_MS);
  await other.look();
  assert.equal(receiver.requests.length, 1, "it knows of no line");
  other.readAgain();
  await other.look();
  const [, second] = await receiver.received(2);
  assert.deepEqual(messagesOf(second?.body ?? ""), ["waits"]);
  await logs.rig.settled();
  other.readAgain();
  await logs.clock.advance(TOLD_EVERY_MS);
  await other.look();
  other.close();
  assert.equal(receiver.requests.length, 2);
});

Deno.test("conditional_logs_ingested follows the configuration, and not what triggers log", async () => {
  await using receiver = FakeReceiver.start();
  await using logs = await LogRig.open([]);
  await logs.write("error", "nobody asked");
  await logs.rig.configure([trigger(logged("error"), [webhook(receiver)])]);
  await logs.look();
  await logs.write("error", "Trigger failed to notify", "app.trigger.other");
  await logs.write("error", "asked for");
  await logs.look();
  const [first] = await receiver.received(1);
  assert.deepEqual(messagesOf(first?.body ?? ""), ["asked for"]);
  await logs.rig.settled();
  await logs.rig.configure([trigger(logged("warn"), [webhook(receiver)], { disabled: true })]);
  await logs.clock.advance(TOLD_EVERY_MS);
  await logs.look();
  await logs.write("error", "nobody asks any more");
  await logs.look();
  assert.equal(receiver.requests.length, 1);
});

Deno.test("conditional_logs_ingested tells 100 lines at most, and a test tells a sample", async () => {
  await using receiver = FakeReceiver.start();
  await using logs = await LogRig.open([trigger(logged("info"), [webhook(receiver)])]);
  for (let n = 0; n < 120; n++) await logs.write("info", `line ${n}`);
  await logs.look();
  const [request] = await receiver.received(1);
  assert.equal(messagesOf(request?.body ?? "").length, 100);
  const { calls, partId } = logs.rig;
  const { deliveries: [delivery] } = await calls.listDeliveries({ partId });
  assert.deepEqual(delivery?.evaluation, { lines: 120, log_levels: ["info"] });
  await logs.rig.settled();
  const testing = calls.testTrigger({ partId, name: "t" });
  const [, sample] = await receiver.received(2);
  await logs.rig.settled();
  await logs.clock.advance(100);
  await testing;
  assert.match(sample?.headers.get("webhook-id") ?? "", /^test_/);
  assert.deepEqual(messagesOf(sample?.body ?? ""), ["This is a sample."]);
});
