import assert from "node:assert/strict";
import { checkNetwork, type NetworkProbe } from "./network_check.ts";

/** A network in which the given steps fail. */
function network(
  ...broken: ("resolve" | "reach" | "get")[]
): { probe: NetworkProbe; asked: string[] } {
  const asked: string[] = [];
  const answer = <T>(step: "resolve" | "reach" | "get", what: string, value: T): Promise<T> => {
    asked.push(`${step} ${what}`);
    return broken.includes(step)
      ? Promise.reject(new Error("it is broken"))
      : Promise.resolve(value);
  };
  const probe: NetworkProbe = {
    resolve: (host) => answer("resolve", host, ["192.0.2.1"]),
    reach: (host, port) => answer("reach", `${host}:${port}`, undefined),
    get: (url) => answer("get", url, 200),
  };
  return { probe, asked };
}

Deno.test("checkNetwork() goes the whole way to the cloud when all is well", async () => {
  const { probe, asked } = network();
  const findings = await checkNetwork("https://cloud.example", probe);
  assert.deepEqual(findings.map(({ ok }) => ok), [true, true, true]);
  assert.deepEqual(asked, [
    "resolve cloud.example",
    "reach cloud.example:443",
    "get https://cloud.example",
  ]);
  assert.match(findings[0]!.text, /resolve cloud\.example: 192\.0\.2\.1 \(\d+ ms\)/);
});

Deno.test("checkNetwork() stops at the first step that fails and says which", async () => {
  const { probe } = network("reach");
  const findings = await checkNetwork("http://[::1]:8080", probe);
  assert.deepEqual(findings.map(({ ok }) => ok), [true, false]);
  assert.equal(findings[1]!.text, "connect to ::1:8080: failed: it is broken");
});

Deno.test("checkNetwork() only resolves names when there is no cloud", async () => {
  assert.ok((await checkNetwork(undefined, network().probe)).every(({ ok }) => ok));
  assert.ok((await checkNetwork(undefined, network("resolve").probe)).every(({ ok }) => !ok));
});
