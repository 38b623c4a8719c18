import assert from "node:assert/strict";
import { distroOf, platformOf } from "./host_info.ts";

Deno.test("distroOf() finds ID and VERSION_ID wherever they stand", () => {
  const debian = 'PRETTY_NAME="Debian GNU/Linux 12"\nVERSION_ID="12"\nID=debian\nID_LIKE=x\n';
  assert.equal(distroOf(debian), "debian:12");
  assert.equal(distroOf("ID=arch\n"), "arch");
  assert.equal(distroOf("ID='x y'\r\nVERSION_ID=1\r\n"), "x y:1");
  assert.equal(distroOf("NAME=x\n"), "");
});

Deno.test("platformOf() names architectures as releases do", () => {
  assert.equal(platformOf("linux", "x86_64"), "linux/amd64");
  assert.equal(platformOf("linux", "aarch64"), "linux/arm64");
  assert.equal(platformOf("windows", "x86_64"), "windows/amd64");
});
