import assert from "node:assert/strict";
import { Secret } from "../../../shared/base/redaction/secret.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { bootstrap } from "../../local/bootstrap/bootstrap.ts";
import { addOwner } from "../../local/people/people_command.ts";
import { startCloud } from "../../serve/cloud.ts";
import { type DataFolder, openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { placeEmptyDatabase } from "../../storage/data_folder/empty_database_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { codeOf, stepAt } from "../second_factor/totp.ts";
import { FakeIssuer } from "./fake_issuer.ts";
import type { SingleSignOnSettings } from "./settings.ts";

const PASSWORD = "correct horse battery";
const ANN = "ann@example.com";
const log = memoryLogger("machine-cloud");
const deps = { clock: systemClock, random: systemRandom, log };

/** A cloud with an owner, Ann, who has a password, and an issuer that knows her. */
async function openCloud(settings: Partial<SingleSignOnSettings> = {}) {
  const issuer = await FakeIssuer.start();
  const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-test-" });
  await placeEmptyDatabase(dataDir);
  const folder = await openDataFolder(dataDir, systemRandom);
  const made = await bootstrap(folder, deps, {
    ...{ organization: "Acme", location: "Lab", machine: "demo" },
  });
  const token = await addOwner(folder.database.queries, { email: ANN, orgId: made.org_id }, deps);
  const cloud = await startCloud({
    ...{ dataDir, listen: { hostname: "127.0.0.1", port: 0 }, hostname: "localhost" },
    ...{ domain: "machine.internal", packageLimitBytes: 1_000_000 },
    passwordCost: { ln: 4, r: 8, p: 1 },
    singleSignOn: {
      issuer: issuer.url,
      clientId: issuer.clientId,
      clientSecret: new Secret(issuer.clientSecret),
      name: "Example",
      domains: [],
      trustsSecondFactor: false,
      ...settings,
    },
  }, deps);
  return new Rig(issuer, folder, made.org_id, cloud, dataDir, token ?? "");
}

class Rig implements AsyncDisposable {
  constructor(
    readonly issuer: FakeIssuer,
    readonly folder: DataFolder,
    readonly orgId: string,
    private readonly cloud: Awaited<ReturnType<typeof startCloud>>,
    private readonly dataDir: string,
    readonly passwordToken: string,
  ) {}

  get queries() {
    return this.folder.database.queries;
  }

  async [Symbol.asyncDispose]() {
    await this.cloud.close({ graceMs: 0 });
    this.folder.database.close();
    await this.issuer[Symbol.asyncDispose]();
    await Deno.remove(this.dataDir, { recursive: true });
  }

  /** A page, with the cookies that the browser has. */
  async get(path: string, cookie = "", headers: Record<string, string> = {}) {
    return await this.#read(
      await fetch(new URL(path, this.cloud.url), {
        redirect: "manual",
        headers: { ...headers, cookie },
      }),
    );
  }

  async post(path: string, fields: Record<string, string>, cookie = "") {
    return await this.#read(
      await fetch(new URL(path, this.cloud.url), {
        method: "POST",
        redirect: "manual",
        headers: { cookie, origin: this.cloud.url },
        body: new URLSearchParams(fields),
      }),
    );
  }

  async call(method: string, body: object, cookie: string) {
    const response = await fetch(`${this.cloud.url}/machine.cloud.v1.AccountService/${method}`, {
      method: "POST",
      headers: { "content-type": "application/json", origin: this.cloud.url, cookie },
      body: JSON.stringify(body),
    });
    return await response.json() as Record<string, unknown>;
  }

  async #read(response: Response) {
    const cookies = response.headers.getSetCookie().map((each) => each.split(";")[0] ?? "");
    return {
      status: response.status,
      text: await response.text(),
      location: response.headers.get("location") ?? "",
      headers: response.headers,
      session: cookies.find((each) => /^machine_session_\d+=./.test(each)) ?? "",
      flow: cookies.find((each) => /^machine_single_sign_on=./.test(each)) ?? "",
    };
  }

  /** Goes to the issuer and comes back to its answer, which is not looked at yet. */
  async toIssuer(query = "", cookie = "", headers: Record<string, string> = {}) {
    const begun = await this.get(`/account/single-sign-on${query}`, cookie, headers);
    assert.equal(begun.status, 303, begun.text);
    const answer = await fetch(begun.location, { redirect: "manual" });
    await answer.body?.cancel();
    return { flow: begun.flow, callback: answer.headers.get("location") ?? "" };
  }

  async signIn(query = "") {
    const { flow, callback } = await this.toIssuer(query);
    return await this.get(callback, flow);
  }

  async people(): Promise<string[]> {
    return (await this.queries.selectFrom("users").select("email").orderBy("email").execute())
      .map((row) => row.email);
  }
}

Deno.test("single sign-on lets in who is a member or invited, by a verified address, and keeps it", async () => {
  await using cloud = await openCloud();
  const methods = await cloud.call("ListSignInMethods", {}, "");
  assert.deepEqual(methods, {
    singleSignOnName: "Example",
    singleSignOnPath: "/account/single-sign-on",
  });
  const done = await cloud.signIn("?return_to=%2Fmachines%3Fa%3D1");
  assert.equal(done.status, 200, done.text);
  assert.match(done.text, /http-equiv="refresh" content="0;url=\/machines\?a=1"/);
  assert.match(done.headers.get("set-cookie") ?? "", /SameSite=Strict/);
  const account = await cloud.call("GetAccount", {}, done.session);
  assert.equal(account["email"], ANN);
  const { sessions } = await cloud.call("ListSessions", {}, done.session) as {
    sessions: { method: string; createdAt: string; expiresAt: string }[];
  };
  const [session] = sessions;
  assert.equal(session?.method, "single sign-on");
  const lasts = Date.parse(session?.expiresAt ?? "") - Date.parse(session?.createdAt ?? "");
  assert.equal(lasts, 24 * 60 * 60_000);

  // The issuer's name for the person counts from now on, whatever the address is there.
  cloud.issuer.person = { sub: "ann-1", email: "ann.miller@elsewhere.example" };
  const renamed = await cloud.signIn();
  assert.equal((await cloud.call("GetAccount", {}, renamed.session))["email"], ANN);
  // An address that changed hands there does not open the account.
  cloud.issuer.person = { sub: "other-2", email: ANN, email_verified: true };
  const other = await cloud.signIn();
  assert.equal(other.status, 403);
  assert.match(other.text, /another account of this issuer is linked/i);
  assert.equal(other.session, "");

  cloud.issuer.person = { sub: "ben-1", email: "Ben@example.com", email_verified: true };
  const stranger = await cloud.signIn();
  assert.equal(stranger.status, 403);
  assert.match(stranger.text, /nobody with the address ben@example.com is invited/i);
  assert.deepEqual(await cloud.people(), [ANN]);
  const now = Date.now();
  await cloud.queries.insertInto("invitations").values({
    ...{ org_id: cloud.orgId, email: "ben@example.com", hash: "x", invited_by: ANN },
    at_sign_in: 0,
    grants: JSON.stringify([{ role: "operator", resource: "organization", id: cloud.orgId }]),
    ...{ created_at: now, expires_at: now + 60_000 },
  }).execute();
  cloud.issuer.hidesEmail = true;
  const ben = await cloud.signIn();
  const { grants } = await cloud.call("GetAccount", {}, ben.session) as {
    grants: { role: string; organizationName: string }[];
  };
  assert.deepEqual(grants.map((each) => [each.role, each.organizationName]), [[
    "operator",
    "Acme",
  ]]);
});

Deno.test("single sign-on takes no answer that is not the issuer's, fresh, and for this browser", async () => {
  await using cloud = await openCloud();
  const { issuer } = cloud;
  const now = Math.floor(Date.now() / 1000);
  const wrong: FakeIssuer["misdeeds"][] = [
    { signature: "none" },
    { signature: "foreign" },
    { claims: { iss: "https://evil.example" } },
    { claims: { aud: "another client" } },
    { claims: { aud: ["machine-cloud", "another"], azp: "another" } },
    { claims: { nonce: "of another sign-in" } },
    { claims: { nonce: undefined } },
    { claims: { sub: undefined } },
    { claims: { iat: now - 7200, exp: now - 3600 } },
    // Mix-up: the answer names another issuer than the browser was sent to (RFC 9207).
    { iss: "https://evil.example" },
    { error: "access_denied" },
    { error: "<script>alert(1)</script>" },
  ];
  for (const misdeeds of wrong) {
    issuer.misdeeds = misdeeds;
    const { status, text, session } = await cloud.signIn();
    assert.deepEqual([status, session], [401, ""], `${JSON.stringify(misdeeds)}: ${text}`);
    assert.ok(!text.includes("<script>"), text);
    assert.match(text, /name="password"/, "there is another way to sign in");
  }
  issuer.misdeeds = {};
  for (const email_verified of [false, undefined, "false", 1]) {
    issuer.person = { sub: "ann-9", email: ANN, email_verified };
    const unverified = await cloud.signIn();
    assert.deepEqual([unverified.status, unverified.session], [403, ""], String(email_verified));
  }
  issuer.person = { sub: "ann-1", email: ANN, email_verified: true };

  const { flow, callback } = await cloud.toIssuer();
  assert.equal((await cloud.get(callback)).status, 401, "another browser");
  const other = await cloud.toIssuer();
  assert.equal((await cloud.get(callback, other.flow)).status, 401, "the state of another one");
  const once = await cloud.get(callback, flow);
  assert.equal(once.status, 200);
  const twice = await cloud.get(callback, flow);
  assert.deepEqual([twice.status, twice.session], [401, ""], "the same answer again");
  const forged = new URL((await cloud.toIssuer()).callback);
  forged.searchParams.set("code", "guessed");
  assert.equal((await cloud.get(forged.href, (await cloud.toIssuer()).flow)).status, 401);

  for (const elsewhere of ["//evil.example", "https://evil.example/", "/.//evil.example"]) {
    const done = await cloud.signIn(`?return_to=${encodeURIComponent(elsewhere)}`);
    assert.match(done.text, /content="0;url=\/"/, elsewhere);
  }
});

Deno.test("without the issuer people sign in by password", async () => {
  await using cloud = await openCloud();
  await cloud.post("/account/password", { token: cloud.passwordToken, password: PASSWORD });
  await cloud.issuer.down();
  const gone = await cloud.get("/account/single-sign-on");
  assert.equal(gone.status, 503);
  assert.match(gone.text, /Example cannot be reached just now; sign in with your e-mail address/);
  assert.match(gone.text, /action="\/account\/sign-in"/);
  const byPassword = await cloud.post("/account/sign-in", { email: ANN, password: PASSWORD });
  assert.equal(byPassword.status, 303);
  assert.match(byPassword.session, /./);
});

Deno.test("only addresses of the domains that are let in sign in by single sign-on", async () => {
  await using cloud = await openCloud({ domains: ["corp.example"] });
  const elsewhere = await cloud.signIn();
  assert.equal(elsewhere.status, 403);
  assert.match(elsewhere.text, /verified addresses of corp.example only/);
  const { queries } = cloud;
  await addOwner(queries, { email: "ann@corp.example", orgId: cloud.orgId }, deps);
  cloud.issuer.person = { sub: "1", email: "ann@corp.example", email_verified: false };
  assert.equal((await cloud.signIn()).status, 403);
  cloud.issuer.person = { sub: "1", email: "ann@corp.example", email_verified: true };
  assert.equal((await cloud.signIn()).status, 200);
});

Deno.test("a second factor of this cloud is asked for after the issuer's, unless it is left to it", async () => {
  for (const trustsSecondFactor of [false, true]) {
    await using cloud = await openCloud({ trustsSecondFactor });
    const user = await cloud.queries.selectFrom("users").selectAll().executeTakeFirstOrThrow();
    await cloud.queries.updateTable("users").set({ totp_generation: 1, totp_enabled: 1 })
      .execute();
    const first = await cloud.signIn("?return_to=%2Ffleet");
    if (trustsSecondFactor) {
      assert.match(first.session, /./);
      continue;
    }
    assert.equal(first.session, "");
    const token = /name="token"[^>]*value="([\w-]+)"/.exec(first.text)?.[1] ?? "";
    const path = "/account/single-sign-on/code";
    const wrong = await cloud.post(path, { token, code: "000000" });
    assert.equal(wrong.session, "");
    assert.match(wrong.text, /code is wrong/);
    const secret = cloud.folder.keys.secrets.secondFactorSecret(user.id, 1);
    const code = codeOf(secret, stepAt(new Date()));
    const right = await cloud.post(path, { token, code });
    assert.match(right.session, /./);
    assert.match(right.text, /url=\/fleet/);
    const again = await cloud.post(path, { token, code });
    assert.deepEqual([again.status, again.session], [401, ""]);
  }
});

Deno.test("a person links an account of another address from a page of the cloud, and unlinks it", async () => {
  await using cloud = await openCloud();
  await cloud.post("/account/password", { token: cloud.passwordToken, password: PASSWORD });
  const { session } = await cloud.post("/account/sign-in", { email: ANN, password: PASSWORD });
  cloud.issuer.person = { sub: "private-7", email: "ann@private.example", email_verified: false };
  const own = { "sec-fetch-site": "same-origin" };
  const fromElsewhere = await cloud.get("/account/single-sign-on?link=1", session, {
    "sec-fetch-site": "cross-site",
  });
  assert.equal(fromElsewhere.status, 403);
  assert.equal((await cloud.get("/account/single-sign-on?link=1", "", own)).status, 401);
  const { flow, callback } = await cloud.toIssuer("?link=1&return_to=/me", session, own);
  const linked = await cloud.get(callback, flow);
  assert.match(linked.text, /url=\/me/);
  assert.equal(linked.session, "");

  const signedIn = await cloud.signIn();
  const account = await cloud.call("GetAccount", {}, signedIn.session);
  assert.equal(account["email"], ANN);
  const [identity] = account["singleSignOn"] as { issuer: string; subject: string }[];
  assert.deepEqual([identity?.issuer, identity?.subject], [cloud.issuer.url, "private-7"]);
  const { issuer, subject } = identity!;
  await cloud.call("UnlinkSingleSignOn", { issuer, subject }, session);
  assert.equal((await cloud.signIn()).status, 403);

  // A session that has ended meanwhile links nothing.
  const later = await cloud.toIssuer("?link=1", session, own);
  await cloud.post("/account/sign-out", {}, session);
  assert.equal((await cloud.get(later.callback, later.flow)).status, 401);
  assert.deepEqual(
    await cloud.queries.selectFrom("single_sign_on_identities").selectAll().execute(),
    [],
  );
});
