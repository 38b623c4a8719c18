import assert from "node:assert/strict";
import { isLoopbackHost } from "./loopback.ts";

Deno.test("isLoopbackHost() knows this host by address and by name", () => {
  for (const host of ["127.0.0.1", "127.9.8.7", "::1", "[::1]", "LOCALHOST", "a.localhost"]) {
    assert.equal(isLoopbackHost(host), true, host);
  }
});

Deno.test("isLoopbackHost() takes no name for an address", () => {
  for (const host of ["127.example.com", "127.0.0.1.example.com", "localhost.example.com", "::"]) {
    assert.equal(isLoopbackHost(host), false, host);
  }
});
