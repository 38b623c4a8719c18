/** Which plans there are and were. */
import { timestampFromDate } from "@bufbuild/protobuf/wkt";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError } from "@connectrpc/connect";
import type { Clock } from "../../../shared/base/time/clock.ts";
import {
  type PlanState,
  type PlanStatus,
  PlanStatusSchema,
  type PlanWithStatusSchema,
} from "../../../shared/gen/viam/service/motion/v1/motion_pb.ts";
import type { Point } from "./path.ts";

const IN_PROGRESS: PlanState.IN_PROGRESS = 1;
const KEPT_MS = 24 * 3_600_000;
/** Somebody who moves a base over and over must not fill the memory. */
const MOST_KEPT = 1_000;
const MM = 1_000;

interface Plan {
  readonly id: string;
  readonly path: readonly Point[];
  readonly heading: number | undefined;
  /** In the order of time, at least one. */
  readonly history: PlanStatus[];
}

/** One call of MoveOnGlobe or MoveOnMap, with the plans that were made for it. */
export class Execution {
  readonly id = crypto.randomUUID();
  readonly plans: Plan[] = [];

  constructor(readonly component: string, private readonly clock: Clock) {}

  /** A plan begins; the one before it has failed. */
  begin(path: readonly Point[], heading: number | undefined): void {
    this.plans.push({ id: crypto.randomUUID(), path, heading, history: [this.#status(1)] });
  }

  /** The newest plan's state changes. */
  end(state: PlanState, reason?: string): void {
    if (this.isActive) this.plans.at(-1)!.history.push(this.#status(state, reason));
  }

  get isActive(): boolean {
    return this.plans.at(-1)!.history.at(-1)!.state === IN_PROGRESS;
  }

  /** When its state changed last. Milliseconds. */
  get changedMs(): number {
    const { seconds = 0n } = this.plans.at(-1)!.history.at(-1)!.timestamp ?? {};
    return Number(seconds) * 1_000;
  }

  #status(state: PlanState, reason?: string): PlanStatus {
    const timestamp = timestampFromDate(this.clock.now());
    return create(PlanStatusSchema, { state, timestamp, ...(reason !== undefined && { reason }) });
  }
}

/** All executions of the last day. */
export class Executions {
  #all: Execution[] = [];

  constructor(private readonly clock: Clock) {}

  add(execution: Execution): void {
    this.#forget();
    this.#all.push(execution);
  }

  /** Of a component; undefined when nothing of it is under way. */
  active(component: string): Execution | undefined {
    return this.#all.find((one) => one.component === component && one.isActive);
  }

  /** @throws {ConnectError} NOT_FOUND. */
  find(component: string, id: string | undefined): Execution {
    this.#forget();
    const found = this.#all.findLast((one) =>
      one.component === component && (id === undefined || id === "" || one.id === id)
    );
    if (found) return found;
    const which = id ? `execution ${id}` : "plan";
    throw new ConnectError(
      `there is no ${which} of ${component} since this service began, within the last day`,
      Code.NotFound,
    );
  }

  /** The newest state of each plan, in the order of time. */
  statuses(onlyActive: boolean) {
    this.#forget();
    return this.#all.flatMap(({ id, component, plans }) =>
      plans.map((plan) => ({
        ...{ planId: plan.id, executionId: id, componentName: component },
        status: plan.history.at(-1)!,
      }))
    ).filter(({ status }) => !onlyActive || status.state === IN_PROGRESS)
      .sort((a, b) => timeOf(a.status) - timeOf(b.status));
  }

  #forget(): void {
    const oldest = this.clock.now().getTime() - KEPT_MS;
    this.#all = this.#all.filter((one) => one.isActive || one.changedMs >= oldest)
      .slice(-MOST_KEPT);
  }
}

/** A plan as GetPlan gives it: poses in millimetres from where the way's origin is. */
export function planMessage(
  execution: Execution,
  plan: Plan,
): MessageInitShape<typeof PlanWithStatusSchema> {
  const { component: name, id: executionId } = execution;
  const steps = plan.path.map(({ x, y }, index) => {
    const [from, to] = index === 0
      ? [plan.path[0], plan.path[1]]
      : [plan.path[index - 1], { x, y }];
    const isLast = index === plan.path.length - 1;
    const bearing = isLast && plan.heading !== undefined
      ? plan.heading
      : Math.atan2((to?.x ?? 0) - (from?.x ?? 0), (to?.y ?? 0) - (from?.y ?? 0)) * 180 / Math.PI;
    return { step: { [name]: { pose: { x: x * MM, y: y * MM, oZ: 1, theta: -bearing } } } };
  });
  return {
    plan: { id: plan.id, executionId, componentName: name, steps },
    status: plan.history.at(-1)!,
    statusHistory: plan.history,
  };
}

function timeOf({ timestamp }: PlanStatus): number {
  return Number(timestamp?.seconds ?? 0n) * 1e3 + (timestamp?.nanos ?? 0) / 1e6;
}
