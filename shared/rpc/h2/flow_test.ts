import assert from "node:assert/strict";
import { ReceiveWindow, SendWindow } from "./flow.ts";

Deno.test("SendWindow has room for what is left, none when it is negative", () => {
  const window = new SendWindow(100);
  window.spend(60);
  assert.equal(window.room, 40);
  assert.ok(window.grow(-70));
  assert.equal(window.room, 0);
  assert.ok(window.grow(31));
  assert.equal(window.room, 1);
});

Deno.test("SendWindow.grow() tells of a window that is too large", () => {
  assert.equal(new SendWindow(1).grow(0x7fff_fffe), true);
  assert.equal(new SendWindow(1).grow(0x7fff_ffff), false);
});

Deno.test("ReceiveWindow announces room when half of it is used", () => {
  const window = new ReceiveWindow(100);
  assert.ok(window.receive(49));
  assert.equal(window.release(49), 0);
  assert.ok(window.receive(51));
  assert.equal(window.release(1), 50);
  assert.ok(window.receive(50));
  assert.equal(window.receive(1), false);
});
