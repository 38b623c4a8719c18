import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { DelayedCommit } from "../delayed_commit.ts";
import { FakeProvisioning, visibleNetwork } from "../fake_provisioning.ts";
import { Portal } from "./portal.ts";

const HOST = "10.42.0.1";
const PHONE = "10.42.0.50";
const CREDENTIALS = JSON.stringify({
  cloud: { app_address: "https://cloud.test:8443", id: "part-1", secret: "the-part-secret" },
});

class Rig {
  readonly port = new FakeProvisioning();
  readonly clock = new FakeClock();
  readonly log = memoryLogger();
  readonly commit = new DelayedCommit(this.port, this.clock, this.log);
  readonly portal: Portal;

  constructor(onlySetupNames = false) {
    const { port, commit, clock } = this;
    const naming = { address: HOST, onlySetupNames };
    this.portal = new Portal({ port, commit, naming, hotspot: "machine-setup-rover", clock });
    port.visible = [
      visibleNetwork("Home"),
      visibleNetwork("Free", { security: "open" }),
      visibleNetwork("Corp", { security: "enterprise" }),
    ];
  }

  ask(path: string, headers: Record<string, string> = {}, address = PHONE): Promise<Response> {
    const request = new Request(`http://${headers["host"] ?? HOST}${path}`, {
      headers: { host: HOST, ...headers },
    });
    return this.portal.answer(request, address);
  }

  async page(headers: Record<string, string> = {}): Promise<string> {
    return await (await this.ask("/", headers)).text();
  }

  async token(address = PHONE): Promise<string> {
    const page = await (await this.ask("/", {}, address)).text();
    return /name="token" value="([^"]+)"/.exec(page)?.[1] ?? assert.fail("no token");
  }

  async send(
    path: string,
    fields: Record<string, string | Blob>,
    { headers = {}, address = PHONE }: { headers?: Record<string, string>; address?: string } = {},
  ): Promise<Response> {
    const body = new FormData();
    const all = { token: await this.token(address), ...fields };
    for (const [name, value] of Object.entries(all)) body.set(name, value);
    const request = new Request(`http://${HOST}${path}`, { method: "POST", body });
    for (const [name, value] of Object.entries({ host: HOST, ...headers })) {
      request.headers.set(name, value);
    }
    return await this.portal.answer(request, address);
  }
}

const hex = (text: string) => new TextEncoder().encode(text).toHex();

Deno.test("a form that is sent is staged, answered, and then committed", async () => {
  const rig = new Rig();
  rig.port.errors = ["old"];
  const answer = await rig.send("/save", { network: hex("Home"), password: "long enough" });
  assert.equal(answer.status, 200);
  const page = await answer.text();
  assert.match(page, /now tries the network “\u2068Home\u2069”/);
  assert.match(page, /“\u2068machine-setup-rover\u2069” comes back/);
  assert.ok(!page.includes("long enough"));
  const ssid = new TextEncoder().encode("Home");
  assert.deepEqual(rig.port.network, { ssid, psk: "long enough", isHidden: false });
  assert.deepEqual([rig.port.commits, rig.port.active, rig.port.errors.length], [0, 1, 0]);
  assert.match(await rig.page(), /The machine connects/);
  await rig.clock.advance(1_000);
  assert.equal(rig.port.commits, 1);
});

Deno.test("a machine without credentials takes them as text or file", async () => {
  const rig = new Rig();
  rig.port.given = { hasCredentials: false };
  assert.match(await rig.page(), /<textarea id="credentials"/);
  const home = { network: hex("Free") };
  for (
    const fields of [{ credentials: CREDENTIALS }, { file: new File([CREDENTIALS], "m.json") }]
  ) {
    rig.port.credentials = undefined;
    const answer = await rig.send("/save", { ...home, ...fields });
    assert.equal(answer.status, 200, await answer.text());
    await rig.clock.advance(1_000);
    assert.deepEqual(rig.port.credentials, {
      appAddress: "https://cloud.test:8443",
      partId: "part-1",
      key: { secret: "the-part-secret" },
    });
  }
  assert.equal(rig.port.commits, 2);
});

Deno.test("credentials that wait for a network that works need not be given again", async () => {
  const rig = new Rig();
  rig.port.given = { hasCredentials: false, holdsCredentials: true };
  assert.match(await rig.page(), /The machine has those that you gave/);
  const answer = await rig.send("/save", { network: hex("Home"), password: "long enough" });
  assert.equal(answer.status, 200);
  assert.equal(rig.port.credentials, undefined, "those that are held stay");
  assert.notEqual(rig.port.network, undefined);
});

Deno.test("a machine that is online needs only its credentials", async () => {
  const rig = new Rig();
  rig.port.given = { hasCredentials: false, isOnline: true };
  assert.match(await rig.page(), /value="keep" data-open checked/);
  assert.equal(
    (await rig.send("/save", { network: "keep", credentials: CREDENTIALS })).status,
    200,
  );
  assert.equal(rig.port.network, undefined);
  assert.equal(rig.port.credentials?.partId, "part-1");
});

Deno.test("a form that cannot be taken says why, keeps what is no secret, and changes nothing", async () => {
  const rig = new Rig();
  rig.port.given = { hasCredentials: false };
  const good = { network: hex("Home"), password: "long enough", credentials: CREDENTIALS };
  const cases: [Record<string, string>, RegExp][] = [
    [{ network: "" }, /Choose a network\./],
    [{ network: "keep" }, /Choose a network\./],
    [{ network: `${hex("Home")}zz` }, /Choose a network\./],
    [{ network: "00".repeat(33) }, /Choose a network\./],
    [{ network: "other", name: "" }, /1 to 32 bytes/],
    [{ network: "other", name: "é".repeat(17) }, /1 to 32 bytes/],
    [{ network: hex("Corp") }, /cannot use a network of this kind/],
    [{ password: "" }, /needs its password/],
    [{ password: "seven77" }, /8 to 63 characters/],
    [{ password: "x".repeat(65) }, /8 to 63 characters/],
    [{ password: "with\u0000control" }, /8 to 63 characters/],
    [{ credentials: "" }, /credentials are missing/],
    [{ credentials: "not json the-part-secret" }, /not the credentials of a machine.*not JSON/s],
    [{ credentials: "{}" }, /there is no &#34;cloud&#34; object/],
    [{ credentials: CREDENTIALS.replace("https", "http") }, /accepted only for this host/],
  ];
  for (const [change, expected] of cases) {
    const answer = await rig.send("/save", { ...good, ...change });
    assert.equal(answer.status, 422);
    const page = await answer.text();
    assert.match(page, expected);
    assert.ok(!page.includes("the-part-secret"), "no secret is echoed");
    assert.ok(!page.includes("long enough"), "no password is echoed");
  }
  const named = await rig.send("/save", { ...good, network: "other", name: "Mine", password: "x" });
  assert.match(await named.text(), /name="name" value="Mine"/);
  assert.deepEqual([rig.port.network, rig.port.credentials, rig.port.commits], [
    undefined,
    undefined,
    0,
  ]);
});

Deno.test("looking, probes and the script's questions are no activity and use up no errors", async () => {
  const rig = new Rig();
  rig.port.errors = ["the cloud does not answer"];
  for (const host of ["captive.apple.com", "connectivitycheck.gstatic.com"]) {
    const probe = await rig.ask("/generate_204", { host });
    assert.deepEqual([probe.status, probe.headers.get("location")], [302, `http://${HOST}/`]);
  }
  assert.match(await rig.page(), /the cloud does not answer/);
  assert.deepEqual(await (await rig.ask("/status")).json(), { state: "form" });
  assert.match(await rig.page(), /the cloud does not answer/);
  assert.equal(rig.port.active, 0);
});

Deno.test("the outcome of the last try is shown in words, in the language of the browser", async () => {
  const rig = new Rig();
  const attempt = { ssid: "Home", security: "wpa2", signal: 50, error: "raw words" } as const;
  rig.port.attempt = { ...attempt, result: "failed", failure: "wrong-password" };
  const page = await rig.page();
  assert.match(page, /could not connect to “\u2068Home\u2069”/);
  assert.match(page, /The password is wrong/);
  assert.match(page, new RegExp(`value="${hex("Home")}" checked`));
  assert.match(await rig.page({ "accept-language": "de" }), /Das Passwort ist falsch/);
  rig.port.errors = ["Home: raw words", "another one"];
  assert.ok(!(await rig.page()).includes("raw words"), "nothing is told twice");
  assert.match(await rig.page(), /another one/);
  rig.port.errors = [];
  rig.port.attempt = { ...attempt, result: "failed" };
  assert.match(await rig.page({ "accept-language": "de" }), /Einzelheiten.*raw words/);
  rig.port.attempt = { ...attempt, result: "connecting" };
  assert.match(await rig.page(), /now tries the network “\u2068Home\u2069”/);
  rig.port.attempt = { ...attempt, result: "connected" };
  rig.port.given = { isOnline: true };
  assert.match(await rig.page(), /The machine is online/);
});

Deno.test("only who was shown the page can send its form", async () => {
  const rig = new Rig();
  const form = { network: hex("Free") };
  const refused = async (answer: Promise<Response>) => assert.equal((await answer).status, 403);
  await refused(rig.send("/save", { ...form, token: "" }));
  await refused(rig.send("/save", { ...form, token: "1.x" }));
  await refused(rig.send("/save", { ...form, token: await rig.token("10.42.0.9") }));
  await refused(rig.send("/scan", { token: "" }));
  await refused(rig.send("/save", form, { headers: { origin: "http://evil.test" } }));
  const old = await rig.token();
  await rig.clock.advance(60 * 60_000 + 1);
  const late = await rig.send("/save", { ...form, token: old });
  assert.equal(late.status, 403);
  assert.match(await late.text(), /open for too long/);
  assert.deepEqual([rig.port.network, rig.port.active, rig.port.scans], [undefined, 0, 0]);
  const own = await rig.send("/save", form, { headers: { origin: `http://${HOST}` } });
  assert.equal(own.status, 200);
});

Deno.test("a second phone waits while the machine tries the network of the first", async () => {
  const rig = new Rig();
  const second = "10.42.0.51";
  const token = await rig.token(second);
  assert.equal((await rig.send("/save", { network: hex("Free") })).status, 200);
  const fields = { token, network: hex("Home"), password: "long enough" };
  const body = new URLSearchParams(fields);
  const request = new Request(`http://${HOST}/save`, { method: "POST", body });
  request.headers.set("host", HOST);
  assert.equal((await rig.portal.answer(request, second)).status, 409);
  assert.equal(new TextDecoder().decode(rig.port.network?.ssid), "Free");
});

Deno.test("searching again asks for a scan, and typing keeps provisioning going", async () => {
  const rig = new Rig();
  assert.equal((await rig.send("/scan", {})).status, 303);
  assert.equal(rig.port.scans, 1);
  const active = new Request(`http://${HOST}/active`, { method: "POST", body: await rig.token() });
  active.headers.set("host", HOST);
  assert.equal((await rig.portal.answer(active, PHONE)).status, 204);
  assert.equal(rig.port.active, 2);
});

Deno.test("hostile names of networks stay text, and the page stays under 20 KB", async () => {
  const rig = new Rig();
  rig.port.given = { hasCredentials: false };
  rig.port.visible = [
    visibleNetwork(`"><script>alert(1)</script>`),
    visibleNetwork("\u202egnp.exe"),
    ...Array.from(
      { length: 300 },
      (_, n) => visibleNetwork(`${"'".repeat(28)}${1000 + n}`, { security: "open" }),
    ),
  ];
  const page = await rig.page({ "accept-language": "de" });
  const bytes = new TextEncoder().encode(page).length;
  assert.ok(bytes <= 20 * 1024, `${bytes} bytes`);
  assert.ok(!page.includes("<script>alert"));
  assert.ok(!page.includes("\u202e"));
  assert.match(page, /und \d+ schwächere/);
});

Deno.test("with disable_captive_portal_redirect only names of .setup are answered", async () => {
  const rig = new Rig(true);
  assert.equal((await rig.ask("/", { host: "machine.setup" })).status, 200);
  assert.equal((await rig.ask("/generate_204", { host: "captive.apple.com" })).status, 404);
});

Deno.test("answers carry a strict policy, and other methods and paths are refused", async () => {
  const rig = new Rig();
  const answer = await rig.ask("/");
  const policy = answer.headers.get("content-security-policy") ?? "";
  assert.match(policy, /^default-src 'none'; style-src 'sha256-[^']+'; script-src 'sha256-[^']+'/);
  assert.ok(!policy.includes("unsafe"));
  assert.equal(answer.headers.get("cache-control"), "no-store");
  assert.equal((await rig.ask("/favicon.ico")).status, 404);
  const put = new Request(`http://${HOST}/`, { method: "PUT" });
  put.headers.set("host", HOST);
  assert.equal((await rig.portal.answer(put, PHONE)).status, 405);
});
