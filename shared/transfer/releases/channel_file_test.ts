import assert from "node:assert/strict";
import { type ChannelFile, expiryOf, requireCurrent } from "./channel_file.ts";

const list: ChannelFile = {
  ...{ format: "machine releases 1", channel: "stable", version: "1.2.3", files: [] },
  ...{ released: "2026-01-31", expires: expiryOf("2026-01-31"), commit: "abc1234", notes: "New." },
};

Deno.test("requireCurrent() takes a list for a year, and none that was held back longer", () => {
  assert.equal(list.expires, "2027-01-31");
  requireCurrent(list, new Date("2027-01-31T23:59:59Z"));
  // Also where the clock of the host is a year behind.
  requireCurrent(list, new Date("2025-01-31T00:00:00Z"));
  assert.throws(
    () => requireCurrent(list, new Date("2027-02-01T00:00:00Z")),
    /^RangeError: it expired on 2027-01-31, and it is 2027-02-01 by this host's clock/,
  );
});
