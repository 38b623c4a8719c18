import assert from "node:assert/strict";
import { join } from "node:path";
import { closeWindow, OPENED_WINDOW, openedUntil, openWindow } from "./opened_window.ts";

const NOW = new Date("2026-05-01T12:00:00Z");
const later = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);

async function withFolder(body: (dir: string, file: string) => Promise<void>): Promise<void> {
  const dir = await Deno.makeTempDir();
  try {
    await Deno.mkdir(join(dir, "etc"));
    await body(dir, join(dir, OPENED_WINDOW));
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("openWindow() opens for the time that was said, and closeWindow() ends it", () =>
  withFolder(async (dir) => {
    assert.equal(openedUntil(dir, NOW), undefined);
    assert.deepEqual(await openWindow(dir, 30, NOW), later(30));
    assert.deepEqual(openedUntil(dir, later(29)), later(30));
    assert.equal(openedUntil(dir, later(30)), undefined);
    assert.equal(openedUntil(dir, later(-1)), undefined, "the clock was set back");
    await closeWindow(dir);
    await closeWindow(dir);
    assert.equal(openedUntil(dir, NOW), undefined);
  }));

Deno.test("openedUntil() believes no file that others may write, and no other text", () =>
  withFolder(async (dir, file) => {
    await openWindow(dir, 30, NOW);
    await Deno.chmod(file, 0o666);
    assert.equal(openedUntil(dir, NOW), undefined);
    const lasting = { from: NOW.toISOString(), until: later(60 * 24 * 365).toISOString() };
    for (const text of ["", "{", "null", '{"until":"never"}', JSON.stringify(lasting)]) {
      await Deno.writeTextFile(file, text);
      await Deno.chmod(file, 0o644);
      assert.equal(openedUntil(dir, NOW), undefined, text);
    }
    await Deno.remove(file);
    await Deno.symlink("/etc/passwd", file);
    assert.equal(openedUntil(dir, NOW), undefined);
  }));
