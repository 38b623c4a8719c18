import assert from "node:assert/strict";
import {
  Destinations,
  packageIndexes,
  RefusedDestinationError,
  upstreamProxy,
} from "./destinations.ts";

const NAMES: Record<string, string[]> = {
  "pypi.example": ["93.184.216.34"],
  "rebound.example": ["10.1.2.3"],
  "both.example": ["192.168.1.1", "93.184.216.34"],
  "index.internal": ["10.0.0.9"],
  "own.example": ["93.184.216.99"],
};
const destinations = new Destinations({
  always: [{ host: "index.internal", port: 8443 }, { host: "127.0.0.1", port: 8080 }],
  resolve: (name) =>
    Promise.resolve((NAMES[name] ?? []).map((address) => ({ address, family: 4 }))),
  ownAddresses: () => ["93.184.216.99"],
});

Deno.test("Destinations allows the internet, the cloud and the package index", async () => {
  const found = (host: string, port: number) => destinations.addressesOf({ host, port });
  assert.deepEqual(await found("pypi.example", 443), ["93.184.216.34"]);
  assert.deepEqual(await found("both.example", 443), ["93.184.216.34"]);
  assert.deepEqual(await found("index.internal", 8443), ["10.0.0.9"]);
  assert.deepEqual(await found("127.0.0.1", 8080), ["127.0.0.1"]);
});

Deno.test("Destinations refuses private networks, other ports of this host, and itself", async () => {
  const refused: [string, number][] = [
    ["rebound.example", 443],
    ["index.internal", 22],
    ["127.0.0.1", 8081],
    ["169.254.169.254", 80],
    ["own.example", 443],
    ["fd00::1", 443],
    ["unknown.example", 443],
  ];
  for (const [host, port] of refused) {
    await assert.rejects(destinations.addressesOf({ host, port }), RefusedDestinationError, host);
  }
});

Deno.test("packageIndexes() reads pip's variables and settings", () => {
  const settings =
    "[global]\n# index-url = http://no.example\nextra-index-url=http://b.example/x\n";
  const inherited = { PIP_INDEX_URL: "https://user:pass@a.example/simple", PIP_FIND_LINKS: "/opt" };
  assert.deepEqual(packageIndexes(inherited, settings, ["own.example"]), [
    { host: "own.example", port: 443 },
    { host: "a.example", port: 443 },
    { host: "b.example", port: 80 },
  ]);
});

Deno.test("upstreamProxy() is the first one by plain HTTP, with its password", () => {
  assert.equal(upstreamProxy({}), undefined);
  assert.equal(upstreamProxy({ https_proxy: "socks5://a.example:1080" }), undefined);
  assert.deepEqual(upstreamProxy({ https_proxy: "http://u:p%40@a.example:3128" }), {
    ...{ host: "a.example", port: 3128 },
    authorization: `Basic ${btoa("u:p@")}`,
  });
});
