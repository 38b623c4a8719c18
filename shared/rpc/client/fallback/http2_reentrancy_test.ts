import assert from "node:assert/strict";

/** Where the fault shows every time without the work-around; it began at about 1,000. */
const CALLS = 4_000;

function run(script: string, args: readonly string[]) {
  const path = new URL(`../../testdata/${script}`, import.meta.url);
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--allow-all", "--no-check", "--quiet", path.pathname, ...args],
    stdin: "piped",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
}

async function firstLine(child: Deno.ChildProcess): Promise<string> {
  const reader = child.stdout.pipeThrough(new TextDecoderStream()).getReader();
  let text = "";
  while (!text.includes("\n")) {
    const { value, done } = await reader.read();
    if (done) assert.fail(`the server ended before it said where it listens: ${text}`);
    text += value;
  }
  void reader.cancel();
  return text.trim();
}

Deno.test("a server survives the goodbye of clients that made thousands of calls", async () => {
  const server = run("counting_server.ts", [String(2 * CALLS + 1)]);
  const port = await firstLine(server);
  for (const calls of [CALLS, CALLS, 1]) {
    const client = run("calling_client.ts", [port, String(calls), "leave"]);
    await client.stdout.cancel();
    await client.stdin.close();
    assert.equal((await client.status).code, 0, "client");
  }
  await server.stdin.close();
  assert.equal((await server.status).code, 0, "server");
});

Deno.test("a client survives the goodbye of a server after thousands of calls", async () => {
  const server = run("counting_server.ts", [String(CALLS)]);
  const client = run("calling_client.ts", [await firstLine(server), String(CALLS), "stay"]);
  await client.stdout.cancel();
  assert.equal((await server.status).code, 0, "server");
  await server.stdin.close();
  // The client may have died already; its pipe is broken then.
  await client.stdin.close().catch(() => undefined);
  assert.equal((await client.status).code, 0, "client");
});
