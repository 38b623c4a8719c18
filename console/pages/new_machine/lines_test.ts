import assert from "node:assert/strict";
import { Channel } from "../../../shared/gen/machine/cloud/v1/releases_pb.ts";
import { credentialsText, hasAgent, isLocal, linuxLine, needsTls, windowsLine } from "./lines.ts";

const facts = { cloud: "https://cloud.example", keyId: "k-1", key: "secret", partId: "p-1" };

Deno.test("the lines name the cloud, the key and the part, as the installers want them", () => {
  for (const line of [linuxLine(facts), windowsLine(facts)]) {
    for (const text of ["https://cloud.example/install.", "k-1", "secret", "p-1"]) {
      assert.ok(line.includes(text), `${text} in ${line}`);
    }
    assert.doesNotMatch(line, /\n/);
  }
});

Deno.test("credentialsText() is what the cloud serves as credentials file", () => {
  assert.deepEqual(JSON.parse(credentialsText("https://cloud.example", "p-1", "s")), {
    cloud: { app_address: "https://cloud.example:443", id: "p-1", secret: "s" },
  });
});

Deno.test("needsTls() is for clouds that others reach in clear", () => {
  assert.deepEqual(
    ["https://c.example", "http://127.0.0.1:8080", "http://10.0.0.1"].map(needsTls),
    [false, false, true],
  );
});

Deno.test("isLocal() is for addresses that other computers do not reach", () => {
  const addresses = [
    "http://127.0.0.1:8080",
    "http://localhost",
    "http://[::1]:1",
    "https://c.example",
  ];
  assert.deepEqual(addresses.map(isLocal), [true, true, true, false]);
});

Deno.test("hasAgent() takes stable agents for the system that were not withdrawn", () => {
  const agent = {
    ...{ binary: "machine-agent", channel: Channel.STABLE },
    files: [{ platform: "linux/arm64" }],
  };
  assert.equal(hasAgent([agent], "linux"), true);
  assert.equal(hasAgent([agent], "windows"), false);
  assert.equal(hasAgent([{ ...agent, withdrawnAt: {} }], "linux"), false);
  assert.equal(hasAgent([{ ...agent, channel: Channel.DEV }], "linux"), false);
  assert.equal(hasAgent([{ ...agent, binary: "machine-server" }], "linux"), false);
});
