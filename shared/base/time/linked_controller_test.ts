import assert from "node:assert/strict";
import { linkedController } from "./linked_controller.ts";

Deno.test("linkedController() aborts with its parent, and with the parent's reason", () => {
  const parent = new AbortController();
  const linked = linkedController(parent.signal);
  assert.equal(linked.signal.aborted, false);
  parent.abort("why");
  assert.equal(linked.signal.reason, "why");
  assert.equal(linkedController(parent.signal).signal.reason, "why", "of an aborted parent");
});

Deno.test("linkedController() leaves its parent alone and unties itself when aborted", () => {
  const parent = new AbortController();
  let listeners = 0;
  const { addEventListener, removeEventListener } = parent.signal;
  parent.signal.addEventListener = function (...args: Parameters<typeof addEventListener>) {
    listeners++;
    return addEventListener.apply(this, args);
  };
  parent.signal.removeEventListener = function (...args: Parameters<typeof removeEventListener>) {
    listeners--;
    return removeEventListener.apply(this, args);
  };
  linkedController(parent.signal).abort();
  assert.equal(parent.signal.aborted, false);
  assert.equal(listeners, 0);
});
