import assert from "node:assert/strict";
import { Code, createClient } from "@connectrpc/connect";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { AccountService, AuditService } from "../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { MachineService } from "../../shared/gen/machine/cloud/v1/machine_pb.ts";
import { AuthService } from "../../shared/gen/proto/rpc/v1/auth_pb.ts";
import { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";
import { createInProcessTransport } from "../../shared/rpc/server/in_process.ts";
import { addOwner } from "../local/people/people_command.ts";
import { failure, partSecret, TestCloud } from "../serve/cloud_testing.ts";
import { apiKey } from "../serve/cloud_testing.ts";
import { systemRandom } from "../storage/keys/random.ts";
import { createLink } from "./links/one_time_links.ts";
import { userByEmail, type UserRow } from "./people/users.ts";
import { codeOf, stepAt } from "./second_factor/totp.ts";

const PASSWORD = "correct horse battery";
const ANN = "ann@example.com";

/** A client with an access token, or without one. */
function clientOf(cloud: TestCloud, token?: string) {
  const inner = cloud.transport();
  const headers = (init?: HeadersInit) => {
    const all = new Headers(init);
    if (token) all.set("authorization", `Bearer ${token}`);
    return all;
  };
  const transport: typeof inner = {
    unary: (method, signal, timeout, header, input, values) =>
      inner.unary(method, signal, timeout, headers(header), input, values),
    stream: (method, signal, timeout, header, input, values) =>
      inner.stream(method, signal, timeout, headers(header), input, values),
  };
  return {
    app: createClient(AppService, transport),
    account: createClient(AccountService, transport),
    audit: createClient(AuditService, transport),
  };
}

async function ownerOf(cloud: TestCloud, orgId: string, email = ANN) {
  const deps = { clock: cloud.clock, random: systemRandom };
  const token = await addOwner(cloud.folder.database.queries, { email, orgId }, deps);
  await cloud.services.changes.drain();
  await clientOf(cloud).account.setPassword({ token: token ?? "", password: PASSWORD });
  return await signIn(cloud, email);
}

async function signIn(cloud: TestCloud, email: string, code = "") {
  const { result } = await clientOf(cloud).account.signIn({ email, password: PASSWORD, code });
  assert.equal(result.case, "signedIn");
  return clientOf(cloud, result.value.accessToken);
}

/** Invites somebody and takes the link out of the mail. */
async function join(
  cloud: TestCloud,
  owner: Awaited<ReturnType<typeof ownerOf>>,
  made: { org_id: string },
  email: string,
  authorization?: { authorizationId: string; resourceType: string; resourceId: string },
) {
  await owner.app.createOrganizationInvite({
    organizationId: made.org_id,
    email,
    authorizations: authorization ? [{ authorizationType: "role", ...authorization }] : [],
  });
  const token = await cloud.services.accounts.invitations.renew({ orgId: made.org_id, email });
  await clientOf(cloud).account.acceptInvitation({ token, password: PASSWORD });
  return { token, ...await signIn(cloud, email) };
}

Deno.test("an owner signs in, works in two organisations, and each lists what is its own", async () => {
  await using cloud = await TestCloud.open();
  const [acme, other, third] = [
    await cloud.bootstrap({ organization: "Acme" }),
    await cloud.bootstrap({ organization: "Other" }),
    await cloud.bootstrap({ organization: "Third" }),
  ];
  const { app, account } = await ownerOf(cloud, acme.org_id);
  const deps = { clock: cloud.clock, random: systemRandom };
  const { queries } = cloud.folder.database;
  await addOwner(queries, { email: "ANN@example.com".toLowerCase(), orgId: other.org_id }, deps);
  await cloud.services.changes.drain();

  const { organizations } = await app.listOrganizations({});
  const here = await app.listLocations({ organizationId: other.org_id });
  const robots = await app.listRobotsForOrg({ orgId: acme.org_id });
  const saved = await app.updateRobotPart({ id: other.part_id, name: "main", robotConfig: {} });
  const hidden = await failure(app.getRobot({ id: third.machine_id }));
  const { grants } = await account.getAccount({});

  assert.deepEqual(organizations.map(({ id }) => id).sort(), [acme.org_id, other.org_id].sort());
  assert.deepEqual(here.locations.map(({ id }) => id), [other.location_id]);
  assert.deepEqual(robots.robots.map(({ id }) => id), [acme.machine_id]);
  assert.equal(saved.part?.id, other.part_id);
  assert.equal(hidden.code, Code.NotFound);
  assert.deepEqual(grants.map((each) => each.organizationName), ["Acme", "Other"]);
  const keyed = await failure(app.createKey({
    name: "both",
    authorizations: [acme, other].map((made) => ({
      authorizationId: "organization_owner",
      resourceType: "organization",
      resourceId: made.org_id,
    })),
  }));
  assert.match(keyed.message, /multiple orgs/);
});

Deno.test("wrong passwords, unknown people and used links answer alike and sign nobody in", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  await ownerOf(cloud, made.org_id);
  const { account } = clientOf(cloud);
  const wrong = await failure(account.signIn({ email: ANN, password: "something else" }));
  const nobody = await failure(account.signIn({ email: "x@example.com", password: PASSWORD }));
  assert.deepEqual(wrong, nobody);
  assert.equal(wrong.code, Code.Unauthenticated);
  const deps = { clock: cloud.clock, random: systemRandom };
  const { queries } = cloud.folder.database;
  const token = await addOwner(queries, { email: "ben@example.com", orgId: made.org_id }, deps);
  const weak = await failure(account.setPassword({ token: token!, password: "short" }));
  assert.match(weak.message, /at least 8/);
  await account.setPassword({ token: token!, password: PASSWORD });
  const again = await failure(account.setPassword({ token: token!, password: PASSWORD }));
  assert.equal(again.code, Code.Unauthenticated);
  // All at once: one after the other, a slow host leaves time for more.
  const guesses = Array.from({ length: 25 }, (_, at) => `guess ${at}`)
    .map((password) => failure(account.signIn({ email: "none@example.com", password })));
  const codes = (await Promise.all(guesses)).map(({ code }) => code);
  assert(codes.includes(Code.ResourceExhausted), `${codes}`);
});

Deno.test("tokens that somebody made up cost no hashing of a password", async () => {
  await using cloud = await TestCloud.open();
  await cloud.bootstrap();
  const { account } = clientOf(cloud);
  // More at once than may wait for a hash.
  const guesses = Array.from({ length: 12 }, (_, at) => `token ${at}`)
    .map((token) => failure(account.setPassword({ token, password: PASSWORD })));
  const codes = (await Promise.all(guesses)).map(({ code }) => code);
  assert.deepEqual(new Set(codes), new Set([Code.Unauthenticated]));
});

Deno.test("a session ends at once: by its person, by a new password, and by time", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const first = await ownerOf(cloud, made.org_id);
  const second = await signIn(cloud, ANN);
  const machine = cloud.client(MachineService, partSecret(made));
  const before = await machine.listAccessKeys({ partId: made.part_id });

  const { sessions } = await first.account.listSessions({});
  assert.deepEqual(sessions.map((each) => each.isCurrent).sort(), [false, true]);
  await first.account.endSession({ allOthers: true });
  const ended = await failure(second.app.listOrganizations({}));
  assert.equal(ended.code, Code.Unauthenticated);
  assert.match(ended.message, /session is no longer valid/);
  await first.app.listOrganizations({});
  const after = await machine.listAccessKeys({ partId: made.part_id });
  assert.notDeepEqual(before.keys, after.keys, "machines end the person's connections");

  await first.account.changePassword({ oldPassword: PASSWORD, newPassword: "another good one" });
  await first.app.listOrganizations({});
  const old = await failure(clientOf(cloud).account.signIn({ email: ANN, password: PASSWORD }));
  assert.equal(old.code, Code.Unauthenticated);
  const { queries } = cloud.folder.database;
  await queries.updateTable("sessions").set({ expires_at: 1 }).execute();
  await cloud.services.accounts.sessions.sweep();
  assert.equal((await failure(first.app.listOrganizations({}))).code, Code.Unauthenticated);
});

Deno.test("nobody who was proving the old password is in after a new one is set", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const { account } = await ownerOf(cloud, made.org_id);
  const { signIn, sessions } = cloud.services.accounts;
  const origin = { address: "192.0.2.66", client: "thief" };
  const { queries } = cloud.folder.database;
  const reset = async (user: UserRow) => {
    const token = await queries.transaction().execute((transaction) =>
      createLink(transaction, { userId: user.id, purpose: "set-password" }, {
        ...{ random: systemRandom, now: cloud.clock.now() },
      })
    );
    await account.setPassword({ token, password: "another good one" });
  };
  // It is set between the proof and the session, as the hash of the proof takes a while.
  const begin = signIn.begin.bind(signIn);
  signIn.begin = async (user, ...rest) => {
    await reset(user);
    return await begin(user, ...rest);
  };
  const thief = signIn.byPassword({ email: ANN, password: PASSWORD, code: "" }, origin);
  assert.equal((await failure(thief)).code, Code.Unauthenticated);
  signIn.begin = begin;
  const user = await userByEmail(queries, ANN);
  assert.deepEqual(await sessions.list(user!.id), []);
  const given = { email: ANN, password: "another good one", code: "" };
  assert.equal((await signIn.byPassword(given, origin)).kind, "signed in");
});

Deno.test("an invitation gives what it says, once, also when two accept it at the same time", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const owner = await ownerOf(cloud, made.org_id);
  const { app } = owner;
  await app.createOrganizationInvite({
    organizationId: made.org_id,
    email: "Ben@Example.com ",
    authorizations: [{
      authorizationType: "role",
      authorizationId: "location_operator",
      resourceType: "location",
      resourceId: made.location_id,
    }],
  });
  const email = "ben@example.com";
  const twice = await failure(app.createOrganizationInvite({ organizationId: made.org_id, email }));
  assert.equal(twice.code, Code.AlreadyExists);
  const token = await cloud.services.accounts.invitations.renew({ orgId: made.org_id, email });
  const { account } = clientOf(cloud);
  const both = await Promise.allSettled(
    [0, 1].map(() => account.acceptInvitation({ token, password: PASSWORD })),
  );
  assert.deepEqual(both.map((each) => each.status).sort(), ["fulfilled", "rejected"]);
  const { members, invites } = await app.listOrganizationMembers({ organizationId: made.org_id });
  assert.deepEqual(members.map(({ emails }) => emails[0]), [ANN, email]);
  assert.deepEqual(invites, []);
  const ben = await signIn(cloud, email);
  await ben.app.getRobot({ id: made.machine_id });
  const refused = await Promise.all([
    failure(ben.app.updateRobotPart({ id: made.part_id, robotConfig: {} })),
    failure(
      ben.app.createOrganizationInvite({ organizationId: made.org_id, email: "c@example.com" }),
    ),
    failure(ben.app.listOrganizationMembers({ organizationId: made.org_id })),
  ]);
  assert.deepEqual(refused.map(({ code }) => code), Array(3).fill(Code.PermissionDenied));
  const { userId } = await app.getUserIDByEmail({ email });
  await app.deleteOrganizationMember({ organizationId: made.org_id, userId });
  assert.equal((await failure(ben.app.getRobot({ id: made.machine_id }))).code, Code.NotFound);
  assert.deepEqual((await ben.app.listOrganizations({})).organizations, []);
  const own = (await app.listOrganizationMembers({ organizationId: made.org_id })).members[0]!;
  await app.deleteKey({ id: made.api_key_id });
  const last = await failure(
    app.deleteOrganizationMember({ organizationId: made.org_id, userId: own.userId }),
  );
  assert.match(last.message, /without an owner/);
});

Deno.test("roles are given, changed and taken away by who owns the thing", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const owner = await ownerOf(cloud, made.org_id);
  const at = { resourceType: "robot", resourceId: made.machine_id };
  const robotOperator = { authorizationId: "robot_operator", ...at };
  const ben = await join(cloud, owner, made, "ben@example.com", robotOperator);
  const { userId } = await owner.app.getUserIDByEmail({ email: "ben@example.com" });
  const of = { identityType: "user", identityId: userId };
  const role = { authorizationType: "role", ...robotOperator, ...of };

  const higher = { ...role, authorizationId: "robot_owner" };
  const self = await failure(
    ben.app.changeRole({ oldAuthorization: role, newAuthorization: higher }),
  );
  assert.equal(self.code, Code.PermissionDenied);
  assert.equal(
    (await failure(owner.app.addRole({ authorization: role }))).code,
    Code.AlreadyExists,
  );
  await owner.app.changeRole({ oldAuthorization: role, newAuthorization: higher });
  await ben.app.updateRobotPart({ id: made.part_id, name: "main", robotConfig: {} });
  const { authorizations } = await ben.app.listAuthorizations({ organizationId: made.org_id });
  assert.deepEqual(authorizations.map((each) => each.authorizationId), ["robot_owner"]);
  await owner.app.removeRole({ authorization: higher });
  assert.equal((await failure(ben.app.getRobot({ id: made.machine_id }))).code, Code.NotFound);
  const stranger = { ...role, identityId: crypto.randomUUID() };
  assert.equal((await failure(owner.app.addRole({ authorization: stranger }))).code, Code.NotFound);
});

Deno.test("a second factor is asked for, its codes count once, and recovery codes stand in", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const { account } = await ownerOf(cloud, made.org_id);
  const { url } = await account.startSecondFactor({});
  assert.match(url, /^otpauth:\/\/totp\//);
  const { queries } = cloud.folder.database;
  const user = await queries.selectFrom("users").selectAll().executeTakeFirstOrThrow();
  const { keys } = cloud.folder;
  const secret = keys.secrets.secondFactorSecret(user.id, user.totp_generation);
  const code = codeOf(secret, stepAt(cloud.clock.now()));
  for (const password of ["", "not mine"]) {
    const refused = await failure(account.confirmSecondFactor({ code, password }));
    assert.equal(refused.code, Code.Unauthenticated);
  }
  assert.equal((await account.getAccount({})).hasSecondFactor, false);
  const { recoveryCodes } = await account.confirmSecondFactor({ code, password: PASSWORD });
  assert.equal(recoveryCodes.length, 10);

  const { result } = await clientOf(cloud).account.signIn({ email: ANN, password: PASSWORD });
  assert.equal(result.case, "secondFactorRequired");
  const given = { email: ANN, password: PASSWORD };
  const used = await failure(clientOf(cloud).account.signIn({ ...given, code }));
  assert.equal(used.code, Code.Unauthenticated);
  await signIn(cloud, ANN, recoveryCodes[0]);
  const spent = await failure(
    clientOf(cloud).account.signIn({ ...given, code: recoveryCodes[0]! }),
  );
  assert.equal(spent.code, Code.Unauthenticated);
  assert.equal((await account.getAccount({})).recoveryCodesLeft, 9);
  await account.removeSecondFactor({ password: PASSWORD, code: recoveryCodes[1]! });
  await signIn(cloud, ANN);
});

Deno.test("the audit log has who did what, with the change, and no secret", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const owner = await ownerOf(cloud, made.org_id);
  await owner.app.newRobot({ name: "arm", location: made.location_id });
  await owner.app.getRobot({ id: made.machine_id });
  await failure(owner.app.newRobot({ name: "arm", location: made.location_id }));
  const ben = await join(cloud, owner, made, "ben@example.com", {
    ...{ authorizationId: "organization_operator", resourceType: "organization" },
    resourceId: made.org_id,
  });
  await cloud.app(made).updateOrganization({ organizationId: made.org_id, name: "Acme 2" });

  const { entries } = await owner.audit.listAuditEntries({ organizationId: made.org_id });
  const short = entries.map(({ actor, action }) => `${actor} ${action.split("/").at(-1)}`);
  assert.deepEqual(short, [
    `${made.api_key_id} UpdateOrganization`,
    "ben@example.com SignIn",
    "ben@example.com AcceptInvitation",
    `${ANN} CreateOrganizationInvite`,
    `${ANN} NewRobot`,
    `${ANN} SignIn`,
    "machine-cloud owner add",
  ]);
  const all = await cloud.folder.database.queries.selectFrom("audit_entries").selectAll().execute();
  const text = JSON.stringify(all);
  for (const secret of [PASSWORD, ben.token]) assert.ok(!text.includes(secret));
  const page = await owner.audit.listAuditEntries({ organizationId: made.org_id, pageSize: 2 });
  const { entries: rest } = await owner.audit.listAuditEntries({
    ...{ organizationId: made.org_id, pageToken: page.nextPageToken },
  });
  assert.deepEqual([...page.entries, ...rest].map(({ id }) => id), entries.map(({ id }) => id));
  const denied = await failure(ben.audit.listAuditEntries({ organizationId: made.org_id }));
  assert.equal(denied.code, Code.PermissionDenied);
  const stillThere = await owner.app.listOrganizations({});
  assert.equal(stillThere.organizations.length, 1);
  assert.equal((await failure(cloud.client(AccountService, apiKey(made)).getAccount({}))).code, 7);
});

Deno.test("sign-ins are in the log of each organisation, failed ones of its people once an hour", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const [acme, other] = [
    await cloud.bootstrap({ organization: "Acme" }),
    await cloud.bootstrap({ organization: "Other" }),
  ];
  const owner = await ownerOf(cloud, acme.org_id);
  const { queries } = cloud.folder.database;
  await addOwner(queries, { email: ANN, orgId: other.org_id }, { clock, random: systemRandom });
  await cloud.services.changes.drain();
  await signIn(cloud, ANN);
  const of = async (made: { org_id: string }, action: string) =>
    (await owner.audit.listAuditEntries({ organizationId: made.org_id, action })).entries;
  const signIns = "machine.cloud.v1.AccountService/SignIn";
  assert.deepEqual([(await of(acme, signIns)).length, (await of(other, signIns)).length], [2, 1]);

  const { failures } = cloud.services.accounts;
  const guess = async (email: string) => {
    await failure(clientOf(cloud).account.signIn({ email, password: "wrong one" }));
    await failures.write();
  };
  await guess(ANN);
  await guess(ANN);
  await guess("nobody@example.com");
  for (const made of [acme, other]) {
    const [entry, ...more] = await of(made, "failed sign-in");
    assert.deepEqual(more, []);
    assert.equal(entry?.actor, ANN);
    const { attempts, reason } = JSON.parse(entry?.target ?? "");
    assert.deepEqual([attempts, reason], [1, "wrong password"]);
  }
  await clock.advance(61 * 60_000);
  await failures.write();
  const [later] = await of(acme, "failed sign-in");
  assert.equal(JSON.parse(later?.target ?? "").attempts, 1, "the second guess, in its own hour");
  const all = await queries.selectFrom("audit_entries").select("target").execute();
  assert.ok(!JSON.stringify(all).match(/wrong one|nobody@/));
});

Deno.test("the audit log has wrong API keys, a bounded number of entries, and no id that nobody has", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const [acme, other] = [await cloud.bootstrap(), await cloud.bootstrap({ organization: "Other" })];
  const owner = await ownerOf(cloud, acme.org_id);
  const { failures } = cloud.services.accounts;
  const guess = (id: string, key: string) =>
    createClient(AuthService, createInProcessTransport(cloud.services.router))
      .authenticate({ entity: id, credentials: { type: "api-key", payload: key } })
      .then(() => "right", () => "wrong");
  const entries = async (
    orgId: string,
  ) => (await cloud.folder.database.queries.selectFrom("audit_entries").selectAll()
    .where("action", "=", "failed sign-in").where("org_id", "=", orgId).execute());

  assert.equal(await guess(acme.api_key_id, acme.api_key), "right");
  for (let n = 0; n < 7; n++) assert.equal(await guess(acme.api_key_id, `guess ${n}`), "wrong");
  // The same in the headers of a plain HTTP request.
  const headers = (key: string) =>
    new Map([["key_id", acme.api_key_id], ["key", key], ["user-agent", "curl/8"]]);
  const status = async (key: string) => {
    const { status } = await cloud.services.dataFiles({
      ...{ path: ["plot"], method: "GET", query: () => undefined },
      header: (name) => headers(key).get(name),
      peer: { address: "203.0.113.9", port: 1, transport: "tcp", local: false },
    });
    return status;
  };
  assert.notEqual(await status(acme.api_key), 401);
  for (let n = 0; n < 3; n++) assert.equal(await status("guess"), 401);
  for (let n = 0; n < 5; n++) await guess(crypto.randomUUID(), "guess");
  await failures.write();
  await failures.write();
  const [entry, ...more] = (await owner.audit.listAuditEntries({
    organizationId: acme.org_id,
    action: "failed sign-in",
  })).entries;
  assert.deepEqual([entry?.actorType, entry?.actor, more], ["api-key", acme.api_key_id, []]);
  const { key_id, reason, attempts, addresses } = JSON.parse(entry?.target ?? "");
  assert.deepEqual([key_id, reason, attempts], [acme.api_key_id, "wrong key", 10]);
  assert.ok(addresses.includes("203.0.113.9"));
  assert.deepEqual([entry?.address, entry?.client], ["203.0.113.9", "curl/8"]);
  assert.deepEqual(await entries(other.org_id), []);

  // The next one within the hour waits, and says then how many there were.
  for (let n = 0; n < 3; n++) await guess(acme.api_key_id, "guess");
  await failures.write();
  assert.equal((await entries(acme.org_id)).length, 1);
  await clock.advance(61 * 60_000);
  await owner.app.deleteKey({ id: acme.api_key_id });
  await guess(acme.api_key_id, acme.api_key);
  await failures.write();
  const all = await entries(acme.org_id);
  assert.equal(all.length, 2);
  const last = JSON.parse(all.at(-1)?.target ?? "");
  assert.deepEqual([last.reason, last.attempts], ["deleted key", 4]);
  const texts = await cloud.folder.database.queries.selectFrom("audit_entries").select("target")
    .execute();
  assert.ok(!JSON.stringify(texts).includes(acme.api_key));
});

Deno.test("listSessions() tells when each session was used last", async () => {
  const clock = new FakeClock();
  await using cloud = await TestCloud.open({ clock });
  const made = await cloud.bootstrap();
  const used = await ownerOf(cloud, made.org_id);
  await signIn(cloud, ANN);
  const { sessions } = cloud.services.accounts;
  const begun = clock.now().getTime();
  await clock.advance(20 * 60_000);
  await used.app.listOrganizations({});
  await sessions.writeSeen();
  const minutesOf = async () => {
    const { sessions: all } = await used.account.listSessions({});
    const of = all.map((each) => [each.isCurrent, Number(each.lastSeenAt?.seconds) * 1000 - begun]);
    return Object.fromEntries(of.map(([isCurrent, ms]) => [isCurrent, Number(ms) / 60_000]));
  };
  assert.deepEqual(await minutesOf(), { true: 20, false: 0 });

  // Whoever calls all the time costs a write in some minutes.
  const { queries } = cloud.folder.database;
  const written = () =>
    queries.selectFrom("sessions").select(["id", "last_seen_at"]).orderBy("id").execute();
  await clock.advance(60_000);
  await used.app.listOrganizations({});
  const before = await written();
  await sessions.writeSeen();
  assert.deepEqual(await written(), before);
  await clock.advance(4 * 60_000);
  await sessions.writeSeen();
  assert.equal((await minutesOf()).true, 21, "the last use is not lost");
});
