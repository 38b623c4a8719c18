import assert from "node:assert/strict";
import { freePort, PortShare } from "./free_port.ts";

Deno.test("PortShare hands out ports that another process's share does not", () => {
  using one = PortShare.take();
  using two = PortShare.take();
  const ports = (share: PortShare) => new Set(Array.from({ length: 500 }, () => share.free(1)));
  assert.deepEqual(ports(one).intersection(ports(two)), new Set());
});

Deno.test("freePort() gives ports in a row, and passes by those that are in use", () => {
  const port = freePort(2);
  using _first = Deno.listen({ hostname: "127.0.0.1", port });
  using _second = Deno.listen({ hostname: "127.0.0.1", port: port + 1 });
  for (let n = 0; n < 1_000; n++) assert.ok(![port, port + 1].includes(freePort()));
});
