import assert from "node:assert/strict";
import { systemClock } from "../../../shared/base/time/clock.ts";
import type { Finding } from "./finding.ts";
import { checkNetwork } from "./network_check.ts";
import { type NetworkProbe, parsePing, parseRoutes, realProbe } from "./probe.ts";
import { dnsServer, silentServer, stunTcpServer, stunUdpServer } from "./testing.ts";
import type { NetworkTargets } from "./targets.ts";

const NOBODY: NetworkTargets = {
  ...{ dnsServers: [], dnsName: "example.com", names: [], stunUdp: [], stunTcp: [] },
  ...{ packetLoss: [], timeoutMs: 60_000 },
};

const unreachable = () => Promise.reject(new Error("network is unreachable"));

/** A network in which nothing can be reached but what is given. */
function network(parts: Partial<NetworkProbe> = {}): NetworkProbe {
  return {
    resolve: unreachable,
    reach: unreachable,
    get: unreachable,
    tcp: unreachable,
    openUdp: unreachable,
    ping: () => Promise.resolve(undefined),
    gateway: () => Promise.resolve(undefined),
    ...parts,
  };
}

const check = (targets: Partial<NetworkTargets>, probe: NetworkProbe, appAddress?: string) =>
  checkNetwork({ targets: { ...NOBODY, ...targets }, appAddress, probe, clock: systemClock });

const brief = (findings: Finding[]) =>
  findings.map(({ subject, what, outcome, detail }) => `${outcome} ${subject} ${what}: ${detail}`);

Deno.test("checkNetwork() goes the whole way to the cloud when all is well", async () => {
  const asked: string[] = [];
  const probe = network({
    resolve: (host) => Promise.resolve([`${host} is 192.0.2.1`]),
    reach: ({ host, port }) => (asked.push(`${host} ${port}`), Promise.resolve()),
    get: (url) => (asked.push(url), Promise.resolve(404)),
  });
  assert.deepEqual(brief(await check({}, probe, "https://cloud.example")), [
    "ok cloud resolve cloud.example: cloud.example is 192.0.2.1",
    "ok cloud connect to cloud.example:443: connected",
    "ok cloud ask https://cloud.example: HTTP status 404",
  ]);
  assert.deepEqual(asked, ["cloud.example 443", "https://cloud.example"]);
});

Deno.test("checkNetwork() stops on the way to the cloud at the first step that fails", async () => {
  const probe = network({ resolve: () => Promise.resolve(["::1"]) });
  assert.deepEqual(brief(await check({}, probe, "http://[::1]:8080")), [
    "ok cloud resolve ::1: ::1",
    "failed cloud connect to ::1:8080: network is unreachable",
  ]);
});

Deno.test("checkNetwork() asks name servers by UDP and TCP", async () => {
  await using good = await dnsServer();
  await using bad = await dnsServer(false);
  const [g, b] = [good.address, bad.address];
  assert.deepEqual(brief(await check({ dnsServers: [g, b] }, realProbe)), [
    `ok dns UDP 127.0.0.1:${g.port}: 192.0.2.7`,
    `ok dns TCP 127.0.0.1:${g.port}: 192.0.2.7`,
    `failed dns UDP 127.0.0.1:${b.port}: example.com: NXDOMAIN`,
    `failed dns TCP 127.0.0.1:${b.port}: example.com: NXDOMAIN`,
  ]);
});

Deno.test("checkNetwork() tells under which address servers see us, and of a hard NAT", async () => {
  await using one = await stunUdpServer({ host: "192.0.2.1", port: 50_000 });
  await using same = await stunUdpServer({ host: "192.0.2.1", port: 50_000 });
  await using other = await stunUdpServer({ host: "192.0.2.1", port: 50_001 });
  await using tcp = await stunTcpServer({ host: "192.0.2.2", port: 7 });
  const easy = brief(
    await check({ stunUdp: [one.address, same.address], stunTcp: [tcp.address] }, realProbe),
  );
  assert.equal(easy[0], `ok stun UDP 127.0.0.1:${one.address.port}: seen as 192.0.2.1:50000`);
  assert.match(easy[2]!, /^ok stun NAT: all servers see the same address/);
  assert.equal(easy[3], `ok stun TCP 127.0.0.1:${tcp.address.port}: seen as 192.0.2.2:7`);
  const hard = brief(await check({ stunUdp: [one.address, other.address] }, realProbe));
  assert.match(hard[2]!, /^warning stun NAT: each server sees another address/);
});

Deno.test("checkNetwork() times out on servers that say nothing", async () => {
  await using silent = await silentServer();
  const servers = [silent.address];
  const findings = await check(
    { dnsServers: servers, stunUdp: servers, stunTcp: servers, timeoutMs: 300 },
    realProbe,
  );
  assert.deepEqual(findings.map(({ outcome }) => outcome), Array(4).fill("failed"));
  assert.ok(
    findings.every(({ detail }) => /longer than 300 ms/.test(detail)),
    brief(findings).join(),
  );
});

Deno.test("checkNetwork() says plainly that nothing answers when there is no network", async () => {
  const server = { host: "192.0.2.1", port: 53 };
  const findings = await check(
    {
      ...{ dnsServers: [server], names: ["a.example"], stunUdp: [server], stunTcp: [server] },
      packetLoss: ["gateway", "192.0.2.1"],
    },
    network(),
    "https://cloud.example",
  );
  assert.deepEqual(brief(findings), [
    "failed cloud resolve cloud.example: network is unreachable",
    "failed resolver a.example: network is unreachable",
    "failed dns UDP 192.0.2.1:53: network is unreachable",
    "failed dns TCP 192.0.2.1:53: network is unreachable",
    "failed stun UDP: network is unreachable",
    "failed stun TCP 192.0.2.1:53: network is unreachable",
    "skipped loss gateway: there is no default gateway",
    "failed loss 192.0.2.1: 0 of 10 questions by UDP to 192.0.2.1:53 (ping is not available here) answered",
  ]);
});

Deno.test("checkNetwork() counts lost packets by ping, else by questions", async () => {
  await using server = await dnsServer();
  const targets = { packetLoss: ["gateway"], dnsServers: [server.address] };
  const loss = async (probe: NetworkProbe) =>
    brief(await check(targets, probe)).filter((line) => line.includes(" loss "));
  const gateway = () => Promise.resolve("192.0.2.254");
  const ping = () => Promise.resolve({ sent: 10, received: 9 });
  assert.deepEqual(await loss({ ...realProbe, gateway, ping }), [
    "warning loss gateway 192.0.2.254: 9 of 10 echo requests answered",
  ]);
  assert.deepEqual(await loss({ ...realProbe, gateway, ping: () => Promise.resolve(undefined) }), [
    `ok loss gateway 192.0.2.254: 10 of 10 questions by UDP to 127.0.0.1:${server.address.port} ` +
    "(ping is not available here) answered",
  ]);
});

Deno.test("parsePing() and parseRoutes() read what systems print", () => {
  const linux = "10 packets transmitted, 9 received, 10% packet loss, time 1809ms";
  assert.deepEqual(parsePing(linux), { sent: 10, received: 9 });
  const busybox = "10 packets transmitted, 10 packets received, 0% packet loss";
  assert.deepEqual(parsePing(busybox), { sent: 10, received: 10 });
  const windows = "    Packets: Sent = 10, Received = 0, Lost = 10 (100% loss),";
  assert.deepEqual(parsePing(windows), { sent: 10, received: 0 });
  assert.equal(parsePing("ping: unknown host"), undefined);
  const routes = "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\n" +
    "wlan0\t00000000\t0101A8C0\t0003\t0\t0\t600\neth0\t00000000\tFE0200C0\t0003\t0\t0\t100\n" +
    "eth0\t000200C0\t00000000\t0001\t0\t0\t0\n";
  assert.equal(parseRoutes(routes), "192.0.2.254");
  assert.equal(parseRoutes("Iface\n"), undefined);
});
