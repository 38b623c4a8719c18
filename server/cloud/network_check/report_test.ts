import assert from "node:assert/strict";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { type Finding, judge, type Subject, table } from "./finding.ts";
import { NetworkWatch } from "./network_watch.ts";
import { backgroundCheck, readTargets } from "./run.ts";
import { mappedAddress } from "./stun.ts";
import { defaultTargets, parseHostPort, parseTargets } from "./targets.ts";

const finding = (subject: Subject, what: string, outcome: Finding["outcome"]): Finding => ({
  ...{ subject, what, outcome, detail: "d" },
  ...(outcome === "ok" && { ms: 12.4 }),
});

Deno.test("table() has columns", () => {
  const lines = table([finding("dns", "UDP a:53", "ok"), finding("cloud", "ask", "failed")]);
  assert.equal(lines, "ok      dns    UDP a:53  12 ms  d\nFAILED  cloud  ask              d\n");
});

Deno.test("judge() asks for the cloud, else for names, and knows when all is lost", () => {
  const rows: [Finding[], boolean, RegExp][] = [
    [[finding("cloud", "ask", "ok"), finding("dns", "x", "failed")], true, /reached; 1 of 2/],
    [
      [finding("cloud", "resolve x", "failed"), finding("dns", "x", "ok")],
      false,
      /resolve x failed/,
    ],
    [[finding("resolver", "x", "failed"), finding("dns", "x", "failed")], false, /^offline/],
    [[finding("resolver", "x", "failed"), finding("dns", "x", "ok")], false, /cannot be resolved/],
    [[finding("resolver", "x", "failed"), finding("resolver", "y", "ok")], true, /works; 1 of 2/],
    [[finding("loss", "gateway", "skipped")], true, /^the network works$/],
  ];
  for (const [findings, ok, text] of rows) {
    const verdict = judge(findings);
    assert.equal(verdict.ok, ok, verdict.text);
    assert.match(verdict.text, text);
  }
});

Deno.test("parseTargets() takes every key and keeps the defaults of the others", () => {
  const targets = parseTargets({
    ...{ dns_servers: ["192.0.2.1", "[::1]:5353"], dns_name: "a.example", names: [] },
    ...{ stun_udp: ["s.example"], stun_tcp: [], packet_loss: ["gateway"], timeout: "2s" },
  }, defaultTargets("linux"));
  assert.deepEqual(targets, {
    dnsServers: [{ host: "192.0.2.1", port: 53 }, { host: "::1", port: 5353 }],
    ...{ dnsName: "a.example", names: [], stunUdp: [{ host: "s.example", port: 3478 }] },
    ...{ stunTcp: [], packetLoss: ["gateway"], timeoutMs: 2_000 },
  });
  assert.deepEqual(parseTargets({}, defaultTargets("windows")), defaultTargets("windows"));
});

Deno.test("parseTargets() says what is wrong, where, and what is allowed", () => {
  const rows: [unknown, RegExp][] = [
    [[], /JSON object/],
    [{ dns_server: [] }, /unknown key "dns_server".*did you mean dns_servers\?/],
    [{ names: "x" }, /names .*found "x", allowed: a list of texts/],
    [{ names: [""] }, /not empty/],
    [{ stun_udp: ["a:b"] }, /stun_udp .*found "a:b"/],
    [{ timeout: "2h" }, /timeout .*up to 1m/],
    [{ timeout: 3 }, /timeout/],
  ];
  for (const [json, message] of rows) {
    assert.throws(() => parseTargets(json as never, defaultTargets("linux")), message);
  }
  assert.throws(() => parseHostPort("a:70000", 1, "x"), /found "a:70000"/);
});

Deno.test("readTargets() reads JSON text or a file", async () => {
  assert.deepEqual(await readTargets(undefined), defaultTargets(Deno.build.os));
  assert.deepEqual((await readTargets('{"names": ["a"]} // ours')).names, ["a"]);
  const path = await Deno.makeTempFile();
  try {
    await Deno.writeTextFile(path, '{"names": ["b"]}');
    assert.deepEqual((await readTargets(path)).names, ["b"]);
  } finally {
    await Deno.remove(path);
  }
  await assert.rejects(readTargets("{names"), /not JSON/);
  await assert.rejects(readTargets("/no/such/file"), /cannot read .* \/no\/such\/file/);
});

Deno.test("backgroundCheck() asks nobody but the cloud when no targets are set", async () => {
  const options = { appAddress: undefined, setting: undefined, clock: new FakeClock() };
  const check = await backgroundCheck(options);
  assert.deepEqual(await check("full", new AbortController().signal), []);
});

Deno.test("mappedAddress() reads plain and IPv6 addresses, and refuses damaged answers", () => {
  const answer = (attribute: number[]) =>
    Uint8Array.from([
      1,
      1,
      0,
      attribute.length,
      0x21,
      0x12,
      0xa4,
      0x42,
      ...Array(12).fill(0),
      ...attribute,
    ]);
  const plain = answer([0, 1, 0, 8, 0, 1, 0, 80, 192, 0, 2, 9]);
  assert.deepEqual(mappedAddress(plain), { host: "192.0.2.9", port: 80 });
  const v6 = answer([
    0,
    0x20,
    0,
    20,
    0,
    2,
    0x21,
    0x12,
    0x21,
    0x12,
    0xa4,
    0x43,
    ...Array(12).fill(0),
  ]);
  assert.deepEqual(mappedAddress(v6), { host: "0:1:0:0:0:0:0:0", port: 0 });
  assert.throws(() => mappedAddress(answer([])), /names no address/);
  assert.throws(() => mappedAddress(answer([0, 0x20, 0, 8, 0, 1])), /names no address/);
  assert.throws(() => mappedAddress(answer([0, 0x20, 0, 4, 0, 9, 0, 0])), /damaged/);
  assert.throws(() => mappedAddress(new Uint8Array(3)), /no success/);
});

Deno.test("NetworkWatch logs each change once, and one line when all is lost", async () => {
  const clock = new FakeClock();
  const log = memoryLogger();
  const scopes: string[] = [];
  let findings = [finding("dns", "a", "ok"), finding("cloud", "ask", "ok")];
  const stop = new AbortController();
  const watch = new NetworkWatch({
    clock,
    log,
    check: (scope) => (scopes.push(scope), Promise.resolve(findings)),
  });
  const running = watch.run(stop.signal);
  const next = async (...outcomes: Finding["outcome"][]) => {
    findings = [finding("dns", "a", outcomes[0]!), finding("cloud", "ask", outcomes[1]!)];
    const before = log.entries.length;
    const asked = scopes.length;
    await clock.advance(5 * 60_000);
    await waitFor(() => scopes.length > asked, { deadlineMs: 60_000 });
    await clock.advance(0);
    return log.entries.slice(before).map(({ level, message }) => `${level} ${message}`);
  };
  await clock.advance(0);
  assert.deepEqual(log.messages(), []);
  assert.deepEqual(await next("failed", "ok"), ["warn network check failed: dns a"]);
  assert.deepEqual(await next("failed", "ok"), []);
  assert.deepEqual(await next("failed", "failed"), [
    "warn offline: no host that was probed has answered",
  ]);
  assert.deepEqual(await next("failed", "failed"), []);
  assert.deepEqual(await next("ok", "warning"), [
    "info the network answers again",
    "info network check is well again: dns a",
  ]);
  stop.abort();
  await running;
  assert.deepEqual(scopes.slice(0, 3), ["full", "brief", "brief"]);
});

Deno.test("NetworkWatch goes on when a check itself fails", async () => {
  const clock = new FakeClock();
  const log = memoryLogger();
  const stop = new AbortController();
  let checks = 0;
  const check = () => (checks++, Promise.reject(new Error("no sockets")));
  const running = new NetworkWatch({ clock, log, check }).run(stop.signal);
  await clock.advance(10 * 60_000);
  assert.equal(checks, 3);
  assert.match(log.messages("error")[0] ?? "", /could not be checked: no sockets/);
  stop.abort();
  await running;
});
