import assert from "node:assert/strict";
import { join } from "node:path";
import { addOwner } from "../../local/people/people_command.ts";
import { openDataFolder } from "../../storage/data_folder/data_folder.ts";
import { systemRandom } from "../../storage/keys/random.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger.ts";
import { bootstrap } from "../../local/bootstrap/bootstrap.ts";
import { startCloud } from "../../serve/cloud.ts";
import { isFromOwnPage, sessionCookie } from "./cookies.ts";

const PASSWORD = "correct horse battery";
const deps = { clock: systemClock, random: systemRandom, log: memoryLogger("machine-cloud") };

async function openCloud() {
  const dataDir = await Deno.makeTempDir({ prefix: "machine-cloud-test-" });
  const folder = await openDataFolder(dataDir, systemRandom);
  const made = await bootstrap(folder, deps, {
    ...{ organization: "Acme", location: "Lab", machine: "demo" },
  });
  const email = "ann@example.com";
  const token = await addOwner(folder.database.queries, { email, orgId: made.org_id }, deps);
  folder.database.close();
  const cloud = await startCloud({
    ...{
      dataDir: join(dataDir),
      listen: { hostname: "127.0.0.1", port: 0 },
      hostname: "localhost",
    },
    ...{ domain: "machine.internal", packageLimitBytes: 1_000_000 },
  }, deps);
  return {
    made,
    token: token ?? "",
    url: cloud.url,
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
  const page = await read(await fetch(`${cloud.url}/account/password?token=${cloud.token}"><b>`));
  assert.equal(page.status, 200);
  assert.ok(!page.text.includes("<b>"), "what is in the address is escaped");
  const set = await read(await cloud.post("password", { token: cloud.token, password: PASSWORD }));
  assert.match(set.text, /ann@example.com/);
  const wrong = await read(
    await cloud.post("sign-in", { email: "ann@example.com", password: "x" }),
  );
  assert.equal(wrong.status, 401);
  assert.match(wrong.text, /password is wrong/);
  const right = await cloud.post("sign-in", { email: "ann@example.com", password: PASSWORD });
  await right.body?.cancel();
  assert.equal(right.status, 303);
  const cookie = right.headers.get("set-cookie") ?? "";
  assert.match(cookie, /^machine_session=.*; HttpOnly; SameSite=Lax$/);
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
    "owner add",
  ]);
  const out = await read(await cloud.post("sign-out", {}, sent));
  assert.equal(out.status, 303);
  assert.equal((await read(await cloud.call("ListOrganizations", {}, sent))).status, 401);
});

Deno.test("cookies are Secure where the cloud is, and only its own pages use them", () => {
  assert.match(sessionCookie("t", 5, true), /^__Host-machine_session=t; Path=\/; .*; Secure$/);
  const from = (headers: Record<string, string>) => isFromOwnPage((name) => headers[name]);
  assert.equal(from({}), false);
  assert.equal(from({ host: "a:1", origin: "http://a:1" }), true);
  assert.equal(from({ host: "a:1", origin: "http://a:2" }), false);
  assert.equal(from({ host: "a:1", origin: "null" }), false);
  assert.equal(from({ "sec-fetch-site": "cross-site", host: "a", origin: "http://a" }), false);
});
