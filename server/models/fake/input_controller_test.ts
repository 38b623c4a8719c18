import assert from "node:assert/strict";
import type { Event } from "../../../shared/gen/viam/component/inputcontroller/v1/input_controller_pb.ts";
import { FakeClock } from "../../../shared/base/time/fake_clock.ts";
import { construct, testCall } from "../testing.ts";
import { type FakeInputController, fakeInputControllerModel } from "./input_controller.ts";

async function setUp(attributes = {}) {
  const clock = new FakeClock();
  const model = fakeInputControllerModel({ clock });
  return { clock, controller: await construct<FakeInputController, unknown>(model, attributes) };
}

const event = (control: string, kind: string, value = 1): Event => ({
  $typeName: "viam.component.inputcontroller.v1.Event",
  control,
  event: kind,
  value,
});

const wanted = (control: string, events: string[], cancelledEvents: string[] = []) => ({
  $typeName: "viam.component.inputcontroller.v1.StreamEventsRequest" as const,
  controller: "c",
  events: [{
    $typeName: "viam.component.inputcontroller.v1.StreamEventsRequest.Events" as const,
    control,
    events,
    cancelledEvents,
  }],
});

function listen(
  controller: FakeInputController,
  request: ReturnType<typeof wanted>,
  signal: AbortSignal,
) {
  const heard: string[] = [];
  const done = (async () => {
    for await (const { event } of controller.streamEvents(request, testCall(signal))) {
      heard.push(`${event.control} ${event.event}`);
    }
  })();
  return { heard, done };
}

Deno.test("getEvents() has the last event of each control", async () => {
  const { controller, clock } = await setUp({ event_value: 0.7 });
  const found = () =>
    controller.getEvents().events.map(({ control, event, value }) => [control, event, value]);
  assert.deepEqual(found(), [
    ["AbsoluteX", "PositionChangeAbs", 0.7],
    ["ButtonStart", "ButtonRelease", 0],
  ]);
  await clock.advance(1_000);
  assert.deepEqual(found()[1], ["ButtonStart", "ButtonPress", 1]);
  controller.close();
  assert.equal(clock.pendingTimers, 0);
});

Deno.test("streamEvents() gives the kinds that are wanted, of that control only", async () => {
  const { controller, clock } = await setUp();
  const caller = new AbortController();
  const some = listen(controller, wanted("ButtonStart", ["ButtonPress"]), caller.signal);
  const all = listen(controller, wanted("ButtonStart", ["AllEvents"]), caller.signal);
  const none = listen(
    controller,
    wanted("ButtonStart", ["AllEvents"], ["ButtonPress", "ButtonRelease"]),
    caller.signal,
  );
  await clock.advance(4_000);
  caller.abort();
  await Promise.all([some.done, all.done, none.done]);
  const [press, release] = ["ButtonStart ButtonPress", "ButtonStart ButtonRelease"];
  assert.deepEqual(some.heard, [press, press]);
  assert.deepEqual(all.heard, [press, release, press, release]);
  assert.deepEqual(none.heard, []);
  controller.close();
});

Deno.test("triggerEvent() is heard by who listens, and refused for other controls", async () => {
  const { controller, clock } = await setUp({ callback_delay_sec: 3_600 });
  const { heard, done } = listen(
    controller,
    wanted("ButtonStart", ["ButtonHold"]),
    new AbortController().signal,
  );
  await clock.advance(0);
  controller.triggerEvent({ event: event("ButtonStart", "ButtonHold") });
  controller.close();
  await done;
  assert.deepEqual(heard, ["ButtonStart ButtonHold"]);
  assert.equal(controller.getEvents().events[1]!.time?.seconds, 1_767_323_045n);
  assert.throws(
    () => controller.triggerEvent({ event: event("ButtonEast", "ButtonHold") }),
    /no control ButtonEast; the controller has AbsoluteX, ButtonStart/,
  );
});
