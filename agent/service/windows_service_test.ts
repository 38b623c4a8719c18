import assert from "node:assert/strict";
import { FakeClock } from "../../shared/base/time/fake_clock.ts";
import { wideText } from "../../shared/base/process/windows_structs.ts";
import { settle } from "../testing.ts";
import type { AgentEnd } from "./agent_end.ts";
import type { StopSignals } from "./stop_signals.ts";
import type { ServiceManager } from "./service_manager.ts";
import {
  Accept,
  Control,
  type ServiceControl,
  type ServiceHandlers,
  type ServiceStatus,
  State,
  WindowsError,
} from "./windows_api.ts";
import { serviceStatus } from "./windows_ffi.ts";
import { runWindowsService } from "./windows_service.ts";

/** The service manager of Windows, as far as a service sees it. */
class FakeControl implements ServiceControl {
  readonly reports: ServiceStatus[] = [];
  handlers: ServiceHandlers | undefined;
  readonly #stopped = Promise.withResolvers<void>();

  dispatch(name: string, handlers: ServiceHandlers): Promise<void> {
    assert.equal(name, "machine-agent");
    this.handlers = handlers;
    handlers.started();
    return this.#stopped.promise;
  }

  report(status: ServiceStatus): void {
    assert.notEqual(this.last?.state, State.stopped, "nothing is reported after the end");
    this.reports.push(status);
    if (status.state === State.stopped) this.#stopped.resolve();
  }

  get last(): ServiceStatus | undefined {
    return this.reports.at(-1);
  }

  control(code: number): number {
    assert(this.handlers);
    return this.handlers.control(code);
  }
}

class Rig {
  readonly control = new FakeControl();
  readonly clock = new FakeClock();
  readonly #work = Promise.withResolvers<AgentEnd>();
  manager: ServiceManager | undefined;
  stop: StopSignals | undefined;
  readonly ended: (AgentEnd | Error)[] = [];
  readonly run: Promise<AgentEnd>;

  constructor() {
    this.run = runWindowsService({
      control: this.control,
      clock: this.clock,
      work: (manager, stop) => {
        this.manager = manager;
        this.stop = stop;
        return this.#work.promise;
      },
      beforeStopped: (end) => {
        assert.notEqual(this.control.last?.state, State.stopped);
        this.ended.push(end);
        return Promise.resolve();
      },
    });
    this.run.catch(() => {});
  }

  end(end: AgentEnd): void {
    this.#work.resolve(end);
  }

  fail(error: Error): void {
    this.#work.reject(error);
  }
}

const ACCEPTS = Accept.stop | Accept.shutdown | Accept.preshutdown;

Deno.test("runWindowsService() reports the start, the run and an orderly stop", async () => {
  const rig = new Rig();
  const { control, clock } = rig;
  assert.equal(control.last?.state, State.startPending);
  assert.equal(control.last?.accepts, Accept.nothing);
  await clock.advance(12_000);
  assert.equal(control.last?.checkPoint, 2, "a start that takes its time is reported on");
  rig.manager?.ready();
  assert.deepEqual(control.last, {
    state: State.running,
    accepts: ACCEPTS,
    exitCode: WindowsError.none,
    specificCode: 0,
    checkPoint: 0,
    waitHintMs: 0,
  });
  const count = control.reports.length;
  await clock.advance(60_000);
  assert.equal(control.reports.length, count, "nothing is pending, nothing is reported");

  assert.equal(control.control(Control.stop), WindowsError.none);
  assert.equal(rig.stop?.orderly.aborted, true);
  assert.equal(control.last?.state, State.stopPending);
  assert.equal(control.last?.accepts, Accept.nothing);
  await clock.advance(10_000);
  assert.equal(control.last?.checkPoint, 3);
  assert((control.last?.waitHintMs ?? 0) > 5_000, "the next report comes before the hint is over");
  rig.end("stop");
  assert.equal(await rig.run, "stop");
  assert.equal(control.last?.state, State.stopped);
  assert.equal(control.last?.exitCode, WindowsError.none);
  assert.deepEqual(rig.ended, ["stop"]);
  assert.equal(clock.pendingTimers, 0);
});

for (const name of ["shutdown", "preshutdown"] as const) {
  Deno.test(`runWindowsService() ends in order at ${name}`, async () => {
    const rig = new Rig();
    rig.manager?.ready();
    assert.equal(rig.control.control(Control[name]), WindowsError.none);
    assert.equal(rig.stop?.orderly.aborted, true);
    rig.end("stop");
    await rig.run;
    assert.equal(rig.control.last?.state, State.stopped);
  });
}

Deno.test("runWindowsService() ends with a code that starts the service again after an update", async () => {
  const rig = new Rig();
  rig.manager?.ready();
  rig.end("update");
  assert.equal(await rig.run, "update");
  assert(rig.control.reports.some(({ state }) => state === State.stopPending));
  const { state, exitCode, specificCode } = rig.control.last ?? {};
  assert.deepEqual([state, exitCode, specificCode], [State.stopped, 1066, 75]);
});

Deno.test("runWindowsService() ends with a code when the agent fails", async () => {
  const rig = new Rig();
  rig.fail(new Error("no credentials"));
  await assert.rejects(rig.run, /no credentials/);
  const { state, exitCode, specificCode } = rig.control.last ?? {};
  assert.deepEqual([state, exitCode, specificCode], [State.stopped, 1066, 1]);
  assert.match(String(rig.ended[0]), /no credentials/);
});

Deno.test("runWindowsService() answers questions and refuses controls that it does not know", async () => {
  const rig = new Rig();
  rig.manager?.ready();
  const count = rig.control.reports.length;
  assert.equal(rig.control.control(Control.interrogate), WindowsError.none);
  assert.equal(rig.control.reports.length, count + 1);
  assert.equal(rig.control.last?.state, State.running);
  assert.equal(rig.control.control(200), WindowsError.callNotImplemented);
  assert.equal(rig.stop?.orderly.aborted, false);
  rig.end("stop");
  await rig.run;
  await settle();
});

Deno.test("runWindowsService() says that this is no service when nobody started it", async () => {
  const control: ServiceControl = {
    dispatch: () => Promise.reject(new Error("not started as a service")),
    report: () => {},
  };
  const work = () => Promise.reject(new Error("never"));
  const run = runWindowsService({ control, clock: new FakeClock(), work });
  await assert.rejects(run, /not started as a service/);
});

Deno.test("serviceStatus() and wideText() are laid out as Windows reads them", () => {
  const bytes = serviceStatus({
    state: State.stopped,
    accepts: 5,
    exitCode: 1066,
    specificCode: 75,
    checkPoint: 2,
    waitHintMs: 70_000,
  });
  assert.deepEqual([...new Uint32Array(bytes.buffer)], [0x10, 1, 5, 1066, 75, 2, 70_000]);
  assert.deepEqual([...wideText("aé")], [97, 0, 233, 0, 0, 0]);
});
