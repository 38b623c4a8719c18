import assert from "node:assert/strict";
import { join } from "node:path";
import { addOwner, signInLink } from "../../local/people/people_command.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { placeEmptyDatabase } from "../../storage/data_folder/empty_database_testing.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { bootstrap } from "../../local/bootstrap/bootstrap.ts";
import { startCloud } from "../../serve/cloud.ts";
import { pageLanguage } from "./page_texts.ts";
import { isFromOwnPage, returnPath, SessionCookie } from "./cookies.ts";

const PASSWORD = "correct horse battery";
const deps = { clock: systemClock, random: systemRandom, log: memoryLogger("machine-cloud") };

async function openCloud() {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-test-" });
  await placeEmptyDatabase(dataDir);
  const folder = await openDataFolder(dataDir, systemRandom);
  const made = await bootstrap(folder, deps, {
    ...{ organization: "Acme", location: "Lab", machine: "demo" },
  });
  const email = "ann@example.com";
  const token = await addOwner(folder.database.queries, { email, orgId: made.org_id }, deps);
  const link = await signInLink(folder.database.queries, email, deps);
  folder.database.close();
  const cloud = await startCloud({
    ...{
      dataDir: join(dataDir),
      listen: { hostname: "127.0.0.1", port: 0 },
      hostname: "localhost",
    },
    ...{ domain: "machine.internal", packageLimitBytes: 1_000_000 },
    passwordCost: { ln: 4, r: 8, p: 1 },
  }, deps);
  return {
    made,
    token: token ?? "",
    link,
    url: cloud.url,
    /** Another link, as the operator prints it. */
    async linkOf(email: string, isNew = false): Promise<string> {
      const folder = await openDataFolder(dataDir, systemRandom);
      try {
        const { queries } = folder.database;
        if (isNew) await addOwner(queries, { email, orgId: made.org_id }, deps);
        return await signInLink(queries, email, deps);
      } finally {
        folder.database.close();
      }
    },
    /** `/account/session`, as a page of the cloud sends it. */
    async session(method: string, body?: object, headers: Record<string, string> = {}) {
      const sent = body === undefined ? {} : { body: JSON.stringify(body) };
      const response = await fetch(`${cloud.url}/account/session`, {
        ...{ method, ...sent },
        headers: { origin: cloud.url, "content-type": "application/json", ...headers },
      });
      const text = await response.text();
      return {
        status: response.status,
        answer: text === "" ? {} : JSON.parse(text) as Record<string, unknown>,
        cookie: response.headers.get("set-cookie")?.split(";")[0] ?? "",
      };
    },
    post: (page: string, fields: Record<string, string>, headers: HeadersInit = {}) =>
      fetch(`${cloud.url}/account/${page}`, {
        method: "POST",
        redirect: "manual",
        headers: {
          origin: cloud.url,
          "content-type": "application/x-www-form-urlencoded",
          ...headers,
        },
        body: new URLSearchParams(fields).toString(),
      }),
    call: (method: string, body: object, headers: HeadersInit) =>
      fetch(`${cloud.url}/viam.app.v1.AppService/${method}`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify(body),
      }),
    async [Symbol.asyncDispose]() {
      await cloud.close({ graceMs: 0 });
      await Deno.remove(dataDir, { recursive: true });
    },
  };
}

async function read(response: Response): Promise<{ status: number; text: string }> {
  return { status: response.status, text: await response.text() };
}

Deno.test("a browser sets a password, signs in, calls by cookie, and signs out", async () => {
  await using cloud = await openCloud();
  const link = `${cloud.url}/account/password?token=${cloud.token}`;
  const page = await read(await fetch(link));
  assert.equal(page.status, 200);
  assert.match(page.text, /New password/);
  const weak = await read(await cloud.post("password", { token: cloud.token, password: "x" }));
  assert.equal(weak.status, 400);
  assert.match(weak.text, /at least 8 characters.*New password/);
  const set = await read(await cloud.post("password", { token: cloud.token, password: PASSWORD }));
  assert.match(set.text, /ann@example.com/);
  for (const dead of [link, `${link}"><b>`]) {
    const over = await read(await fetch(dead));
    assert.equal(over.status, 401);
    assert.match(over.text, /used, replaced or has expired.*<a href="\/">/);
    assert.ok(!over.text.includes("<form") && !over.text.includes("<b>"), over.text);
  }
  const wrong = await read(
    await cloud.post("sign-in", { email: "ann@example.com", password: "x" }),
  );
  assert.equal(wrong.status, 401);
  assert.match(wrong.text, /password is wrong/);
  const right = await cloud.post("sign-in", { email: "ann@example.com", password: PASSWORD });
  await right.body?.cancel();
  assert.equal(right.status, 303);
  const cookie = right.headers.get("set-cookie") ?? "";
  assert.match(cookie, /^machine_session_\d+=.*; HttpOnly; SameSite=Strict$/);
  const sent = { cookie: cookie.split(";")[0]!, origin: cloud.url };

  const own = await read(await cloud.call("ListOrganizations", {}, sent));
  assert.match(own.text, /Acme/);
  for (const headers of [{ origin: "http://evil.example" }, { "sec-fetch-site": "same-site" }]) {
    const foreign = await read(await cloud.call("ListOrganizations", {}, { ...sent, ...headers }));
    assert.equal(foreign.status, 401, JSON.stringify(headers));
  }
  const forged = await read(
    await cloud.post("sign-out", {}, { ...sent, origin: "http://evil.example" }),
  );
  assert.equal(forged.status, 403);
  const lines = await read(
    await fetch(`${cloud.url}/account/audit.jsonl?organization_id=${cloud.made.org_id}`, {
      headers: { cookie: sent.cookie },
    }),
  );
  assert.deepEqual(lines.text.trim().split("\n").map((line) => JSON.parse(line).action), [
    "page sign-in",
    "sign-in link",
    "owner add",
  ]);
  const out = await read(await cloud.post("sign-out", {}, sent));
  assert.equal(out.status, 303);
  assert.equal((await read(await cloud.call("ListOrganizations", {}, sent))).status, 401);
});

Deno.test("a link signs in once, says so where somebody else is signed in, and never without a page", async () => {
  await using cloud = await openCloud();
  const page = await read(await fetch(`${cloud.url}/account/link`));
  assert.match(page.text, /<script type="module" src="\/account\/link.js">/);
  const foreign = await cloud.session("POST", { link: cloud.link }, {
    origin: "http://evil.example",
  });
  assert.equal(foreign.status, 403);
  const first = await cloud.session("POST", { link: cloud.link });
  assert.deepEqual([first.status, first.answer.email], [200, "ann@example.com"]);
  const { answer } = await cloud.session("GET", undefined, { cookie: first.cookie });
  assert.deepEqual(answer, first.answer);
  assert.deepEqual((await cloud.session("GET")).answer, { signed_in: false });
  const again = await cloud.session("POST", { link: cloud.link });
  assert.deepEqual([again.status, again.answer.code], [401, "unauthenticated"]);

  const other = await cloud.linkOf("ben@example.com", true);
  const held = await cloud.session("POST", { link: other }, { cookie: first.cookie });
  assert.deepEqual([held.status, held.answer.code], [409, "failed_precondition"]);
  assert.match(String(held.answer.message), /ann@example.com .* ben@example.com/);
  const taken = await cloud.session("POST", { link: other, replace: true }, {
    cookie: first.cookie,
  });
  assert.equal(taken.answer.email, "ben@example.com");
  const own = await cloud.linkOf("ann@example.com");
  assert.equal((await cloud.session("POST", { link: own }, { cookie: first.cookie })).status, 200);

  const out = await cloud.session("DELETE", undefined, { cookie: first.cookie });
  assert.equal(out.status, 204);
  assert.deepEqual((await cloud.session("GET", undefined, { cookie: first.cookie })).answer, {
    signed_in: false,
  });
});

Deno.test("a page signs in by password, and what it sends wrong is said", async () => {
  await using cloud = await openCloud();
  await read(await cloud.post("password", { token: cloud.token, password: PASSWORD }));
  const given = { email: "Ann@example.com", password: PASSWORD };
  const right = await cloud.session("POST", given);
  assert.deepEqual([right.status, right.answer.signed_in], [200, true]);
  assert.match(right.cookie, /^machine_session_\d+=ey/);
  assert.ok(!JSON.stringify(right.answer).includes("ey"), "no token for scripts");
  const wrong = await cloud.session("POST", { ...given, password: "other" });
  assert.deepEqual([wrong.status, wrong.answer.code], [401, "unauthenticated"]);
  for (const body of [{}, { email: 1, password: "x" }, { ...given, more: 1 }, { link: ["x"] }]) {
    assert.equal((await cloud.session("POST", body)).status, 400, JSON.stringify(body));
  }
  const long = { ...given, password: "x".repeat(20_000) };
  assert.equal((await cloud.session("POST", long)).status, 400);
  const form = { "content-type": "application/x-www-form-urlencoded" };
  assert.equal((await cloud.session("POST", given, form)).status, 400);
  assert.equal((await cloud.session("PUT", given)).status, 405);
});

Deno.test("returnPath() leads nowhere but to pages of this cloud", () => {
  assert.equal(returnPath("/machines/a?tab=logs#top"), "/machines/a?tab=logs#top");
  for (
    const elsewhere of [
      ...["//evil.example", "https://evil.example", "/\\evil.example", "/\t/evil.example"],
      ...["/.//evil.example", "/a/..//evil.example", "javascript:alert(1)", "", null],
    ]
  ) {
    assert.equal(returnPath(elsewhere), "/", String(elsewhere));
  }
});

Deno.test("cookies are Secure where the cloud is, and only its own pages use them", () => {
  const secure = new SessionCookie(() => "https://cloud.example");
  assert.match(secure.set("t", 5), /^__Host-machine_session=t; Path=\/; .*; Secure$/);
  const plain = new SessionCookie(() => "http://127.0.0.1:8080");
  const sent = { cookie: "machine_session_8081=other; machine_session_8080=own" };
  assert.equal(plain.token((name) => name === "cookie" ? sent.cookie : undefined), "own");
  const from = (headers: Record<string, string>) => isFromOwnPage((name) => headers[name]);
  assert.equal(from({}), false);
  assert.equal(from({ host: "a:1", origin: "http://a:1" }), true);
  assert.equal(from({ host: "a:1", origin: "http://a:2" }), false);
  assert.equal(from({ host: "a:1", origin: "null" }), false);
  assert.equal(from({ "sec-fetch-site": "cross-site", host: "a", origin: "http://a" }), false);
});

Deno.test("pages and what goes wrong on them are in the language of the browser", async () => {
  await using cloud = await openCloud();
  const german = { "accept-language": "fr, de-AT;q=0.8, en;q=0.5" };
  const get = async (path: string, headers: HeadersInit) =>
    await read(await fetch(`${cloud.url}/account/${path}`, { headers }));
  const page = await get(`password?token=${cloud.token}`, german);
  assert.match(page.text, /<html lang="de">.*<h1>Passwort setzen<\/h1>.*>Neues Passwort</);
  const short = await read(
    await cloud.post("password", { token: cloud.token, password: "short" }, german),
  );
  assert.match(short.text, /Das Passwort braucht mindestens \d+ Zeichen\./);
  assert.match((await get("password?token=none", german)).text, /Dieser Link wurde benutzt/);
  assert.match((await get("link", german)).text, /<html lang="de">.*<h1>Anmeldung läuft …/);
  const english = await get(`password?token=${cloud.token}`, {});
  assert.match(english.text, /<html lang="en">.*<h1>Set a password<\/h1>/);
});

Deno.test("pageLanguage() takes the most wanted of its languages, and English without one", () => {
  const cases: readonly (readonly [string | undefined, string])[] = [
    ["de", "de"],
    ["de-CH, en;q=0.9", "de"],
    ["en-GB, de;q=0.9", "en"],
    ["fr, de;q=0.4, en;q=0.3", "de"],
    ["de;q=0, en", "en"],
    ["fr", "en"],
    ["", "en"],
    [undefined, "en"],
    [`${"x,".repeat(5_000)}de`, "en"],
  ];
  for (const [accepted, language] of cases) {
    assert.equal(pageLanguage(accepted), language, String(accepted));
  }
});
