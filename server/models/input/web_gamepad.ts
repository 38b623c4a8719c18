import { Code, ConnectError } from "@connectrpc/connect";
import type {
  Event,
  InputControllerService,
  StreamEventsRequest,
} from "../../../shared/gen/viam/component/inputcontroller/v1/input_controller_pb.ts";
import type { Clock, Timer } from "../../../shared/base/time/clock.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { CallContext } from "../../resources/graph/resource.ts";
import { ControllerEvents } from "./controller_events.ts";
import { AXES, BUTTONS, EVENT } from "./controls.ts";
import type { WebGamepadAttributes } from "./input_attributes.ts";

const DEFAULT_TIMEOUT_MS = 5_000;

/** See {@link webGamepadModel}. */
export class WebGamepad implements Driver<typeof InputControllerService> {
  readonly #controls = [...AXES.values(), ...BUTTONS.values()];
  readonly #events: ControllerEvents;
  #silence: Timer | undefined;

  constructor(private readonly clock: Clock, private readonly attributes: WebGamepadAttributes) {
    this.#events = new ControllerEvents(clock);
    for (const control of this.#controls) this.#events.happen(control, EVENT.connect, 0);
  }

  getControls() {
    return { controls: this.#controls };
  }

  getEvents() {
    return { events: this.#events.all };
  }

  streamEvents(request: StreamEventsRequest, call: CallContext) {
    return this.#events.stream(request, call);
  }

  triggerEvent({ event }: { event?: Event | undefined }) {
    if (!event || !this.#controls.includes(event.control)) {
      throw new ConnectError(
        `there is no control ${event?.control ?? ""}; the controller has ` +
          this.#controls.join(", "),
        Code.InvalidArgument,
      );
    }
    if (!(Math.abs(event.value) <= 1)) {
      throw new ConnectError(`value is ${event.value}; it goes from -1 to 1`, Code.InvalidArgument);
    }
    this.#silence?.cancel();
    this.#events.send(event);
    const timeout = this.attributes.timeout ?? DEFAULT_TIMEOUT_MS;
    if (timeout > 0) {
      this.#silence = this.clock.setTimer(timeout, () => this.#events.disconnect());
    }
    return {};
  }

  getStatus() {
    return {
      values: Object.fromEntries(this.#events.all.map(({ control, value }) => [control, value])),
    };
  }

  close(): void {
    this.#silence?.cancel();
    this.#events.disconnect();
    this.#events.close();
  }
}
