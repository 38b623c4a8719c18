import { Code } from "@connectrpc/connect";
import { identityKey } from "../../../shared/cloud/auth/identity.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Interceptor } from "../../../shared/rpc/server/interceptor.ts";
import type { Peer } from "../../../shared/rpc/server/peer.ts";
import type { HttpHandler } from "../../../shared/rpc/server/server.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { pollLoop } from "../../../shared/workers/poll_loop.ts";

const FLUSH_EVERY_MS = 1_000;
/** Lines that wait for a disk that does not take them; more are left out and counted. */
const MOST_WAITING = 20_000;
const LONGEST_TEXT = 500;

/**
 * A line of JSON for every call and every request, appended to a file within a second. The file is
 * opened again each time: a rotation may rename it away.
 */
export class AccessLog {
  #lines: string[] = [];
  #leftOut = 0;

  constructor(
    private readonly options: {
      /** "-": standard output. */
      readonly path: string;
      readonly clock: Clock;
      readonly log: Logger;
      readonly write?: (path: string, text: string) => Promise<void>;
    },
  ) {}

  readonly interceptor: Interceptor = {
    after: (call, { code, durationMs }) => {
      const identity = call.values.get(identityKey);
      this.#add(call.peer, {
        method: call.path,
        code: code === undefined ? "OK" : Code[code] ?? String(code),
        duration_ms: rounded(durationMs),
        caller: identity?.entity,
        user_agent: call.header("user-agent"),
      });
    },
  };

  /** The same for requests that are no calls. Query strings are left out: they may hold secrets. */
  around(http: HttpHandler): HttpHandler {
    return async (request, peer, signal) => {
      const started = performance.now();
      const response = await http(request, peer, signal);
      this.#add(peer, {
        method: `${request.method} ${new URL(request.url).pathname}`,
        code: String(response.status),
        duration_ms: rounded(performance.now() - started),
        user_agent: request.headers.get("user-agent") ?? undefined,
      });
      return response;
    };
  }

  /** Writes until the signal aborts, and once more then. */
  async run(signal: AbortSignal): Promise<void> {
    const { clock } = this.options;
    const intervalMs = FLUSH_EVERY_MS;
    await pollLoop(() => this.#flush(), { clock, intervalMs, firstMs: intervalMs }, signal);
    await this.#flush();
  }

  #add(peer: Peer, entry: Readonly<Record<string, string | number | undefined>>): void {
    if (this.#lines.length >= MOST_WAITING) {
      this.#leftOut++;
      return;
    }
    const time = this.options.clock.now().toISOString();
    const texts = Object.entries(entry).map(([name, value]) =>
      [name, typeof value === "string" ? value.slice(0, LONGEST_TEXT) : value] as const
    );
    const all = { time, ...Object.fromEntries(texts), peer: peer.address };
    this.#lines.push(`${JSON.stringify(all)}\n`);
  }

  async #flush(): Promise<void> {
    const lines = this.#lines;
    if (lines.length === 0) return;
    this.#lines = [];
    const { path, log, write = append } = this.options;
    const leftOut = this.#leftOut;
    this.#leftOut = 0;
    if (leftOut > 0) lines.push(`${JSON.stringify({ left_out: leftOut })}\n`);
    try {
      await write(path, lines.join(""));
    } catch (error) {
      // Kept for the next attempt, as far as there is room.
      this.#leftOut += Math.max(0, lines.length + this.#lines.length - MOST_WAITING) + leftOut;
      if (leftOut > 0) lines.pop();
      this.#lines = [...lines, ...this.#lines].slice(0, MOST_WAITING);
      log.error("cannot write the access log; trying again", {
        event: "access_log_failed",
        path,
        error: String(error),
      });
    }
  }
}

async function append(path: string, text: string): Promise<void> {
  const bytes = new TextEncoder().encode(text);
  if (path === "-") {
    for (let at = 0; at < bytes.length;) at += await Deno.stdout.write(bytes.subarray(at));
    return;
  }
  using file = await Deno.open(path, { append: true, create: true, mode: 0o600 });
  for (let at = 0; at < bytes.length;) at += await file.write(bytes.subarray(at));
}

function rounded(ms: number): number {
  return Math.round(ms * 10) / 10;
}
