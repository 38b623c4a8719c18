/** The pages of `-webprofile` and `enable_web_profile`, for callers on this host. */
import { Readable } from "node:stream";
import type { Peer } from "../../../shared/rpc/server/peer.ts";
import type { GraphNode } from "../../../shared/base/graph_layout/layout.ts";

export interface ProfilePagesOptions {
  /** Resources and what they depend on. */
  graph: () => readonly GraphNode[];
}

const DEFAULT_SECONDS = 30;
const MAX_SECONDS = 300;

const INDEX = `<!doctype html>
<html lang="en"><meta charset="utf-8"><title>machine-server: profiles</title>
<h1>Profiles</h1>
<ul>
<li><a href="/debug/pprof/profile?seconds=10">CPU profile</a> of <code>?seconds=</code> (30), for
the Performance panel of Chrome DevTools
<li><a href="/debug/pprof/heap">Heap snapshot</a> for its Memory panel. The server stands still
while it is made, and it holds everything in memory, credentials included
<li><a href="/debug/pprof/memory">Memory in numbers</a>
<li><a href="/debug/graph?format=svg">Graph of resources</a>, also as
<a href="/debug/graph">DOT</a>
</ul>
</html>
`;

export class ProfilePages {
  /** A second profile would change the first; a second snapshot would take memory twice. */
  #busy = false;

  constructor(private readonly options: ProfilePagesOptions) {}

  async answer(request: Request, peer: Peer): Promise<Response> {
    const url = new URL(request.url);
    const refusal = refuse(request, url, peer);
    if (refusal !== undefined) return text(`forbidden: ${refusal}\n`, 403);
    if (request.method !== "GET") return text("only GET is allowed here\n", 405);
    switch (url.pathname.replace(/\/$/, "")) {
      case "/debug":
      case "/debug/pprof":
        return body(INDEX, "text/html; charset=utf-8");
      case "/debug/pprof/profile":
        return await this.#alone(() => cpuProfile(url, request.signal));
      case "/debug/pprof/heap":
        return await this.#alone(heapSnapshot);
      case "/debug/pprof/memory":
        return body(JSON.stringify(await memory(), undefined, 2) + "\n", "application/json");
      case "/debug/graph":
        return await this.#graph(request, url);
      default:
        return text("not found\n", 404);
    }
  }

  async #alone(run: () => Promise<Response>): Promise<Response> {
    if (this.#busy) return text("another profile is being taken; try again later\n", 409);
    this.#busy = true;
    try {
      return await run();
    } finally {
      this.#busy = false;
    }
  }

  async #graph(request: Request, url: URL): Promise<Response> {
    const format = url.searchParams.get("format") ??
      (request.headers.get("accept")?.includes("image/svg+xml") ? "svg" : "dot");
    const nodes = this.options.graph();
    if (format === "svg") {
      const { toSvg } = await import("./graph_svg.ts");
      return body(toSvg(nodes), "image/svg+xml");
    }
    if (format !== "dot") return text("format: allowed are dot and svg\n", 400);
    const { toDot } = await import("./graph.ts");
    return body(toDot(nodes), "text/vnd.graphviz; charset=utf-8");
  }
}

/**
 * Why a request is not answered. A page of another site in a browser on this host is local too: it
 * must neither start profiles nor, under a name of its own that leads here, read them.
 */
function refuse(request: Request, url: URL, peer: Peer): string | undefined {
  if (!peer.local) return "profiles are for callers on this host";
  const site = request.headers.get("sec-fetch-site");
  if (site !== null && site !== "same-origin" && site !== "none") {
    return "requested by another site";
  }
  const isAddress = /^(\d+(\.\d+){3}|\[.*\])$/.test(url.hostname);
  if (!isAddress && url.hostname !== "localhost") return "request it by address or localhost";
}

async function cpuProfile(url: URL, gone: AbortSignal): Promise<Response> {
  const seconds = Number(url.searchParams.get("seconds") ?? DEFAULT_SECONDS);
  if (!(seconds > 0 && seconds <= MAX_SECONDS)) {
    return text(`seconds: allowed are numbers above 0, up to ${MAX_SECONDS}\n`, 400);
  }
  const { SHORT_INTERVAL_US, startCpuProfile } = await import("./cpu_profile.ts");
  const profile = await startCpuProfile(SHORT_INTERVAL_US);
  await pause(seconds * 1_000, gone);
  return download(JSON.stringify(await profile.stop()), "machine-server.cpuprofile");
}

/** Ends early when the caller leaves. */
function pause(ms: number, gone: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (gone.aborted) return resolve();
    const timer = setTimeout(resolve, ms);
    gone.addEventListener("abort", () => {
      clearTimeout(timer);
      resolve();
    }, { once: true });
  });
}

async function heapSnapshot(): Promise<Response> {
  const { getHeapSnapshot } = await import("node:v8");
  const snapshot = Readable.toWeb(getHeapSnapshot()) as ReadableStream<Uint8Array>;
  return download(snapshot, "machine-server.heapsnapshot");
}

async function memory() {
  const { getHeapSpaceStatistics, getHeapStatistics } = await import("node:v8");
  return {
    process: Deno.memoryUsage(),
    heap: getHeapStatistics(),
    spaces: getHeapSpaceStatistics(),
  };
}

const NO_STORE = { "cache-control": "no-store", "x-content-type-options": "nosniff" };

function body(content: string, type: string): Response {
  return new Response(content, { headers: { "content-type": type, ...NO_STORE } });
}

function download(content: string | ReadableStream<Uint8Array>, name: string): Response {
  return new Response(content, {
    headers: {
      "content-type": "application/octet-stream",
      "content-disposition": `attachment; filename="${name}"`,
      ...NO_STORE,
    },
  });
}

function text(content: string, status: number): Response {
  return new Response(content, {
    status,
    headers: { "content-type": "text/plain; charset=utf-8", ...NO_STORE },
  });
}
