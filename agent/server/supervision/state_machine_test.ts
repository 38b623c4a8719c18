import assert from "node:assert/strict";
import {
  CLEAN_END_MS,
  HUNG_END_MS,
  next,
  type ServerEffect,
  type ServerEvent,
  type ServerState,
} from "./state_machine.ts";

const urls = ["http://127.0.0.1:8080"];
const other = ["http://127.0.0.1:9090"];

const stopped: ServerState = { kind: "stopped" };
const starting: ServerState = { kind: "starting", failures: 1 };
const running: ServerState = { kind: "running", failures: 1, urls };
const stopping = (then: "stay" | "start" | "back-off"): ServerState => ({
  kind: "stopping",
  failures: 1,
  then,
});
const backingOff: ServerState = { kind: "backing-off", failures: 1 };

const spawn: ServerEffect = { do: "spawn" };
const end = (graceMs: number): ServerEffect => ({ do: "end", graceMs });

type Row = [ServerState, ServerEvent, ServerState, ServerEffect[]];

const ready: ServerEvent = { type: "ready", urls: other };

/** Every transition. What is not here changes nothing. */
const rows: Row[] = [
  [
    stopped,
    { type: "start" },
    { kind: "starting", failures: 0 },
    [{ do: "reset-backoff" }, spawn],
  ],

  [starting, ready, { kind: "running", failures: 1, urls: other }, []],
  [starting, { type: "ended" }, { kind: "backing-off", failures: 2 }, []],
  [
    starting,
    { type: "start-timeout" },
    { kind: "stopping", failures: 2, then: "back-off" },
    [end(HUNG_END_MS)],
  ],
  [starting, { type: "stop" }, stopping("stay"), [end(CLEAN_END_MS)]],
  [starting, { type: "restart" }, stopping("start"), [end(CLEAN_END_MS)]],

  [running, ready, { kind: "running", failures: 1, urls: other }, []],
  [running, { type: "ended" }, { kind: "backing-off", failures: 2 }, []],
  [
    running,
    { type: "unresponsive" },
    { kind: "stopping", failures: 2, then: "back-off" },
    [end(HUNG_END_MS)],
  ],
  [running, { type: "stop" }, stopping("stay"), [end(CLEAN_END_MS)]],
  [running, { type: "restart" }, stopping("start"), [end(CLEAN_END_MS)]],
  [
    running,
    { type: "stable" },
    { kind: "running", failures: 0, urls },
    [{ do: "reset-backoff" }],
  ],

  [stopping("stay"), { type: "ended" }, stopped, []],
  [stopping("start"), { type: "ended" }, { kind: "starting", failures: 1 }, [spawn]],
  [stopping("back-off"), { type: "ended" }, { kind: "backing-off", failures: 1 }, []],
  [stopping("start"), { type: "stop" }, stopping("stay"), []],
  [stopping("back-off"), { type: "stop" }, stopping("stay"), []],
  [stopping("stay"), { type: "start" }, stopping("start"), []],
  [stopping("back-off"), { type: "restart" }, stopping("start"), []],

  [backingOff, { type: "backoff-over" }, { kind: "starting", failures: 1 }, [spawn]],
  [backingOff, { type: "stop" }, stopped, []],
  [backingOff, { type: "restart" }, { kind: "starting", failures: 1 }, [spawn]],
];

const label = (state: ServerState) =>
  state.kind === "stopping" ? `stopping to ${state.then}` : state.kind;

for (const [before, event, after, effects] of rows) {
  Deno.test(`next() gives ${label(after)} when ${event.type} comes in ${label(before)}`, () => {
    assert.deepEqual(next(before, event), { state: after, effects });
  });
}

Deno.test("next() leaves a server without failures as it is when it is stable", () => {
  const healthy: ServerState = { kind: "running", failures: 0, urls };
  assert.equal(next(healthy, { type: "stable" }).state, healthy);
});

Deno.test("next() leaves every other event without effect", () => {
  const states = [stopped, starting, running, stopping("stay"), backingOff];
  const events: ServerEvent[] = [
    ...["start", "stop", "restart", "ended", "start-timeout", "unresponsive", "stable"] as const,
    "backoff-over" as const,
  ].map((type) => ({ type }));
  for (const state of states) {
    for (const event of [...events, ready]) {
      const isInTable = rows.some(([from, { type }]) =>
        label(from) === label(state) && type === event.type
      );
      const isSame = state.kind === "stopping" && event.type === "stop";
      if (!isInTable && !isSame) {
        assert.equal(next(state, event).state, state, `${event.type} in ${label(state)}`);
        assert.deepEqual(next(state, event).effects, []);
      }
    }
  }
});
