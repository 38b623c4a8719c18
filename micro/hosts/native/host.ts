import type {
  Adc,
  Connection,
  ConnectionEvents,
  Firmware,
  Gpio,
  Host,
  Listener,
  OnConnection,
  PinMode,
} from "../../core/host/host.ts";
import { type Dispatch, EVENT, type Native } from "./native.ts";

const PIN_MODES: readonly PinMode[] = ["in", "in-pull-up", "in-pull-down", "out"];
/** As much as the C part gives at once. */
const RANDOM_AT_ONCE = 256;

/** The core's {@link Host} made of a C part, and where that sends its events. */
export interface NativeHost {
  readonly host: Host;
  readonly dispatch: Dispatch;
}

/** How the host is set up. */
export interface NativeOptions {
  /** Of the firmware that runs. */
  readonly version: string;
  /** Whether debug lines are logged; default false. */
  readonly debug?: boolean;
  /** Called when the program is about to end. */
  readonly onStop: () => void;
}

/** Makes the core's host of a C part. */
export function nativeHost(native: Native, options: NativeOptions): NativeHost {
  const { version, debug = false, onStop } = options;
  const timers = new Map<number, () => void>();
  const connections = new Map<number, ConnectionEvents>();
  const listeners = new Map<number, OnConnection>();
  const watches = new Map<number, (high: boolean, timeUs: number) => void>();

  function setTimer(ms: number, callback: () => void): number {
    const id = native.setTimer(ms);
    timers.set(id, callback);
    return id;
  }

  function connectionOf(id: number): Connection {
    return {
      write: (bytes) => native.write(id, bytes),
      end: () => native.end(id),
      destroy: () => {
        connections.delete(id);
        native.destroy(id);
      },
    };
  }

  function accept(listener: number, id: number, address: string): void {
    const events = listeners.get(listener)?.(connectionOf(id), { address });
    if (events) connections.set(id, events);
    else native.destroy(id);
  }

  /** The last event of a connection. */
  function over(id: number): ConnectionEvents | undefined {
    const events = connections.get(id);
    connections.delete(id);
    return events;
  }

  const dispatch: Dispatch = (kind, id, first, second) => {
    switch (kind) {
      case EVENT.timer: {
        const callback = timers.get(id);
        timers.delete(id);
        return callback?.();
      }
      case EVENT.open:
        return connections.get(id)?.onOpen?.();
      case EVENT.data:
        return connections.get(id)?.onData(first as Uint8Array);
      case EVENT.drain:
        return connections.get(id)?.onDrain?.();
      case EVENT.end:
        return over(id)?.onEnd();
      case EVENT.error:
        return over(id)?.onError(String(first));
      case EVENT.accept:
        return accept(id, second ?? 0, String(first));
      case EVENT.pin:
        return watches.get(id)?.(first === 1, second ?? 0);
      case EVENT.stop:
        return onStop();
    }
  };

  const host: Host = {
    now: () => native.now(),
    wallClock: () => native.wallClock(),
    // The clock belongs to the system.
    setWallClock: () => undefined,
    random(length) {
      if (length <= RANDOM_AT_ONCE) return native.random(length);
      const bytes = new Uint8Array(length);
      for (let at = 0; at < length; at += RANDOM_AT_ONCE) {
        bytes.set(native.random(Math.min(RANDOM_AT_ONCE, length - at)), at);
      }
      return bytes;
    },
    setTimer,
    clearTimer(id) {
      timers.delete(id);
      native.clearTimer(id);
    },
    connect(target, events) {
      const id = native.connect(target.host, target.port, target.tls, target.serverName ?? "");
      if (id === 0) setTimer(0, () => events.onError("there are too many connections"));
      else connections.set(id, events);
      return connectionOf(id);
    },
    listen({ port, tls }, onConnection): Listener {
      const [id, taken] = native.listen(port, tls?.certificate, tls?.privateKey);
      listeners.set(id, onConnection);
      return {
        port: taken,
        close() {
          listeners.delete(id);
          native.closeListener(id);
        },
      };
    },
    localAddress: () => native.localAddress(),
    flash: {
      read: (key) => native.flashRead(key),
      write: (key, bytes) => native.flashWrite(key, bytes),
      remove: (key) => native.flashRemove(key),
      largestValue: native.largestValue,
    },
    sha256: (bytes) => native.sha256(bytes),
    verifyEd25519: (key, message, signature) => native.verifyEd25519(key, message, signature),
    memory: () => ({ used: native.memoryUsed(), limit: native.memoryLimit() }),
    watchdog: (ms) => native.watchdog(ms),
    log(line) {
      if (debug || !line.startsWith("debug ")) native.log(line);
    },
    restart: () => native.restart(),
    firmware: firmwareOf(native, version),
    gpio: native.hasGpio ? gpioOf(native, watches) : undefined,
    i2c: native.hasI2c
      ? { transfer: (bus, address, write, n) => native.i2cTransfer(bus, address, write, n) }
      : undefined,
    adc: native.hasAdc ? { read: (pin) => analogValue(native.adcRead(pin)) } : undefined,
    pwm: native.hasPwm
      ? { set: (pin, frequencyHz, duty) => native.pwmSet(pin, frequencyHz, duty) }
      : undefined,
  };
  return { host, dispatch };
}

function analogValue(
  [value, min, max, stepSize]: [number, number, number, number],
): ReturnType<Adc["read"]> {
  return { value, min, max, stepSize };
}

function firmwareOf(native: Native, version: string): Firmware {
  return {
    version,
    get confirmed() {
      return native.firmwareConfirmed();
    },
    begin: (size) => native.firmwareBegin(size),
    write: (bytes) => native.firmwareWrite(bytes),
    digest: () => native.firmwareDigest(),
    finish: (activate) => native.firmwareFinish(activate),
    confirm: () => native.firmwareConfirm(),
    rollBack: () => native.firmwareRollBack(),
  };
}

function gpioOf(
  native: Native,
  watches: Map<number, (high: boolean, timeUs: number) => void>,
): Gpio {
  return {
    mode: (pin, mode) => native.gpioMode(pin, PIN_MODES.indexOf(mode)),
    read: (pin) => native.gpioRead(pin),
    write: (pin, high) => native.gpioWrite(pin, high),
    watch(pin, onChange) {
      const id = native.gpioWatch(pin);
      watches.set(id, onChange);
      return {
        close() {
          watches.delete(id);
          native.gpioUnwatch(id);
        },
      };
    },
  };
}
