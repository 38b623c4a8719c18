import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { offeredRelease } from "./sync_releases.ts";

/** Of minisign; nobody has its other half. */
const key = Buffer.concat([Buffer.from("Ed"), Buffer.alloc(40, 1)]).toString("base64");

/** Reads the list of a folder whose server answers so. @returns what came of it, as text */
async function outcomeOf(answer: (path: string) => Response): Promise<string> {
  await using server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen() {} },
    (request) => answer(new URL(request.url).pathname),
  );
  const from = `http://127.0.0.1:${server.addr.port}`;
  try {
    await offeredRelease({ from, key, follows: "stable" }, new Date());
    return "it was taken";
  } catch (error) {
    return (error as Error).message;
  }
}

Deno.test("offeredRelease() follows redirects only where a folder may be", async () => {
  const asked: string[] = [];
  await using other = Deno.serve({ port: 0, hostname: "127.0.0.1", onListen() {} }, (request) => {
    asked.push(new URL(request.url).hostname);
    return new Response("a list");
  });
  const leadTo = (host: string) => (path: string) =>
    path.endsWith(".minisig")
      ? new Response(null, { status: 404 })
      : Response.redirect(`http://${host}:${other.addr.port}/list`);
  assert.match(await outcomeOf(leadTo("127.0.0.2")), /127\.0\.0\.2.*http:\/\/ is for this host/);
  assert.deepEqual(asked, []);
  assert.match(await outcomeOf(leadTo("127.0.0.1")), /stable\.json\.minisig answers 404/);
  assert.deepEqual(asked, ["127.0.0.1"]);
});

Deno.test("offeredRelease() follows no redirects without end", async () => {
  let asked = 0;
  const outcome = await outcomeOf((path) => {
    asked++;
    return new Response(null, { status: 302, headers: { location: `${path}x` } });
  });
  assert.match(outcome, /more than 5 redirects/);
  assert.equal(asked, 6);
});

Deno.test("offeredRelease() reads no list without end", async () => {
  const piece = new Uint8Array(65_536);
  let sent = 0;
  const outcome = await outcomeOf(() =>
    new Response(
      new ReadableStream({
        pull(controller) {
          sent += piece.length;
          controller.enqueue(piece);
        },
      }),
    )
  );
  assert.match(outcome, /stable\.json is longer than 1048576 bytes/);
  assert.ok(sent < 64 * 2 ** 20, `${sent} bytes were sent`);
});
