import assert from "node:assert/strict";
import { versionText } from "./version_text.ts";

Deno.test("versionText() names the file or address of a program that is no release", () => {
  assert.deepEqual(
    [
      "1.2.3",
      "customURL+file:///opt/my%20build/machine-server",
      "customURL+file:///opt/100%/machine-server",
      "customURL+https://example.com/machine-server",
      "customURL+no address",
    ].map(versionText),
    [
      "1.2.3",
      "/opt/my build/machine-server",
      "/opt/100%/machine-server",
      "https://example.com/machine-server",
      "no address",
    ],
  );
});
