import assert from "node:assert/strict";
import { ConnectionCounter } from "./connection_limits.ts";

Deno.test("ConnectionCounter takes descriptors by address, and gets all of them back", () => {
  const counter = new ConnectionCounter({ total: 7, perAddress: 4 });
  const enter = (address: string, local = false) => {
    const place = counter.enter(address, local);
    assert.ok("leave" in place, JSON.stringify(place));
    return place;
  };
  const first = enter("192.0.2.1");
  assert.equal(first.widen(2), undefined);
  const second = enter("192.0.2.1");
  assert.match(second.widen(2)?.refused ?? "", /^4 descriptors of connections from 192.0.2.1/);
  assert.match(JSON.stringify(counter.enter("192.0.2.1", false)), /^{"refused":"4 descriptors/);
  // Another address, and this host, which counts in all only.
  const others = [enter("192.0.2.2"), enter("127.0.0.1", true)];
  assert.match(others[1]!.widen(2)?.refused ?? "", /^7 descriptors of connections are open/);
  for (const place of [first, second, ...others]) place.leave();
  assert.equal(counter.total, 0);
  first.leave();
  assert.equal(first.widen(2), undefined, "it is closed already");
  assert.equal(counter.total, 0);
  const again = enter("192.0.2.1");
  assert.equal(again.widen(3), undefined);
});
