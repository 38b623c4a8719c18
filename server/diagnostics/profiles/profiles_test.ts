import assert from "node:assert/strict";
import { join } from "node:path";
import { memoryLogger } from "../../../shared/log/memory_logger_testing.ts";
import type { Peer } from "../../../shared/rpc/server/peer.ts";
import { systemClock } from "../../../shared/base/time/clock.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { waitFor } from "../../../shared/base/time/wait_for.ts";
import { type CpuProfile, RunProfile } from "./cpu_profile.ts";
import { type GraphNode, layOut } from "../../../shared/base/graph_layout/layout.ts";
import { toDot } from "./graph.ts";
import { toSvg } from "./graph_svg.ts";
import { ProfilePages } from "./pages.ts";

const LOCAL: Peer = { address: "127.0.0.1", port: 1, transport: "tcp", local: true };

/** Something to find in a profile. */
function squareRoots(ms: number): number {
  let sum = 0;
  for (const end = performance.now() + ms; performance.now() < end;) sum += Math.sqrt(sum + 1);
  return sum;
}

function assertProfile(profile: CpuProfile): void {
  const ids = new Set(profile.nodes.map(({ id }) => id));
  assert.ok(profile.samples.length > 0, "it has samples");
  assert.equal(profile.samples.length, profile.timeDeltas.length);
  assert.ok(profile.samples.every((id) => ids.has(id)));
  assert.ok(profile.endTime > profile.startTime);
  // Not by the function's name: V8 leaves out frames that it inlined before the profile began.
  assert.ok(profile.nodes.some(({ callFrame }) => callFrame.url.endsWith("profiles_test.ts")));
}

Deno.test("RunProfile writes a profile with samples of what ran", async () => {
  const folder = await Deno.makeTempDir({ prefix: "machine-profile-" });
  try {
    const path = join(folder, "run.cpuprofile");
    const run = await RunProfile.start(path, systemClock);
    assert.equal(await Deno.readTextFile(path), "");
    const log = memoryLogger();
    run.describe(log);
    assert.match(log.text(), /run\.cpuprofile/);
    squareRoots(200);
    await run.finish();
    assertProfile(JSON.parse(await Deno.readTextFile(path)));
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("RunProfile ends by itself when the run takes longer than it may", async () => {
  const folder = await Deno.makeTempDir({ prefix: "machine-profile-" });
  try {
    const path = join(folder, "run.cpuprofile");
    const clock = new FakeClock();
    const run = await RunProfile.start(path, clock);
    squareRoots(100);
    await clock.advance(6 * 60 * 60_000);
    await waitFor(async () => (await Deno.stat(path)).size > 0, { deadlineMs: 60_000 });
    const written = await Deno.readTextFile(path);
    await run.finish();
    assert.equal(await Deno.readTextFile(path), written);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

Deno.test("RunProfile.start() fails at once when the file cannot be written", async () => {
  await assert.rejects(
    RunProfile.start("/no/such/folder/x", systemClock),
    /cannot write \/no\/such/,
  );
});

const GRAPH: GraphNode[] = [
  { key: "c/top", state: "ready", dependencies: ["c/middle", "c/base"] },
  { key: "c/middle", state: "unhealthy", dependencies: [], optional: ["c/base"] },
  { key: "c/base", state: "ready", dependencies: [] },
  { key: 'c/"odd\\<name>', state: "configuring", dependencies: ["c/nowhere"] },
];

Deno.test("toDot() writes nodes, edges and escaped names", () => {
  const dot = toDot(GRAPH);
  assert.match(dot, /^digraph resources \{/);
  assert.match(dot, /"c\/top" -> "c\/base";/);
  assert.match(dot, /"c\/middle" -> "c\/base" \[style=dashed\];/);
  assert.match(
    dot,
    /"c\/middle" \[label="c\/middle\\nunhealthy", style=filled, fillcolor="#ffd6d6"\]/,
  );
  assert.match(dot, /"c\/\\"odd\\\\<name>" -> "c\/nowhere";/);
});

Deno.test("layOut() puts everything right of what it needs", () => {
  const { nodes, edges, layers } = layOut(GRAPH);
  const layer = Object.fromEntries(nodes.map(({ key, layer }) => [key, layer]));
  assert.deepEqual([layer["c/base"], layer["c/middle"], layer["c/top"]], [0, 1, 2]);
  assert.equal(layers, 3);
  assert.equal(edges.length, 4);
  assert.equal(nodes.find(({ key }) => key === "c/nowhere")?.state, "missing");
  const places = nodes.map(({ layer, order }) => `${layer}:${order}`);
  assert.equal(new Set(places).size, nodes.length, "no two share a place");
});

Deno.test("layOut() ends for circles and long chains", () => {
  const circle = layOut([
    { key: "a", state: "", dependencies: ["b"] },
    { key: "b", state: "", dependencies: ["a"] },
  ]);
  assert.equal(circle.nodes.length, 2);
  const chain = Array.from({ length: 3_000 }, (_, i) => ({
    key: `n${i}`,
    state: "ready",
    dependencies: i === 2_999 ? [] : [`n${i + 1}`],
  }));
  assert.equal(layOut(chain).layers, 3_000);
});

Deno.test("toSvg() draws each resource and each edge", () => {
  const svg = toSvg(GRAPH);
  assert.equal(svg.match(/<rect x=/g)?.length, 5);
  assert.equal(svg.match(/<path /g)?.length, 4);
  assert.equal(svg.match(/stroke-dasharray/g)?.length, 1);
  assert.ok(svg.includes('c/"odd\\&lt;name&gt;'));
  assert.match(toSvg([]), /^<svg [^]*<\/svg>\n$/);
});

function pages() {
  const served = new ProfilePages({ graph: () => GRAPH });
  const get = (path: string, init: RequestInit = {}, peer = LOCAL, host = "127.0.0.1:8080") =>
    served.answer(new Request(`http://${host}${path}`, init), peer);
  return get;
}

Deno.test("ProfilePages answer only callers on this host that no other site sent", async () => {
  const get = pages();
  const status = async (...args: Parameters<typeof get>) => {
    const response = await get(...args);
    await response.body?.cancel();
    return response.status;
  };
  assert.equal(await status("/debug/pprof/"), 200);
  assert.equal(await status("/debug/pprof", {}, LOCAL, "localhost"), 200);
  assert.equal(await status("/debug/pprof", {}, LOCAL, "[::1]:8080"), 200);
  assert.equal(await status("/debug/pprof/", {}, { ...LOCAL, local: false }), 403);
  assert.equal(await status("/debug/graph", {}, LOCAL, "rebound.example"), 403);
  assert.equal(await status("/debug/graph", { headers: { "sec-fetch-site": "cross-site" } }), 403);
  assert.equal(await status("/debug/graph", { method: "POST" }), 405);
  assert.equal(await status("/debug/else"), 404);
  assert.equal(await status("/debug/graph?format=png"), 400);
});

Deno.test("ProfilePages give the graph as DOT, or as SVG by format or Accept", async () => {
  const get = pages();
  const type = async (path: string, accept = "*/*") => {
    const response = await get(path, { headers: { accept } });
    return [response.headers.get("content-type"), (await response.text()).slice(0, 5)];
  };
  assert.deepEqual(await type("/debug/graph"), ["text/vnd.graphviz; charset=utf-8", "digra"]);
  assert.deepEqual(await type("/debug/graph?format=svg"), ["image/svg+xml", "<svg "]);
  assert.deepEqual(await type("/debug/graph", "image/svg+xml"), ["image/svg+xml", "<svg "]);
});

Deno.test("ProfilePages take one CPU profile at a time, of the seconds asked for", async () => {
  const get = pages();
  assert.equal((await get("/debug/pprof/profile?seconds=0")).status, 400);
  assert.equal((await get("/debug/pprof/profile?seconds=1e9")).status, 400);
  const taking = get("/debug/pprof/profile?seconds=0.3");
  assert.equal((await get("/debug/pprof/profile?seconds=0.3")).status, 409);
  let taken: Response | undefined;
  const response = taking.then((answer) => taken = answer);
  while (!taken) {
    squareRoots(5);
    await new Promise((resolve) => setImmediate(resolve));
  }
  const profile = await response;
  assert.match(profile.headers.get("content-disposition") ?? "", /\.cpuprofile"$/);
  assertProfile(await profile.json());
});

Deno.test("ProfilePages end a CPU profile when its caller leaves", async () => {
  const get = pages();
  const leaving = new AbortController();
  const taking = get("/debug/pprof/profile?seconds=300", { signal: leaving.signal });
  leaving.abort();
  const response = await taking;
  await response.body?.cancel();
  assert.equal(response.status, 200);
});

Deno.test("ProfilePages give a heap snapshot and memory in numbers", async () => {
  const get = pages();
  const heap = await (await get("/debug/pprof/heap")).json();
  assert.ok(heap.snapshot.node_count > 1_000);
  assert.equal(heap.nodes.length, heap.snapshot.node_count * heap.snapshot.meta.node_fields.length);
  const memory = await (await get("/debug/pprof/memory")).json();
  assert.ok(memory.process.rss > 1e6 && memory.heap.used_heap_size > 1e6);
});
