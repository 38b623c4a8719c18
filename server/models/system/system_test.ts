import assert from "node:assert/strict";
import { join } from "node:path";
import type { JsonObject } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { FakeProcesses } from "../../../shared/base/process/fake_processes.ts";
import type { Resource } from "../../resources/graph/resource.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import { construct, testCall, testEnvironment } from "../testing.ts";
import { systemModel } from "./system_model.ts";

const isLinux = Deno.build.os === "linux";

async function run(
  command: JsonObject,
  attributes: JsonObject = {},
  overrides: Partial<BuiltinEnvironment> = {},
  log = memoryLogger(),
): Promise<JsonObject> {
  const model = systemModel("rdk:component:generic", testEnvironment(overrides));
  const resource = await construct<Resource, unknown>(model, attributes, { log });
  return await resource.doCommand!(command, testCall());
}

function refused(code: Code, words: RegExp) {
  return (error: unknown) => {
    assert(error instanceof ConnectError);
    assert.equal(error.code, code);
    assert.match(error.rawMessage, words);
    return true;
  };
}

Deno.test("systemModel() tells how long the host runs and what it is", async () => {
  const { uptime_seconds: seconds } = await run({ command: "uptime" });
  assert(Number(seconds) > 0);
  const info = await run({ command: "info" });
  assert.equal(info["hostname"], Deno.hostname());
  assert.equal(info["os"], Deno.build.os);
  assert(Number(info["cpu_count"]) >= 1);
  assert(Number(info["memory_total_bytes"]) > 1e6);
  assert.match(String(info["time"]), /^\d{4}-\d\d-\d\dT.*Z$/);
});

Deno.test("systemModel() lists the commands when one is not known", async () => {
  const known =
    /known are \{"command": "info"\}, \{"command": "reboot"\}, \{"command": "uptime"\}$/;
  await assert.rejects(run({}), refused(Code.InvalidArgument, known));
  await assert.rejects(
    run({ command: "toString" }),
    refused(Code.InvalidArgument, /^command "toString"; known are/),
  );
});

Deno.test("systemModel() restarts nothing unless the attribute allows it", async () => {
  const processes = new FakeProcesses();
  for (const attributes of [{}, { allow_reboot: false }]) {
    await assert.rejects(
      run({ command: "reboot" }, attributes, { processes }),
      refused(Code.PermissionDenied, /"allow_reboot" to true/),
    );
  }
  await assert.rejects(
    run({ command: "reboot" }, { allow_reboot: true }, { processes, untrusted: true }),
    refused(Code.PermissionDenied, /-untrusted-env/),
  );
  assert.equal(processes.started.length, 0);
});

/** Runs with only these programs in PATH; `calls` holds what they were called with. */
async function withPrograms(
  programs: Readonly<Record<string, string>>,
  test: (variables: () => Record<string, string>, calls: () => string) => Promise<void>,
): Promise<void> {
  const folder = await Deno.makeTempDir();
  try {
    const calls = join(folder, "calls");
    await Deno.writeTextFile(calls, "");
    for (const [name, rest] of Object.entries(programs)) {
      const script = `#!/bin/sh\necho "${name} $*" >> ${calls}\n${rest}\n`;
      await Deno.writeTextFile(join(folder, name), script, { mode: 0o755 });
    }
    await test(() => ({ PATH: folder }), () => Deno.readTextFileSync(calls));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: "systemModel() restarts with the first program that is there",
  ignore: !isLinux,
  fn: async () => {
    const log = memoryLogger();
    const allowed = { allow_reboot: true };
    await withPrograms({ systemctl: "", shutdown: "" }, async (variables, calls) => {
      assert.deepEqual(await run({ command: "reboot" }, allowed, { variables }, log), {
        rebooting: true,
      });
      assert.equal(calls(), "systemctl reboot\n");
      assert.match(log.messages("warn").join(), /the host is rebooted/);
    });
    await withPrograms({ shutdown: "" }, async (variables, calls) => {
      await run({ command: "reboot" }, allowed, { variables });
      assert.equal(calls(), "shutdown -r now\n");
    });
    await withPrograms({}, async (variables) => {
      await assert.rejects(
        run({ command: "reboot" }, allowed, { variables }),
        /none of the programs that restart it: systemctl, shutdown, reboot/,
      );
    });
  },
});

Deno.test({
  name: "systemModel() tells what the program said when the host does not restart",
  ignore: !isLinux,
  fn: () =>
    withPrograms({ systemctl: "echo 'not authorised' >&2; exit 1" }, async (variables) => {
      await assert.rejects(
        run({ command: "reboot" }, { allow_reboot: true }, { variables }),
        /^ProgramError: systemctl exited with code 1; its output: not authorised$/,
      );
    }),
});
