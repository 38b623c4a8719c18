import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import type {
  Event,
  StreamEventsRequest,
} from "../../../shared/gen/viam/component/inputcontroller/v1/input_controller_pb.ts";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import { Broadcast } from "../fake/broadcast.ts";
import { EVENT } from "./controls.ts";

/** The last event of each control, and those who wait for the next. */
export class ControllerEvents {
  readonly #last = new Map<string, Event>();
  readonly #changes = new Broadcast<Event>();

  constructor(private readonly clock: Clock) {}

  /** The last event of each control. */
  get all(): Event[] {
    return [...this.#last.values()];
  }

  happen(control: string, event: string, value: number): void {
    const time = timestampFromDate(this.clock.now());
    this.send({
      $typeName: "viam.component.inputcontroller.v1.Event",
      time,
      control,
      event,
      value,
    });
  }

  send(event: Event): void {
    const timed = { ...event, time: event.time ?? timestampFromDate(this.clock.now()) };
    this.#last.set(event.control, timed);
    this.#changes.send(timed);
  }

  /** All controls go where they rest, and say that nobody moves them any more. */
  disconnect(): void {
    for (const control of this.#last.keys()) this.happen(control, EVENT.disconnect, 0);
  }

  async *stream({ events: wanted }: StreamEventsRequest, { signal }: CallContext) {
    const isWanted = (event: Event) =>
      wanted.some(({ control, events, cancelledEvents }) =>
        control === event.control && !cancelledEvents.includes(event.event) &&
        (events.includes(event.event) || events.includes(EVENT.all))
      );
    for await (const event of this.#changes.listen(signal)) {
      if (isWanted(event)) yield { event };
    }
  }

  close(): void {
    this.#changes.close();
  }
}
