import assert from "node:assert/strict";
import { Code, ConnectError } from "@connectrpc/connect";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import { createRoutes, type RoutesOptions } from "./routes.ts";

Deno.test("a request that fails gets the status of its failure, and the log has it", async () => {
  const away = new ConnectError("the database is away", Code.Unavailable);
  const nul = new ConnectError("a text holds U+0000", Code.InvalidArgument);
  const full = new ConnectError("the disk is full", Code.ResourceExhausted);
  const raw = new Error("of the database");
  for (
    const [thrown, failure, status, text] of [
      [raw, away, 503, away.rawMessage],
      [away, away, 503, away.rawMessage],
      [raw, full, 503, full.rawMessage],
      [raw, nul, 400, nul.rawMessage],
      [raw, raw, 500, "internal error; the log has it under "],
    ] as const
  ) {
    const log = memoryLogger();
    const handle = createRoutes({
      ...{ files: new Map(), log, callFailure: () => failure },
      logos: () => Promise.reject(thrown),
    } as unknown as RoutesOptions);
    const request = new Request("http://localhost/logos/abc");
    const response = await handle(request, {} as never, new AbortController().signal);
    assert.equal(response?.status, status);
    assert.ok((await response.json()).error.startsWith(text));
    assert.ok(log.entries.some(({ fields }) => fields?.["event"] === "call_failed"));
  }
});
