/** Triggers in a browser: made by the form, tried, delivered, replayed, changed and deleted. */
import assert from "node:assert/strict";
import type { JsonObject } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import { FakeReceiver } from "../../cloud/triggers/delivery/fake_receiver.ts";
import { DataSyncService, DataType } from "../../shared/gen/viam/app/datasync/v1/data_sync_pb.ts";
import { TriggerService } from "../../shared/gen/machine/cloud/v1/triggers_pb.ts";
import { type ConsoleRig, consoleTest } from "./console_rig.ts";
import { HOSTILE } from "./hostile_texts.ts";

const hostile = HOSTILE[0] ?? "";

/** One upload of the first machine's `host`, of now. */
async function upload(rig: ConsoleRig, readings: readonly JsonObject[]): Promise<void> {
  const time = timestampFromMs(Date.now() - 60_000);
  await rig.part(DataSyncService).dataCaptureUpload({
    metadata: {
      ...{ partId: rig.made.part_id, componentType: "rdk:component:sensor" },
      ...{ componentName: "host", methodName: "Readings", type: DataType.TABULAR_SENSOR },
    },
    sensorContents: readings.map((values) => ({
      metadata: { timeRequested: time, timeReceived: time },
      data: { case: "struct", value: { readings: values } },
    })),
  });
}

consoleTest(
  import.meta.url,
  "a trigger is made, tested, replayed, changed over another save, and deleted",
  async (rig) => {
    await using receiver = FakeReceiver.start(() => new Response("<b>got it</b>"));
    const { app, made } = rig;
    const id = made.part_id;
    const configOf = async () => (await app.getRobotPart({ id })).part?.robotConfig ?? {};
    const triggersOf = async () => (await configOf())["triggers"] as JsonObject[];
    await upload(rig, [79, 80, 81, 95].map((temperature) => ({ temperature })));
    const opened = await rig.signedIn("/triggers");
    const { page } = opened;
    await page.getByText("No triggers yet").waitFor();
    await page.getByRole("button", { name: "New trigger" }).click();
    const dialog = page.getByRole("dialog");
    const review = dialog.getByRole("button", { name: "Review" });
    await dialog.getByLabel("Receiver 1", { exact: true }).waitFor();
    assert.equal(await dialog.getByLabel("Seconds between, 1").count(), 0, "offline has none");
    await dialog.getByLabel("Event").selectOption("Data fulfils a condition");
    await review.click();
    await dialog.getByText("Give it a name").waitFor();
    await dialog.getByLabel("Name", { exact: true }).fill(hostile);
    await dialog.getByLabel("Data capture method").fill("Readings");
    await dialog.getByText("These are three names with colons").waitFor();
    const offered = (value: string) =>
      dialog.locator(`datalist option[value="${value}"]`).waitFor({ state: "attached" });
    await offered("sensor:host:Readings");
    await dialog.getByLabel("Data capture method").fill("sensor:host:Readings");
    await offered("temperature");
    await dialog.getByRole("button", { name: "Add condition" }).click();
    await dialog.getByLabel("Field 1", { exact: true }).fill("temperature");
    await dialog.getByLabel("Value 1", { exact: true }).fill("80");
    await dialog.getByLabel("Receiver 1", { exact: true }).fill(`${receiver.origin}/hook`);
    await dialog.getByLabel("Seconds between, 1").fill("60");
    await opened.inspect("triggers-form");
    await review.click();
    await dialog.getByText('"data_capture_method": "sensor:host:Readings"').waitFor();
    await dialog.getByText("In the last 7 days it would have fired 1 time.").waitFor();
    await dialog.getByText("4 readings in 1 upload").waitFor();
    await opened.inspect("triggers-past");
    await dialog.getByRole("button", { name: "Save" }).click();
    const card = page.getByRole("region", { name: hostile });
    await card.getByText("uploads a reading with temperature > 80").waitFor();
    const expected = {
      name: hostile,
      event: {
        type: "conditional_data_ingested",
        conditional: {
          data_capture_method: "sensor:host:Readings",
          conditions: { evals: [{ operator: "gt", value: { temperature: 80 } }] },
        },
      },
      notifications: [
        { type: "webhook", value: `${receiver.origin}/hook`, seconds_between_notifications: 60 },
      ],
    };
    assert.deepEqual(await triggersOf(), [expected]);

    await card.getByRole("button", { name: "Send test" }).click();
    await page.getByText("Test delivered to 1 receiver.").waitFor();
    assert.equal((await receiver.received(1))[0]?.path, "/hook");
    await card.getByText("1 attempt").click();
    await card.getByText("<b>got it</b>").waitFor();
    await card.getByText("status 200").waitFor();
    await opened.inspect("triggers");
    await card.getByRole("button", { name: "Replay" }).click();
    const [first, again] = await receiver.received(2);
    assert.equal(again?.headers.get("webhook-id"), first?.headers.get("webhook-id"));
    await card.getByText("Answer 2").waitFor();

    await card.getByRole("button", { name: "Secret", exact: true }).click();
    const secret = dialog.getByText(/^whsec_/);
    const old = await secret.innerText();
    await dialog.getByRole("button", { name: "New secret" }).click();
    await dialog.getByText("signs too for another 24 hours").waitFor();
    await opened.inspect("triggers-secret");
    await dialog.getByRole("button", { name: "Replace it" }).click();
    await dialog.getByText(/^Made/).waitFor();
    const { secret: now } = await rig.client(TriggerService)
      .getTriggerSecret({ partId: id, name: hostile });
    assert.notEqual(now, old);
    assert.equal(await secret.innerText(), now);
    await page.keyboard.press("Escape");

    // Somebody saves while the form is open: theirs stays.
    await card.getByRole("button", { name: "Edit" }).click();
    await dialog.getByLabel("Value 1", { exact: true }).fill("90");
    const theirs = await configOf();
    await app.updateRobotPart({ id, robotConfig: { ...theirs, components: [] } });
    await review.click();
    await dialog.getByText('"temperature": 90').waitFor();
    await opened.inspect("triggers-review");
    await dialog.getByRole("button", { name: "Save" }).click();
    await dialog.getByText("Somebody saved this machine’s configuration meanwhile").waitFor();
    assert.deepEqual(await triggersOf(), [expected]);
    assert.match(opened.complaints.splice(0).join("\n"), /^[^\n]*400[^\n]*UpdateRobotPart$/);
    await dialog.getByRole("button", { name: "Save" }).click();
    await card.getByText("temperature > 90").waitFor();
    assert.deepEqual((await configOf())["components"], []);

    await upload(rig, [{ humidity: 50 }]);
    await card.getByText("nothing to compare: there is no temperature").waitFor();

    await card.getByRole("button", { name: "Delete" }).click();
    await dialog.getByRole("button", { name: "Delete", exact: true }).click();
    await page.getByText("No triggers yet").waitFor();
    assert.equal(await page.evaluate("window.hacked"), undefined);

    // Owners see what failed last, and try the mail server out; this one cannot be reached.
    const { org_id: organizationId } = rig.made;
    await rig.client(TriggerService).setOwnerEmails({
      resource: { resource: { case: "organizationId", value: organizationId } },
      emails: ["ann@example.com"],
    });
    await opened.go("/organization?tab=notifications");
    await page.getByRole("button", { name: "Send a test mail to ann@example.com" }).click();
    await page.getByText("Not taken by the mail server").waitFor();
    await page.getByText("ECONNREFUSED").waitFor();
    await opened.inspect("organization-mail");
  },
  { smtpUrl: "smtp://127.0.0.1:1" },
);
