import assert from "node:assert/strict";
import { browserCommand } from "./open_browser.ts";

const URL = "http://127.0.0.1:8080/account/link#code";

function commandIn(os: string, env: Record<string, string>, isTerminal = true) {
  return browserCommand({ os, env: (name) => env[name], isTerminal }, URL);
}

Deno.test("browserCommand() finds the browser of a desktop, and none where nobody sits", () => {
  assert.deepEqual(commandIn("linux", { DISPLAY: ":0" }), ["xdg-open", URL]);
  assert.deepEqual(commandIn("linux", { WAYLAND_DISPLAY: "wayland-0" }), ["xdg-open", URL]);
  assert.deepEqual(commandIn("darwin", {}), ["open", URL]);
  assert.deepEqual(commandIn("windows", {})?.at(-1), URL);
  assert.equal(commandIn("linux", {}), undefined);
  assert.equal(commandIn("linux", { DISPLAY: ":0" }, false), undefined);
  assert.equal(commandIn("linux", { DISPLAY: ":0", SSH_CONNECTION: "a b" }), undefined);
  assert.equal(commandIn("darwin", { CI: "true" }), undefined);
  assert.equal(commandIn("darwin", { MACHINE_BROWSER: "none" }), undefined);
  assert.deepEqual(commandIn("linux", { MACHINE_BROWSER: "firefox" }, false), ["firefox", URL]);
});
