import assert from "node:assert/strict";
import { join } from "node:path";
import { FakeListener, type ReceivedRequest } from "./fake_receiver.ts";
import type { AttemptOutcome } from "./retry_policy.ts";
import { TestAuthority, type TestCertificate } from "./certificates_testing.ts";

/** A receiver with TLS behind a listener that notes what is readable before it. */
class TlsReceiver implements AsyncDisposable {
  readonly requests: Pick<ReceivedRequest, "method" | "headers" | "body">[] = [];
  /** The first bytes of each connection: a ClientHello names the server in plain text. */
  readonly hellos: string[] = [];
  readonly #server: Deno.HttpServer<Deno.NetAddr>;
  readonly #front: FakeListener;

  constructor(tls: TestCertificate) {
    const options = { hostname: "127.0.0.1", port: 0, onListen: () => {}, ...tls };
    this.#server = Deno.serve(options, async (request) => {
      const { method, headers } = request;
      this.requests.push({ method, headers, body: await request.text() });
      return new Response("ok");
    });
    this.#front = new FakeListener(async (connection) => {
      const buffer = new Uint8Array(16_384);
      const hello = buffer.subarray(0, await connection.read(buffer) ?? 0);
      this.hellos.push(new TextDecoder("latin1").decode(hello));
      const { port } = this.#server.addr;
      const inner = await Deno.connect({ hostname: "127.0.0.1", port });
      for (let at = 0; at < hello.length;) at += await inner.write(hello.subarray(at));
      await Promise.allSettled([
        connection.readable.pipeTo(inner.writable),
        inner.readable.pipeTo(connection.writable),
      ]);
    });
  }

  get port(): string {
    return new URL(this.#front.origin).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#front[Symbol.asyncDispose]();
    await this.#server.shutdown();
  }
}

const SOURCE = `
  import { systemClock } from "../../../shared/base/time/clock.ts";
  import { WebhookSender } from "./webhook.ts";
  const sender = new WebhookSender({
    clock: systemClock,
    isAllowed: (address) => address === "127.0.0.1",
    resolve: () => Promise.resolve([
      { address: "10.0.0.1", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ]),
    userAgent: "test/1",
  });
  const request = {
    url: Deno.args[0], method: "POST", headers: {}, body: "{}", credentials: undefined,
  };
  console.log(JSON.stringify(await sender.send(request, new AbortController().signal)));
  Deno.exit(0);`;

/** Sends from a process of its own, which trusts what an operator has it trust. */
async function send(url: string, trusted: TestAuthority): Promise<AttemptOutcome> {
  const dir = await Deno.makeTempDir({ prefix: "webhook-tls-" });
  try {
    const file = join(dir, "ca.pem");
    await Deno.writeTextFile(file, trusted.cert);
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: ["eval", "--ext=ts", SOURCE, url],
      cwd: import.meta.dirname ?? ".",
      env: { NODE_EXTRA_CA_CERTS: file, NO_COLOR: "1" },
      stdout: "piped",
      stderr: "piped",
    }).output();
    const decoder = new TextDecoder();
    assert.notEqual(stdout.length, 0, decoder.decode(stderr));
    return JSON.parse(decoder.decode(stdout)) as AttemptOutcome;
  } finally {
    await Deno.remove(dir, { recursive: true });
  }
}

Deno.test("WebhookSender.send() names the receiver in TLS and HTTP though it connects to the checked address", async () => {
  const authority = new TestAuthority();
  await using receiver = new TlsReceiver(authority.issue("hooks.example"));
  const outcome = await send(`https://hooks.example:${receiver.port}/hook`, authority);
  assert.deepEqual(outcome, { kind: "delivered", statusCode: 200, response: "ok" });
  assert.equal(receiver.hellos.length, 1);
  assert.ok(receiver.hellos[0]?.includes("hooks.example"), "the name in the ClientHello");
  const [request] = receiver.requests;
  assert.equal(request?.headers.get("host"), `hooks.example:${receiver.port}`);
  assert.deepEqual([request.method, request.body], ["POST", "{}"]);
});

// One row for each way in which a certificate may be wrong.
const WRONG: readonly {
  what: string;
  certificate: (trusted: TestAuthority) => TestCertificate;
  error: RegExp;
}[] = [
  {
    what: "is for another name",
    certificate: (trusted) => trusted.issue("other.example"),
    error: /certificate.*hooks\.example/i,
  },
  {
    what: "comes from nobody who is trusted",
    certificate: () => new TestAuthority().issue("hooks.example"),
    error: /is not accepted .* comes from nobody who is trusted here; .*NODE_EXTRA_CA_CERTS/,
  },
  {
    what: "is no longer good",
    certificate: (trusted) => trusted.issue("hooks.example", -60_000),
    error: /is not accepted .*it has expired/,
  },
];
for (const { what, certificate, error } of WRONG) {
  Deno.test(`WebhookSender.send() sends nothing to a receiver whose certificate ${what}`, async () => {
    const trusted = new TestAuthority();
    await using receiver = new TlsReceiver(certificate(trusted));
    const outcome = await send(`https://hooks.example:${receiver.port}/hook`, trusted);
    assert.equal(outcome.kind, "retryable", "its operator may mend it");
    assert.match(outcome.kind === "retryable" ? outcome.error : "", error);
    assert.equal(outcome.statusCode, undefined);
    assert.deepEqual(receiver.requests, []);
  });
}
