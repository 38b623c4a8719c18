import assert from "node:assert/strict";
import { guardedLookup, isPublicAddress, requireAllowedHost } from "./address_guard.ts";

Deno.test("isPublicAddress() refuses every network that is not the internet", () => {
  const table: Readonly<Record<string, boolean>> = {
    "8.8.8.8": true,
    "1.1.1.1": true,
    "172.15.255.255": true,
    "172.32.0.1": true,
    "2606:4700:4700::1111": true,
    "127.0.0.1": false,
    "127.255.0.1": false,
    "0.0.0.0": false,
    "10.1.2.3": false,
    "172.16.0.1": false,
    "172.31.255.255": false,
    "192.168.1.1": false,
    "169.254.169.254": false,
    "100.100.100.200": false,
    "168.63.129.16": false,
    "192.0.0.192": false,
    "198.18.0.1": false,
    "224.0.0.1": false,
    "255.255.255.255": false,
    "::": false,
    "::1": false,
    "::ffff:127.0.0.1": false,
    "::ffff:8.8.8.8": false,
    "64:ff9b::7f00:1": false,
    "2002:7f00:1::": false,
    "2001::1": false,
    "fd00:ec2::254": false,
    "fe80::1": false,
    "ff02::1": false,
    "example.com": false,
    "": false,
  };
  for (const [address, expected] of Object.entries(table)) {
    assert.equal(isPublicAddress(address), expected, address);
  }
});

Deno.test("requireAllowedHost() sees through every way to write an address in a URL", () => {
  const hosts = ["127.1", "2130706433", "0x7f.1", "017700000001", "[::1]", "[::ffff:7f00:1]"];
  for (const host of hosts) {
    const { hostname } = new URL(`http://${host}/`);
    assert.throws(
      () => requireAllowedHost(hostname, isPublicAddress),
      /--allow-private-webhooks/,
      host,
    );
  }
  requireAllowedHost("example.com", isPublicAddress);
  requireAllowedHost("8.8.8.8", isPublicAddress);
});

Deno.test("guardedLookup() gives only public addresses of a name", async () => {
  const resolve = () =>
    Promise.resolve([
      { address: "10.0.0.1", family: 4 },
      { address: "8.8.4.4", family: 4 },
      { address: "fd00::1", family: 6 },
    ]);
  const look = (allowPrivate: boolean, options: { all?: boolean; family?: number }) =>
    new Promise<unknown>((done) =>
      guardedLookup(resolve, allowPrivate ? () => true : isPublicAddress)(
        "h",
        options,
        (error, address) => done(error?.message ?? address),
      )
    );
  assert.equal(await look(false, {}), "8.8.4.4");
  assert.deepEqual(await look(false, { all: true }), [{ address: "8.8.4.4", family: 4 }]);
  assert.equal(await look(true, {}), "10.0.0.1");
  assert.match(
    String(await look(false, { family: 6 })),
    /^h \(10\.0\.0\.1, 8\.8\.4\.4, fd00::1\) is not/,
  );
});
