import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { Code, ConnectError } from "@connectrpc/connect";
import type {
  Event,
  InputControllerService,
  StreamEventsRequest,
} from "../../../shared/gen/viam/component/inputcontroller/v1/input_controller_pb.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import { attributes, listOf, number, optional, text } from "../../resources/graph/attributes.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { Model } from "../../resources/graph/registry.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import { Broadcast } from "./broadcast.ts";
import { echo } from "./echo.ts";
import { repeat } from "./repeat.ts";
import { TRIED_WITH } from "./tried_with.ts";

const AXIS_EVENT = "PositionChangeAbs";
const PRESS_EVENT = "ButtonPress";
const RELEASE_EVENT = "ButtonRelease";
/** Stands for every kind of event where a caller names what it wants. */
const ALL_EVENTS = "AllEvents";

export interface FakeInputControllerAttributes {
  controls: string[] | undefined;
  event_value: number | undefined;
  callback_delay_sec: number | undefined;
}

/** Model `rdk:builtin:fake` of `rdk:component:input_controller`. */
export function fakeInputControllerModel(
  { clock }: { clock: Clock },
): Model<FakeInputControllerAttributes> {
  return {
    api: "rdk:component:input_controller",
    model: "rdk:builtin:fake",
    triedWith: TRIED_WITH,
    attributes: attributes<FakeInputControllerAttributes>({
      controls: optional(
        listOf(
          text("A control, for example AbsoluteX or ButtonStart."),
          "What it has. Default: AbsoluteX and ButtonStart.",
        ),
      ),
      event_value: optional(
        number("Value of each axis. Default: it moves to and fro.", { min: -1, max: 1 }),
      ),
      callback_delay_sec: optional(
        number("Seconds from one event of a control to the next. Default 1.", {
          min: 0.001,
          max: 3_600,
        }),
      ),
    }),
    construct: ({ attributes }) =>
      new FakeInputController(clock, {
        controls: attributes.controls ?? ["AbsoluteX", "ButtonStart"],
        axisValue: attributes.event_value,
        intervalMs: (attributes.callback_delay_sec ?? 1) * 1_000,
      }),
  };
}

export interface FakeInputControllerOptions {
  readonly controls: readonly string[];
  readonly axisValue: number | undefined;
  readonly intervalMs: number;
}

/** Moves its axes and pushes its buttons automatically, and obeys TriggerEvent. */
export class FakeInputController implements Driver<typeof InputControllerService> {
  readonly #events = new Map<string, Event>();
  readonly #changes = new Broadcast<Event>();
  readonly #timer: Timer;
  #turn = 0;

  constructor(private readonly clock: Clock, private readonly options: FakeInputControllerOptions) {
    this.#moveAll();
    this.#timer = repeat(clock, options.intervalMs, () => this.#moveAll());
  }

  getControls() {
    return { controls: [...this.options.controls] };
  }

  getEvents() {
    return { events: [...this.#events.values()] };
  }

  async *streamEvents({ events: wanted }: StreamEventsRequest, { signal }: CallContext) {
    const isWanted = (event: Event) =>
      wanted.some(({ control, events, cancelledEvents }) =>
        control === event.control && !cancelledEvents.includes(event.event) &&
        (events.includes(event.event) || events.includes(ALL_EVENTS))
      );
    for await (const event of this.#changes.listen(signal)) {
      if (isWanted(event)) yield { event };
    }
  }

  triggerEvent({ event }: { event?: Event | undefined }) {
    const { controls } = this.options;
    if (!event || !controls.includes(event.control)) {
      throw new ConnectError(
        `there is no control ${event?.control ?? ""}; the controller has ${controls.join(", ")}`,
        Code.InvalidArgument,
      );
    }
    this.#happen({ ...event, time: event.time ?? timestampFromDate(this.clock.now()) });
    return {};
  }

  doCommand = echo;

  getStatus() {
    const values = [...this.#events.values()].map(({ control, value }) => [control, value]);
    return { values: Object.fromEntries(values) };
  }

  close(): void {
    this.#timer.cancel();
    this.#changes.close();
  }

  #moveAll(): void {
    const turn = this.#turn++;
    const time = timestampFromDate(this.clock.now());
    for (const control of this.options.controls) {
      const isButton = control.startsWith("Button");
      const isPressed = turn % 2 === 1;
      this.#happen({
        $typeName: "viam.component.inputcontroller.v1.Event",
        time,
        control,
        event: !isButton ? AXIS_EVENT : isPressed ? PRESS_EVENT : RELEASE_EVENT,
        value: isButton ? Number(isPressed) : this.options.axisValue ?? Math.sin(turn),
      });
    }
  }

  #happen(event: Event): void {
    this.#events.set(event.control, event);
    this.#changes.send(event);
  }
}
