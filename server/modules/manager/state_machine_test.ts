import assert from "node:assert/strict";
import {
  isSettled,
  type ModuleEffect,
  type ModuleEvent,
  type ModuleState,
  next,
} from "./state_machine.ts";

const pending: ModuleState = { kind: "pending", reason: "the package is loaded" };
const refused: ModuleState = { kind: "refused", reason: "twice" };
const starting: ModuleState = { kind: "starting", failures: 1, error: "old" };
const fresh: ModuleState = { kind: "starting", failures: 0, error: "" };
const ready: ModuleState = { kind: "ready", failures: 1 };
const unhealthy: ModuleState = { kind: "unhealthy", failures: 1, error: "old" };
const toStart: ModuleState = { kind: "closing", then: "start" };
const toGo: ModuleState = { kind: "closing", then: "go" };
const toRefused: ModuleState = { kind: "closing", then: refused };
const gone: ModuleState = { kind: "gone" };

const run: ModuleEvent = { type: "want", hold: undefined };
const wait: ModuleEvent = { type: "want", hold: pending };
const refuse: ModuleEvent = { type: "want", hold: refused };
const [restart, remove, isReady, stable, backoffOver, closed] = ([
  "restart",
  "remove",
  "ready",
  "stable",
  "backoff-over",
  "closed",
] as const).map((type): ModuleEvent => ({ type })) as [
  ModuleEvent,
  ModuleEvent,
  ModuleEvent,
  ModuleEvent,
  ModuleEvent,
  ModuleEvent,
];
const failed: ModuleEvent = { type: "failed", error: "new" };
const exited: ModuleEvent = { type: "exited", error: "new" };

const start: ModuleEffect = { do: "start" };
const close: ModuleEffect = { do: "close" };

type Row = [ModuleState, ModuleEvent, ModuleState, ModuleEffect[]];

/** Every transition. What is not here changes nothing. */
const rows: Row[] = [
  [gone, run, fresh, [start]],
  [gone, wait, pending, []],
  [gone, refuse, refused, []],

  [pending, run, fresh, [start]],
  [pending, wait, pending, []],
  [pending, refuse, refused, []],
  [pending, remove, gone, []],

  [refused, run, fresh, [start]],
  [refused, wait, pending, []],
  [refused, refuse, refused, []],
  [refused, remove, gone, []],

  [starting, isReady, { kind: "ready", failures: 1 }, []],
  [starting, failed, { kind: "unhealthy", failures: 2, error: "new" }, []],
  [starting, wait, { kind: "closing", then: pending }, [close]],
  [starting, refuse, toRefused, [close]],
  [starting, restart, toStart, [close]],
  [starting, remove, toGo, [close]],

  [ready, exited, { kind: "unhealthy", failures: 2, error: "new" }, []],
  [ready, stable, { kind: "ready", failures: 0 }, [{ do: "reset-backoff" }]],
  [ready, wait, { kind: "closing", then: pending }, [close]],
  [ready, refuse, toRefused, [close]],
  [ready, restart, toStart, [close]],
  [ready, remove, toGo, [close]],

  [unhealthy, backoffOver, starting, [start]],
  [unhealthy, restart, starting, [start]],
  [unhealthy, wait, pending, []],
  [unhealthy, refuse, refused, []],
  [unhealthy, remove, gone, []],

  [toStart, closed, fresh, [start]],
  [toGo, closed, gone, []],
  [toRefused, closed, refused, []],
  [toStart, remove, toGo, []],
  [toRefused, remove, toGo, []],
  [toGo, run, toStart, []],
  [toRefused, run, toStart, []],
  [toStart, refuse, toRefused, []],
  [toGo, refuse, toRefused, []],
  [toRefused, restart, toStart, []],
  [toStart, wait, { kind: "closing", then: pending }, []],
];

const label = (state: ModuleState) =>
  state.kind === "closing"
    ? `closing to ${typeof state.then === "string" ? state.then : state.then.kind}`
    : state.kind;
const named = (event: ModuleEvent) =>
  event.type === "want" && event.hold ? `want ${event.hold.kind}` : event.type;

for (const [before, event, after, effects] of rows) {
  Deno.test(`next() gives ${label(after)} when ${named(event)} comes in ${label(before)}`, () => {
    assert.deepEqual(next(before, event), { state: after, effects });
  });
}

Deno.test("next() leaves every other event without effect", () => {
  const states = [gone, pending, refused, starting, ready, unhealthy, toStart, toGo, toRefused];
  const events = [
    ...[run, wait, refuse, restart, remove, isReady, failed, exited],
    ...[stable, backoffOver, closed],
  ];
  for (const state of states) {
    for (const event of events) {
      const isInTable = rows.some(([from, { type }]) =>
        from.kind === state.kind && type === event.type
      );
      if (isInTable) continue;
      assert.deepEqual(next(state, event), { state, effects: [] });
      assert.equal(next(state, event).state, state, `${event.type} in ${label(state)}`);
    }
  }
});

Deno.test("isSettled() is true when nothing is under way", () => {
  assert.deepEqual(
    [pending, refused, starting, ready, unhealthy, toStart, gone].map(isSettled),
    [true, true, false, true, true, false, true],
  );
});
