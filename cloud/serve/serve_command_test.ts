import assert from "node:assert/strict";
import { parseFlags } from "../../shared/flags/flags.ts";
import { readServeOptions, serveFlags } from "./serve_command.ts";

Deno.test("readServeOptions() refuses options that do not go together, and says which", async () => {
  const spec = { program: "machine-cloud serve", summary: "", flags: serveFlags };
  const read = (...argv: string[]) => readServeOptions(parseFlags(argv, spec).values, "/home");
  await assert.rejects(() => read("--tls-cert", "a"), /--tls-cert and --tls-key go together/);
  await assert.rejects(
    () => read("--proxy-protocol", "--tls-cert", "a", "--tls-key", "b"),
    /--proxy-protocol and --tls-cert do not go together/,
  );
  await assert.rejects(() => read("--database", "postgres://x"), /not available in this version/);
  assert.equal((await read("--proxy-protocol")).proxyProtocol, true);
});
