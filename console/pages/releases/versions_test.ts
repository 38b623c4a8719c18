import assert from "node:assert/strict";
import { guessRelease, runningVersions } from "./versions.ts";

Deno.test("runningVersions() counts versions, newest first", () => {
  assert.deepEqual(runningVersions(["1.9.0", "", "1.10.0", "1.9.0"]), [
    { version: "1.10.0", machines: 1 },
    { version: "1.9.0", machines: 2 },
  ]);
});

Deno.test("guessRelease() reads program, version and platform where a file tells them", () => {
  const elf = (machine: number) => Uint8Array.of(0x7f, 0x45, 0x4c, 0x46, ...Array(14), machine, 0);
  const guess = (name: string, head = new Uint8Array()) => {
    const { binary, version, platform } = guessRelease(name, head);
    return [binary, version, platform];
  };
  assert.deepEqual(guess("machine-server-linux-x64", elf(62)), [
    "machine-server",
    "",
    "linux/amd64",
  ]);
  assert.deepEqual(guess("machine-agent-1.12.3-rc.1.exe", Uint8Array.of(0x4d, 0x5a)), [
    ...["machine-agent", "1.12.3-rc.1", "windows/amd64"],
  ]);
  assert.deepEqual(guess("machine-agent_v1.2.3_arm64", elf(183))[1], "1.2.3");
  assert.deepEqual(guess("a.bin", Uint8Array.of(0x7f)), ["", "", ""]);
});
