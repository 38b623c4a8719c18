import assert from "node:assert/strict";
import { AddressList } from "./address_list.ts";

Deno.test("AddressList has single addresses and those of networks, of both versions", () => {
  const list = new AddressList(["10.1.0.0/16", "192.0.2.7", "fd00::/8", "2001:db8::1"]);
  for (const address of ["10.1.255.3", "::ffff:10.1.0.1", "192.0.2.7", "fd12::9", "2001:db8::1"]) {
    assert.equal(list.has(address), true, address);
  }
  for (const address of ["10.2.0.1", "192.0.2.8", "fe80::1%eth0", "2001:db8::2", "", "/run/x"]) {
    assert.equal(list.has(address), false, address);
  }
  assert.equal(new AddressList(["0.0.0.0/0"]).has("203.0.113.9"), true);
  assert.equal(new AddressList([]).has("127.0.0.1"), false);
});

Deno.test("AddressList refuses what is neither, and repeats it", () => {
  for (const entry of ["", "10.0.0.0/33", "10.0.0/8", "::/129", "a/8", "10.0.0.0/8/8", "::1/-1"]) {
    assert.throws(() => new AddressList([entry]), (error: Error) => {
      return error instanceof RangeError && error.message.startsWith(JSON.stringify(entry));
    }, entry);
  }
});
