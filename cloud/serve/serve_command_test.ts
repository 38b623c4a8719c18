import assert from "node:assert/strict";
import { parseFlags } from "../../shared/base/flags/flags.ts";
import { isHarmless } from "./runtime_faults.ts";
import { startWarnings } from "./serve_command.ts";
import { serveFlags } from "./serve_flags.ts";
import { readServeOptions } from "./serve_options.ts";

Deno.test("readServeOptions() refuses options that do not go together, and says which", async () => {
  const spec = { program: "machine-cloud serve", summary: "", flags: serveFlags };
  const read = (...argv: string[]) =>
    readServeOptions(parseFlags(argv, spec).values, "/home", () => undefined);
  await assert.rejects(() => read("--tls-cert", "a"), /--tls-cert and --tls-key go together/);
  await assert.rejects(
    () => read("--proxy-protocol", "10.0.0.7", "--acme-domain", "cloud.example"),
    /--proxy-protocol and --acme-domain do not go together/,
  );
  await assert.rejects(
    () => read("--database", "postgres://x"),
    /--database: .* names no database/,
  );
  await assert.rejects(
    () => read("--database", "postgres://h/d?sslmod=disable"),
    /--database: .* no parameter "sslmod"; there are host, pool, schema/,
  );
  await assert.rejects(() => read("--blob-store", "s3://box"), /set AWS_ACCESS_KEY_ID and AWS_/);
  await assert.rejects(
    () => read("--proxy-protocol", "10.0.0.0/8, everybody"),
    /--proxy-protocol: "everybody" is no address and no network/,
  );
  const { balancers } = await read("--proxy-protocol", "10.0.0.0/8, ::1");
  assert.deepEqual(balancers?.entries, ["10.0.0.0/8", "::1"]);
  const secret = await read("--smtp-url", "user:pw@host").then(() => "", (error) => error.message);
  assert.match(secret, /^--smtp-url: this is no address of a mail server/);
  assert.doesNotMatch(secret, /pw/);
  await assert.rejects(() => read("--mail-from", "nobody"), /--mail-from: "nobody" is no e-mail/);
  await assert.rejects(() => read("--mail-from", "a@b\nBcc: c@d"), /is no e-mail address/);
  await assert.rejects(
    () => read("--ice-servers", "/nowhere/ice.json"),
    /^UsageError: --ice-servers: .*\/nowhere\/ice\.json/,
  );
  await assert.rejects(() => read("--map-tiles", "https://a/{x}"), /--map-tiles: write an address/);
  await assert.rejects(() => read("--map-attribution", "A"), /give both/);
  const options = await read("--mail-from", "Machines <a@b.example>", "--offline-after", "90");
  assert.equal(options.notifications?.mailFrom, "Machines <a@b.example>");
  assert.equal(options.notifications.allowPrivateWebhooks, false);
  assert.equal(options.offlineAfterMs, 90_000);
});

Deno.test("startWarnings() tells of keys in clear, and of containers that cannot call back", () => {
  const here = { hostname: "127.0.0.1", port: 8080 };
  const everywhere = { hostname: "0.0.0.0", port: 8080 };
  const engine = "podman";
  const local = "http://127.0.0.1:8080";
  const options = { listen: here, tls: undefined, training: {} };
  assert.deepEqual(startWarnings(options, local), []);
  assert.match(startWarnings({ ...options, listen: everywhere }, local)[0]!, /without TLS/);
  const contained = { ...options, training: { engine } } as const;
  assert.match(startWarnings(contained, local)[0]!, /name an address that they reach/);
  assert.deepEqual(startWarnings(contained, "https://cloud.example"), []);
});

Deno.test("isHarmless() knows what older runtimes reject when an answer is cut, and nothing else", () => {
  assert.equal(isHarmless(new Error("operation canceled")), true);
  assert.equal(isHarmless(new TypeError("error reading a body from connection")), true);
  assert.equal(isHarmless(new Error("disk full")), false);
  assert.equal(isHarmless("operation canceled"), false);
});
