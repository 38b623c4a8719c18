import assert from "node:assert/strict";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { FakeMailServer } from "../../triggers/mail/fake_mail_server.ts";
import { TrainingCloud } from "../../serve/training_testing.ts";
import { writeOwners } from "../../triggers/rules/owners.ts";
import { fails, FakeRunner } from "./queue_testing.ts";

async function withOwners(it: TrainingCloud, emails: readonly string[]): Promise<void> {
  const { queries } = it.cloud.folder.database;
  const { org_id, robot_id } = { robot_id: it.made.machine_id, ...it.made };
  await writeOwners(queries, org_id, { type: "organization", id: org_id }, emails);
  // Who owns one machine has nothing to do with the organisation's models.
  await writeOwners(queries, org_id, { type: "robot", id: robot_id }, ["other@example.com"]);
}

Deno.test("EndMailer tells the owners of the organisation that a job has ended, once each", async () => {
  await using server = await FakeMailServer.start();
  const runner = new FakeRunner();
  await using it = await TrainingCloud.open({
    training: { runner },
    notifications: { smtpUrl: server.url, mailFrom: "cloud@example.com" },
  });
  await withOwners(it, ["ann@example.com", "bob@example.com"]);
  const script = await it.script();
  const made = await it.submit(script);
  await it.ends(made);
  const [first, second] = await server.received(2);
  assert.deepEqual([first?.to, second?.to], [["ann@example.com"], ["bob@example.com"]]);
  assert.match(first?.text ?? "", /^Subject: shape-model 1: training completed$/m);
  assert.match(first?.text ?? "", /Machines can use it as package [\w-]+\/shape-model\./);
  assert.match(first?.text ?? "", /^accuracy: 0\.5$/m);
  assert.match(first?.text ?? "", /<th [^>]*>Dataset<\/th><td [^>]*>shapes<\/td>/);
  assert.match(first?.text ?? "", new RegExp(`<training-${made}-[0-9a-f]{16}@example\\.com>`));
  assert.match(first?.text ?? "", new RegExp(`machine-cloud training logs ${made}`));

  runner.behave = fails;
  await it.ends(await it.submit(script));
  const mails = await server.received(4);
  assert.match(mails[2]?.text ?? "", /^Subject: shape-model 2: training failed$/m);
  assert.match(mails[2]?.text ?? "", /^Reason: exit code 3: no luck$/m);
  assert.equal(server.mails.length, 4);
});

Deno.test("EndMailer leaves the job alone when the mail is refused, and says so in its log", async () => {
  await using server = await FakeMailServer.start({
    onRcptTo: (_address, _session, callback) => callback(new Error("nobody here")),
  });
  await using it = await TrainingCloud.open({
    training: { runner: new FakeRunner() },
    notifications: { smtpUrl: server.url, mailFrom: "cloud@example.com" },
  });
  await withOwners(it, ["ann@example.com"]);
  const id = await it.submit(await it.script());
  const before = await it.ends(id);
  const isTold = async () => (await it.log(id)).at(-1)?.startsWith("could not send the mail");
  await waitFor(isTold, { deadlineMs: 60_000, what: "the line about the mail" });
  assert.deepEqual(await it.job(id), before);
});
