import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createClient } from "@connectrpc/connect";
import { createTransport } from "@connectrpc/connect/protocol-connect";
import { createFetchClient } from "@connectrpc/connect/protocol";
import { Code, ConnectError } from "@connectrpc/connect";
import { AccountService } from "../../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { bootstrap } from "../../local/bootstrap/bootstrap.ts";
import { addOwner, signInLink } from "../../local/people/people_command.ts";
import { startCloud } from "../../serve/cloud.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { placeEmptyDatabase } from "../../storage/data_folder/empty_database_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { authorizationRequest } from "./redirect.ts";

const ANN = "ann@example.com";
const deps = { clock: systemClock, random: systemRandom, log: memoryLogger("machine-cloud") };
const VERIFIER = "v".repeat(50);
const wanted = {
  redirect_uri: "http://127.0.0.1:40000/callback",
  state: "state-of-the-program",
  code_challenge: createHash("sha256").update(VERIFIER).digest("base64url"),
  code_challenge_method: "S256",
};

/** A cloud, and a browser in which Ann is signed in. */
async function openCloud() {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-test-" });
  await placeEmptyDatabase(dataDir);
  const folder = await openDataFolder(dataDir, systemRandom);
  const { queries } = folder.database;
  const made = await bootstrap(folder, deps, {
    ...{ organization: "Acme", location: "Lab", machine: "demo" },
  });
  await addOwner(queries, { email: ANN, orgId: made.org_id }, deps);
  const link = await signInLink(queries, ANN, deps);
  folder.database.close();
  const cloud = await startCloud({
    ...{ dataDir, listen: { hostname: "127.0.0.1", port: 0 }, hostname: "localhost" },
    ...{ domain: "machine.internal", packageLimitBytes: 1_000_000 },
    passwordCost: { ln: 4, r: 8, p: 1 },
  }, deps);
  const send = async (path: string, init: RequestInit = {}) => {
    const response = await fetch(new URL(path, cloud.url), { redirect: "manual", ...init });
    const { status, headers } = response;
    return { status, headers, text: await response.text() };
  };
  const signedIn = await send("/account/session", {
    method: "POST",
    headers: { origin: cloud.url, "content-type": "application/json" },
    body: JSON.stringify({ link }),
  });
  const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
  const transport = createTransport({
    baseUrl: cloud.url,
    httpClient: createFetchClient(fetch),
    useBinaryFormat: true,
    interceptors: [],
    acceptCompression: [],
    sendCompression: null,
    compressMinBytes: 1e6,
    readMaxBytes: 1e6,
    writeMaxBytes: 1e6,
  });
  return {
    url: cloud.url,
    cookie,
    account: createClient(AccountService, transport),
    page: (path: string, own = cookie) => send(path, { headers: { cookie: own } }),
    form: (path: string, fields: Record<string, string>, headers: Record<string, string> = {}) =>
      send(path, {
        method: "POST",
        headers: { cookie, origin: cloud.url, ...headers },
        body: new URLSearchParams(fields),
      }),
    async [Symbol.asyncDispose]() {
      await cloud.close({ graceMs: 0 });
      await Deno.remove(dataDir, { recursive: true });
    },
  };
}

const codeOf = async (promise: Promise<unknown>) =>
  ConnectError.from(await promise.then(() => assert.fail("it worked"), (error) => error)).code;

const authorizePath = (fields: Record<string, string>) =>
  `/account/authorize?${new URLSearchParams(fields)}`;

Deno.test("a program on this computer gets a session of its own by a code, once, with its verifier", async () => {
  await using cloud = await openCloud();
  const path = authorizePath(wanted);
  const first = await cloud.page(path, "");
  assert.equal(first.status, 303);
  assert.equal(
    first.headers.get("location"),
    `/account/sign-in?return_to=${encodeURIComponent(path)}`,
  );
  const asked = await cloud.page(path);
  assert.match(asked.text, /wants to work as ann@example.com/);
  const allow = { ...wanted, decision: "allow" };
  const forged = await cloud.form("/account/authorize", allow, { origin: "http://evil.example" });
  assert.equal(forged.status, 403);

  const grant = async () => {
    const { text } = await cloud.form("/account/authorize", allow);
    const back = /content="0;url=([^"]*)"/.exec(text)?.[1]?.replaceAll("&#38;", "&") ?? "";
    const url = new URL(back);
    assert.equal(`${url.origin}${url.pathname}`, wanted.redirect_uri);
    assert.equal(url.searchParams.get("state"), wanted.state);
    return url.searchParams.get("code") ?? "";
  };
  const redirectUri = wanted.redirect_uri;
  const stolen = await grant();
  for (const codeVerifier of ["another", VERIFIER]) {
    const given = { code: stolen, codeVerifier, redirectUri };
    assert.equal(await codeOf(cloud.account.exchangeSignInCode(given)), Code.Unauthenticated);
  }
  const elsewhere = {
    ...{ code: await grant(), codeVerifier: VERIFIER, redirectUri: "http://127.0.0.1:1/callback" },
  };
  assert.equal(await codeOf(cloud.account.exchangeSignInCode(elsewhere)), Code.Unauthenticated);
  const given = { code: await grant(), codeVerifier: VERIFIER, redirectUri };
  const { signedIn } = await cloud.account.exchangeSignInCode(given);
  assert.equal(signedIn?.email, ANN);
  const headers = { authorization: `Bearer ${signedIn?.accessToken}` };
  const { sessions } = await cloud.account.listSessions({}, { headers });
  assert.deepEqual(sessions.map(({ method }) => method).sort(), ["command line", "link"]);
  assert.equal(await codeOf(cloud.account.exchangeSignInCode(given)), Code.Unauthenticated);

  const refused = await cloud.form("/account/authorize", { ...wanted, decision: "refuse" });
  assert.match(refused.text, /error=access_denied/);
});

Deno.test("authorizationRequest() answers to ports of this computer only, and with PKCE", () => {
  const of = (fields: Record<string, string>) =>
    authorizationRequest((name) => fields[name] ?? null);
  assert.ok(of(wanted));
  assert.ok(of({ ...wanted, redirect_uri: "http://[::1]:9999/" }));
  for (
    const odd of [
      ...["https://evil.example/", "http://127.0.0.1.evil.example:80/", "http://localhost:9/"],
      ...["http://127.0.0.1:80@evil.example/", "http://127.0.0.1/", "javascript:alert(1)"],
      ...["http://127.0.0.1:9/?code=mine", "http://127.0.0.1:9/#x", "http://127.0.0.1:9/ x"],
    ]
  ) assert.equal(of({ ...wanted, redirect_uri: odd }), undefined, odd);
  assert.equal(of({ ...wanted, code_challenge_method: "plain" }), undefined);
  assert.equal(of({ ...wanted, code_challenge: "" }), undefined);
  assert.equal(of({ ...wanted, state: "a&code=b" }), undefined);
});

Deno.test("a program elsewhere is let in by its short code, or refused, and guesses find nothing", async () => {
  await using cloud = await openCloud();
  const { account } = cloud;
  const hostile = "<b>rm\u202e\u0000 -rf</b>";
  const started = await account.startDeviceSignIn({ clientName: hostile });
  assert.match(started.userCode, /^[B-Z]{4}-[B-Z]{4}$/);
  assert.equal(started.verificationUrl, `${cloud.url}/account/device`);
  const { deviceCode, userCode } = started;
  const pending = await account.finishDeviceSignIn({ deviceCode });
  assert.equal(pending.result.case, "pending");
  assert.equal(await codeOf(account.finishDeviceSignIn({ deviceCode })), Code.ResourceExhausted);
  const wrong = await cloud.page("/account/device?code=BBBB-BBBB");
  assert.equal(wrong.status, 404);
  assert.match(wrong.text, /There is no such code/);
  assert.equal((await cloud.page(`/account/device?code=${userCode}`, "")).status, 303);

  const shown = await cloud.page(`/account/device?code=${userCode.toLowerCase()}`);
  assert.match(shown.text, /&#60;b&#62;rm -rf&#60;\/b&#62;/);
  assert.ok(!shown.text.includes("\u202e"));
  // The address alone lets nobody in.
  const byAddress = await cloud.page(`/account/device?code=${userCode}&decision=allow`);
  assert.match(byAddress.text, /Let it in/);
  await cloud.form("/account/device", { code: userCode, decision: "allow" });
  const finish = async (deviceCode: string) => {
    // Not asked too often.
    return await waitFor(
      async () => {
        try {
          return { answer: await account.finishDeviceSignIn({ deviceCode }) };
        } catch (error) {
          if (ConnectError.from(error).code === Code.ResourceExhausted) return undefined;
          return { error };
        }
      },
      { deadlineMs: 60_000, everyMs: 100, what: "an answer" },
    );
  };
  const { result } = (await finish(deviceCode)).answer ?? {};
  assert.equal(result?.case, "signedIn");
  assert.equal(result?.value?.email, ANN);
  assert.equal(await codeOf(account.finishDeviceSignIn({ deviceCode })), Code.NotFound);

  const other = await account.startDeviceSignIn({ clientName: "other" });
  await cloud.form("/account/device", { code: other.userCode, decision: "refuse" });
  assert.equal(
    await codeOf(account.finishDeviceSignIn({ deviceCode: other.deviceCode })),
    Code.PermissionDenied,
  );
  const started20 = await Promise.allSettled(
    Array.from({ length: 25 }, () => account.startDeviceSignIn({})),
  );
  assert.equal(started20.filter((each) => each.status === "rejected").length, 5);
});
