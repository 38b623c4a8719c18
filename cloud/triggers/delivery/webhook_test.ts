import assert from "node:assert/strict";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { type Clock, systemClock } from "../../../shared/base/time/clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { freePort } from "../../../shared/test_tools/free_port.ts";
import { isPublicAddress, type Resolve, systemResolve } from "./address_guard.ts";
import type { AttemptOutcome } from "./retry_policy.ts";
import { FakeListener, FakeReceiver } from "./fake_receiver.ts";
import { KEPT_RESPONSE_BYTES, type WebhookRequest, WebhookSender } from "./webhook.ts";

const request: Omit<WebhookRequest, "url"> = {
  method: "POST",
  headers: { "Part-Id": "p", "Machine-Name": "Zürich\r\nX-Evil: 1" },
  body: '{"name":"Zürich"}',
  credentials: undefined,
};

interface SendOptions {
  readonly clock?: Clock;
  readonly isAllowed?: (address: string) => boolean;
  readonly resolve?: Resolve;
  readonly signal?: AbortSignal;
}

async function send(
  url: string,
  more: Partial<WebhookRequest> = {},
  options: SendOptions = {},
): Promise<AttemptOutcome> {
  const { clock = systemClock, isAllowed = () => true, resolve = systemResolve } = options;
  const sender = new WebhookSender({ clock, isAllowed, resolve, userAgent: "test/1" });
  try {
    return await sender.send(
      { ...request, url, ...more },
      options.signal ?? new AbortController().signal,
    );
  } finally {
    sender.close();
  }
}

const answering = (status: number, headers: HeadersInit = {}) => () =>
  FakeReceiver.start(() => new Response(status === 204 ? null : "an answer", { status, headers }));

// One row for each way in which a receiver may answer.
const ANSWERS: readonly {
  what: string;
  receiver: () => FakeReceiver;
  kind: AttemptOutcome["kind"];
  statusCode: number;
  error?: RegExp;
  retryAfterMs?: number;
}[] = [
  { what: "200", receiver: answering(200), kind: "delivered", statusCode: 200 },
  { what: "201", receiver: answering(201), kind: "delivered", statusCode: 201 },
  { what: "204 without a body", receiver: answering(204), kind: "delivered", statusCode: 204 },
  {
    what: "301 without a place",
    receiver: answering(301),
    kind: "final",
    statusCode: 301,
    error: /^received unretryable status code: 301 in webhook response$/,
  },
  {
    what: "303, which answers a form",
    receiver: answering(303, { location: "/other" }),
    kind: "final",
    statusCode: 303,
    error: /unretryable status code: 303/,
  },
  {
    what: "400",
    receiver: answering(400),
    kind: "final",
    statusCode: 400,
    error: /unretryable status code: 400/,
  },
  {
    what: "404",
    receiver: answering(404),
    kind: "final",
    statusCode: 404,
    error: /^received unretryable status code: 404 in webhook response$/,
  },
  {
    what: "408",
    receiver: answering(408),
    kind: "retryable",
    statusCode: 408,
    error: /^received retryable status code: 408 in webhook response$/,
  },
  {
    what: "410",
    receiver: answering(410),
    kind: "final",
    statusCode: 410,
    error: /unretryable status code: 410/,
  },
  { what: "425", receiver: answering(425), kind: "retryable", statusCode: 425 },
  {
    what: "429 with Retry-After",
    receiver: answering(429, { "retry-after": "7" }),
    kind: "retryable",
    statusCode: 429,
    retryAfterMs: 7_000,
  },
  { what: "500", receiver: answering(500), kind: "retryable", statusCode: 500 },
  {
    what: "503 with Retry-After",
    receiver: answering(503, { "retry-after": "3" }),
    kind: "retryable",
    statusCode: 503,
    retryAfterMs: 3_000,
  },
];

for (const { what, receiver, kind, statusCode, error, retryAfterMs } of ANSWERS) {
  Deno.test(`WebhookSender.send() gives ${kind} when the receiver answers ${what}`, async () => {
    await using server = receiver();
    const outcome = await send(`${server.origin}/hook`);
    assert.equal(outcome.kind, kind);
    assert.equal(outcome.statusCode, statusCode);
    assert.equal(outcome.response, statusCode === 204 ? "" : "an answer");
    assert.equal(server.requests.length, 1);
    if (outcome.kind === "delivered") return;
    if (error) assert.match(outcome.error, error);
    assert.equal(outcome.retryAfterMs, retryAfterMs);
  });
}

Deno.test("WebhookSender.send() sends method, headers, credentials and body", async () => {
  await using server = FakeReceiver.start();
  const url = `${server.origin}/hook?a=1`;
  await send(url, { credentials: { username: "user", password: "pä:ss" } });
  await send(url, { method: "GET", body: "" });
  const [post, get] = server.requests;
  assert.equal(post?.method, "POST");
  assert.equal(post.path, "/hook?a=1");
  assert.equal(post.body, '{"name":"Zürich"}');
  assert.equal(post.headers.get("part-id"), "p");
  assert.equal(post.headers.get("user-agent"), "test/1");
  assert.equal(post.headers.get("x-evil"), null);
  const name = Uint8Array.from(
    post.headers.get("machine-name") ?? "",
    (char) => char.charCodeAt(0),
  );
  assert.equal(new TextDecoder().decode(name), "Zürich X-Evil: 1");
  const expected = new TextEncoder().encode("user:pä:ss").toBase64();
  assert.equal(post.headers.get("authorization"), `Basic ${expected}`);
  assert.equal(get?.method, "GET");
  assert.equal(get.body, "");
  assert.equal(get.headers.get("authorization"), null);
});

Deno.test("WebhookSender.send() follows redirects with method and body, at most three", async () => {
  await using target = FakeReceiver.start();
  await using server = FakeReceiver.start(({ path }) => {
    const hops = Number(path.slice(1));
    const location = hops > 1 ? `/${hops - 1}` : `${target.origin}/end`;
    return new Response(null, {
      status: [301, 302, 307, 308][hops % 4] ?? 301,
      headers: { location },
    });
  });
  const credentials = { username: "u", password: "p" };
  assert.equal((await send(`${server.origin}/3`, { credentials })).kind, "delivered");
  const [last] = target.requests;
  assert.equal(last?.method, "POST");
  assert.equal(last.body, request.body);
  assert.equal(last.headers.get("authorization"), null, "not for another server");
  assert.ok(server.requests.every(({ headers }) => headers.get("authorization")));

  const many = await send(`${server.origin}/4`);
  assert.equal(many.kind, "final");
  assert.match(many.kind === "final" ? many.error : "", /not followed: more than 3 redirects/);
  assert.equal(target.requests.length, 1);
});

Deno.test("WebhookSender.send() refuses private networks, also behind names and redirects", async () => {
  await using server = FakeReceiver.start();
  const inside = (kind: AttemptOutcome) => {
    assert.equal(kind.kind, "final");
    assert.match(kind.kind === "final" ? kind.error : "", /not on the public internet/);
  };
  inside(await send(server.origin, {}, { isAllowed: isPublicAddress }));
  const { port } = new URL(server.origin);
  inside(await send(`http://localhost:${port}/`, {}, { isAllowed: isPublicAddress }));
  inside(await send(`http://[::1]:${port}/`, {}, { isAllowed: isPublicAddress }));
  const resolve = () => Promise.resolve([{ address: "169.254.169.254", family: 4 }]);
  inside(await send("http://metadata.example/", {}, { isAllowed: isPublicAddress, resolve }));
  inside(await send("https://metadata.example/", {}, { isAllowed: isPublicAddress, resolve }));
  assert.equal(server.requests.length, 0);
});

Deno.test("WebhookSender.send() checks where a redirect leads like the first address", async () => {
  await using server = FakeReceiver.start(({ path }) => {
    const { port } = new URL(server.origin);
    const location = path === "/name"
      ? `http://inner.example:${port}/`
      : `http://127.0.0.2:${port}/`;
    return new Response(null, { status: 302, headers: { location } });
  });
  const isAllowed = (address: string) => address === "127.0.0.1";
  const resolve = () => Promise.resolve([{ address: "10.0.0.1", family: 4 }]);
  for (const path of ["/address", "/name"]) {
    const outcome = await send(server.origin + path, {}, { isAllowed, resolve });
    assert.equal(outcome.kind, "final");
    assert.match(outcome.kind === "final" ? outcome.error : "", /not on the public internet/);
  }
  assert.equal(server.requests.length, 2);
});

Deno.test("WebhookSender.send() never goes from https to http or to another protocol", async () => {
  for (const location of ["file:///etc/passwd", "ftp://h/x"]) {
    await using server = FakeReceiver.start(() =>
      new Response(null, { status: 302, headers: { location } })
    );
    const outcome = await send(server.origin);
    assert.equal(outcome.kind, "final");
    assert.match(outcome.kind === "final" ? outcome.error : "", /not followed: it leads to/);
  }
});

Deno.test("WebhookSender.send() times out after 15 s when the receiver hangs", async () => {
  const clock = new FakeClock();
  await using server = new FakeListener((connection) =>
    connection.read(new Uint8Array(1_024)).then(() => undefined)
  );
  const sending = send(`${server.origin}/`, {}, { clock });
  await waitFor(() => server.connections === 1, { deadlineMs: 60_000 });
  await clock.advance(14_999);
  assert.equal(await Promise.race([sending, Promise.resolve("waiting")]), "waiting");
  await clock.advance(1);
  assert.deepEqual(await sending, {
    kind: "retryable",
    error: "no answer within 15 s",
    response: "",
  });
});

Deno.test("WebhookSender.send() tries again later when the receiver resets or is away", async () => {
  await using server = new FakeListener(async (connection) => {
    await connection.read(new Uint8Array(1));
    connection.close();
  });
  const reset = await send(`${server.origin}/`);
  assert.equal(reset.kind, "retryable");
  assert.equal(reset.statusCode, undefined);
  assert.equal(server.connections, 1);

  const away = await send(`http://127.0.0.1:${freePort()}/`);
  assert.equal(away.kind, "retryable");
  assert.match(away.kind === "retryable" ? away.error : "", /refused/i);

  const resolve = () => Promise.reject(new Error("getaddrinfo ENOTFOUND nowhere.example"));
  const unknown = await send("http://nowhere.example/", {}, { resolve });
  assert.equal(unknown.kind, "retryable");
  assert.match(unknown.kind === "retryable" ? unknown.error : "", /ENOTFOUND/);
});

Deno.test("WebhookSender.send() keeps 4 KiB of an answer that never ends, and cuts it", async () => {
  let sent = 0;
  let cut = false;
  await using server = new FakeListener(async (connection) => {
    await connection.read(new Uint8Array(4_096));
    const head = "HTTP/1.1 200 OK\r\ncontent-length: 1000000000\r\n\r\n";
    await connection.write(new TextEncoder().encode(head));
    const chunk = new Uint8Array(65_536).fill(120);
    try {
      while (sent < 1_000_000_000) sent += await connection.write(chunk);
    } catch {
      cut = true;
    }
  });
  const outcome = await send(`${server.origin}/`);
  assert.equal(outcome.kind, "delivered");
  assert.equal(outcome.response, "x".repeat(KEPT_RESPONSE_BYTES));
  await waitFor(() => cut, { deadlineMs: 60_000, what: "the end of the connection" });
  assert.ok(sent < 50_000_000, `${sent} bytes were taken`);
});

Deno.test("WebhookSender.send() counts the status of an answer whose body does not come", async () => {
  await using server = new FakeListener(async (connection) => {
    await connection.read(new Uint8Array(4_096));
    const head = "HTTP/1.1 404 Not Found\r\ncontent-length: 10\r\n\r\nbut";
    await connection.write(new TextEncoder().encode(head));
  });
  const clock = new FakeClock();
  const sending = send(`${server.origin}/`, {}, { clock });
  let outcome: AttemptOutcome | undefined;
  sending.then((value) => outcome = value);
  await waitFor(async () => {
    await clock.advance(100);
    return outcome;
  }, { deadlineMs: 60_000 });
  assert.equal(outcome?.kind, "final");
  assert.equal(outcome.statusCode, 404);
  assert.equal(outcome.response, "but");
});

Deno.test("WebhookSender.send() uses a new connection when the kept one has just been closed", async () => {
  let connections = 0;
  await using server = new FakeListener(async (connection) => {
    connections++;
    await connection.read(new Uint8Array(4_096));
    const answer = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
    await connection.write(new TextEncoder().encode(answer));
    // The second request on this connection finds it closed.
    await connection.read(new Uint8Array(1));
    connection.close();
  });
  const sender = new WebhookSender({
    clock: systemClock,
    isAllowed: () => true,
    resolve: systemResolve,
    userAgent: "test/1",
  });
  const { signal } = new AbortController();
  const url = `${server.origin}/`;
  assert.equal((await sender.send({ ...request, url }, signal)).kind, "delivered");
  assert.equal((await sender.send({ ...request, url }, signal)).kind, "delivered");
  assert.equal(connections, 2);
  sender.close();
});

Deno.test("WebhookSender.send() rejects with the reason when it is told to end", async () => {
  await using server = new FakeListener(() => Promise.resolve());
  const controller = new AbortController();
  const sending = send(`${server.origin}/`, {}, { signal: controller.signal });
  await waitFor(() => server.connections === 1, { deadlineMs: 60_000 });
  controller.abort(new Error("ending"));
  await assert.rejects(sending, /ending/);
});
