import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { waitFor } from "../../shared/base/time/wait_for.ts";
import { AccountService } from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { addOwner } from "../local/people/people_command.ts";
import { TestCloud } from "../serve/cloud_testing.ts";
import { systemRandom } from "../storage/keys/random.ts";
import { FakeMailServer } from "../triggers/mail/fake_mail_server.ts";

const ANN = "ann@example.com";

Deno.test("invitations and resets wait for a mail server that is down, and tell nobody who is here", async () => {
  let isDown = true;
  await using server = await FakeMailServer.start({
    onConnect: (_, callback) => callback(isDown ? new Error("go away") : null),
  });
  const notifications = { smtpUrl: server.url, mailFrom: "cloud@example.com" };
  await using cloud = await TestCloud.open({ notifications });
  const made = await cloud.bootstrap();
  const deps = { clock: cloud.clock, random: systemRandom };
  await addOwner(cloud.folder.database.queries, { email: ANN, orgId: made.org_id }, deps);
  const app = cloud.app(made);
  const account = cloud.client(AccountService);

  const invitation = { organizationId: made.org_id, email: "bob@example.com" };
  const told = await app.createOrganizationInvite(invitation).then(
    () => undefined,
    (error) => error,
  );
  assert.ok(told instanceof ConnectError);
  assert.equal(told.code, Code.Unavailable);
  assert.match(told.message, /invitation is kept.*mail server.*ResendOrganizationInvite/s);
  const invited = async () =>
    (await app.listOrganizationMembers({ organizationId: made.org_id })).invites
      .map(({ email }) => email);
  assert.deepEqual(await invited(), ["bob@example.com"]);
  // Both are answered alike, whatever the mail server says.
  for (const email of [ANN, "nobody@example.com"]) await account.requestPasswordReset({ email });
  assert.deepEqual(server.mails, []);

  isDown = false;
  await app.resendOrganizationInvite(invitation);
  // One that could not be sent is no reason to make somebody wait for the next.
  await waitFor(async () => {
    await account.requestPasswordReset({ email: ANN });
    return server.mails.some(({ to }) => to.includes(ANN));
  }, { deadlineMs: 60_000, what: "the reset is mailed" });
  assert.deepEqual(
    new Set(server.mails.flatMap(({ to }) => to)),
    new Set(["bob@example.com", ANN]),
  );
  assert.deepEqual(await invited(), ["bob@example.com"]);
});
