/** What callers without a token can make a server hold, over real connections. */
import { Code, ConnectError } from "@connectrpc/connect";
import { Buffer } from "node:buffer";
import assert from "node:assert/strict";
import http2 from "node:http2";
import { gzipSync } from "node:zlib";
import { requireAuthentication } from "../cloud/auth/require_auth.ts";
import type { Identity } from "../cloud/auth/identity.ts";
import { waitFor } from "../base/time/wait_for.ts";
import { RequestBudgets } from "./server/request_budget.ts";
import { GET_READINGS, withServer } from "./testing.ts";

const MIB = 1024 * 1024;
const SHELL = "viam.service.shell.v1.ShellService/Shell";

/** A message of 32 MiB in 32 KB. */
const BOMB = message(gzipSync(Buffer.alloc(32 * MIB)), 1);

function message(bytes: Uint8Array, flag = 0): Buffer {
  const prefix = Buffer.alloc(5);
  prefix[0] = flag;
  prefix.writeUInt32BE(bytes.length, 1);
  return Buffer.concat([prefix, bytes]);
}

/** Whatever has no answer by then gets none. */
const DEADLINE_MS = 60_000;

interface Sent {
  readonly stream: http2.ClientHttp2Stream;
  /** `grpc-status`; undefined when there was no answer. */
  readonly status: Promise<number | undefined>;
}

function call(session: http2.ClientHttp2Session, path: string, own = {}): Sent {
  const type = { "content-type": "application/grpc", te: "trailers", "grpc-encoding": "gzip" };
  const stream = session.request({ ":method": "POST", ":path": `/${path}`, ...type, ...own });
  stream.on("error", () => undefined);
  stream.resume();
  const late = setTimeout(() => stream.destroy(), DEADLINE_MS);
  const status = new Promise<number | undefined>((resolve) => {
    const read = (headers: http2.IncomingHttpHeaders) => {
      if (headers["grpc-status"] !== undefined) resolve(Number(headers["grpc-status"]));
    };
    stream.once("response", read);
    stream.once("trailers", read);
    stream.once("close", () => {
      clearTimeout(late);
      resolve(undefined);
    });
  });
  return { stream, status };
}

async function withSession(
  url: string,
  run: (session: http2.ClientHttp2Session) => Promise<void>,
): Promise<void> {
  const session = http2.connect(url);
  session.on("error", () => undefined);
  try {
    await run(session);
  } finally {
    session.destroy();
  }
}

Deno.test({
  name: "bombs without a token don't make a server grow",
  ignore: Deno.build.os !== "linux",
  async fn() {
    const server = new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--quiet", "shared/rpc/testdata/signed_server.ts"],
      stdin: "piped",
      stdout: "piped",
    }).spawn();
    const output = server.stdout.getReader();
    try {
      const port = new TextDecoder().decode((await output.read()).value).trim();
      const peakMib = async () => {
        const text = await Deno.readTextFile(`/proc/${server.pid}/status`);
        return Number(/VmHWM:\s*(\d+)/.exec(text)?.[1]) / 1024;
      };
      await withSession(`http://127.0.0.1:${port}`, async (session) => {
        // The first calls compile what they use.
        for (let n = 0; n < 50; n++) {
          const { stream, status } = call(session, GET_READINGS);
          stream.end(message(new Uint8Array(2)));
          assert.equal(await status, Code.Unauthenticated);
        }
        const before = await peakMib();
        for (const path of [GET_READINGS, SHELL, "grpc.health.v1.Health/Check"]) {
          const sent = Array.from({ length: 20 }, () => {
            const one = call(session, path);
            one.stream.end(BOMB);
            return one;
          });
          const expected = path.includes("Health") ? Code.ResourceExhausted : Code.Unauthenticated;
          for (const { status } of sent) assert.equal(await status, expected, path);
        }
        const grown = await peakMib() - before;
        // One bomb that is inflated takes 32; that of other bombs takes all of them.
        assert.ok(grown < 24, `it has grown by ${Math.round(grown)} MiB`);
      });
    } finally {
      await server.stdin.close();
      await output.cancel();
      await server.status;
    }
  },
});

Deno.test("streams that wait for their token to be verified hold a bounded number of bytes", async () => {
  const budgets = new RequestBudgets();
  const decided = Promise.withResolvers<Identity>();
  const interceptors = [requireAuthentication({ verify: () => decided.promise })];
  await withServer({ budgets, interceptors }, async (url) => {
    await withSession(url, async (session) => {
      const own = { authorization: "Bearer a" };
      const sent = Array.from({ length: 100 }, () => call(session, SHELL, own));
      let most = 0;
      const chunk = message(Buffer.alloc(64 * 1024));
      for (let round = 0; round < 16; round++) {
        for (const { stream } of sent) stream.write(chunk);
        await new Promise((resolve) => setTimeout(resolve, 0));
        most = Math.max(most, budgets.held.open);
      }
      await waitFor(() => budgets.held.open > MIB / 2, { deadlineMs: 60_000 });
      assert.ok(most <= MIB && budgets.held.letIn === 0, `${most} bytes were held`);
      decided.reject(new ConnectError("who is that?", Code.Unauthenticated));
      for (const { status } of sent) assert.equal(await status, Code.Unauthenticated);
      assert.deepEqual(budgets.held, { open: 0, letIn: 0 });
    });
  });
});

Deno.test("bodies that never end hold what one connection may", async () => {
  const letIn = { perConnection: 4 * MIB, perAddress: 8 * MIB, total: 8 * MIB };
  const budgets = new RequestBudgets({ letIn });
  await withServer({ budgets }, async (url) => {
    await withSession(url, async (session) => {
      const half = message(Buffer.alloc(3 * MIB)).subarray(0, 2 * MIB);
      const sent = Array.from({ length: 4 }, () => {
        const one = call(session, GET_READINGS);
        one.stream.write(half);
        return one;
      });
      assert.equal(
        await Promise.race(sent.map(({ status }) => status)),
        Code.ResourceExhausted,
      );
      assert.ok(budgets.held.letIn <= 4 * MIB);
    });
    await waitFor(() => budgets.held.letIn === 0, { deadlineMs: 60_000 });
  });
});

Deno.test("a body that doesn't come on is ended", async () => {
  const pace = { openMs: 20, graceMs: 20, bytesPerMs: 1_000_000 };
  await withServer({ pace }, async (url) => {
    await withSession(url, async (session) => {
      const { stream, status } = call(session, GET_READINGS);
      stream.write(message(Buffer.alloc(10)).subarray(0, 7));
      assert.equal(await status, Code.DeadlineExceeded);
    });
  });
});

Deno.test("a call without a token ends at its headers", async () => {
  const interceptors = [requireAuthentication({ verify: () => assert.fail("no token") })];
  await withServer({ interceptors }, async (url) => {
    await withSession(url, async (session) => {
      // Nothing of the body comes, ever.
      assert.equal(await call(session, GET_READINGS).status, Code.Unauthenticated);
      const { stream, status } = call(session, "grpc.health.v1.Health/Check");
      stream.write(message(Buffer.alloc(64 * 1024 + 1)).subarray(0, 5));
      assert.equal(await status, Code.ResourceExhausted, "the length says enough");
    });
  });
});
