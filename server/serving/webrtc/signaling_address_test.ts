import assert from "node:assert/strict";
import { answeredNames, signalingAddress } from "./signaling_address.ts";

Deno.test("signalingAddress() is the cloud's unless the configuration names another", () => {
  const app = "https://cloud.example:8443";
  for (
    const [block, expected] of [
      [{}, app],
      [{ signaling_address: "" }, app],
      [{ signaling_address: "cloud.example:8443" }, app],
      [{ signaling_address: "signal.example" }, "https://signal.example"],
      [{ signaling_address: "https://signal.example:444" }, "https://signal.example:444"],
      [{ signaling_address: "signal.lan:80", signaling_insecure: true }, "http://signal.lan"],
      [{ signaling_address: "no host" }, app],
      [{ signaling_address: "127.0.0.1:8080", signaling_insecure: true }, app],
      [{ signaling_address: "localhost:8080" }, app],
    ] as const
  ) assert.equal(signalingAddress(block, app), expected, JSON.stringify(block));
  const here = { signaling_address: "localhost:9000", signaling_insecure: true };
  assert.equal(signalingAddress(here, "http://127.0.0.1:8080"), "http://localhost:9000");
});

Deno.test("answeredNames() are the two of the cloud block, once each", () => {
  assert.deepEqual(answeredNames({}), []);
  assert.deepEqual(answeredNames({ fqdn: "a", local_fqdn: "b" }), ["a", "b"]);
  assert.deepEqual(answeredNames({ fqdn: "a", local_fqdn: "a" }), ["a"]);
  assert.deepEqual(answeredNames({ fqdn: "", local_fqdn: "b" }), ["b"]);
});
