/**
 * What machine-micro-server needs of the device it runs on. One implementation a platform: Deno for
 * tests (`micro/hosts/deno`), a C program around a small JavaScript engine for everything else.
 *
 * The core is plain ES2023 without any library of the platform, so everything else comes from here.
 * No call blocks longer than the hardware needs, none returns a promise: what takes time calls back.
 * A host calls back from its event loop only, never from inside a call of the core, and runs the
 * engine's pending jobs (promises) after each callback. A callback that throws is logged by the host
 * and changes nothing else. A failing call throws an `Error` whose message says what was wrong.
 */
export interface Host {
  /** Milliseconds since the device started; never goes back. */
  now(): number;
  /** Unix time in milliseconds, 0 as long as nobody set it. */
  wallClock(): number;
  /** Sets the wall clock; a host whose clock belongs to the system may ignore it. */
  setWallClock(unixMs: number): void;
  /** `length` bytes of the device's cryptographic random source. */
  random(length: number): Uint8Array;

  /** Calls back once after `ms` milliseconds (0: with the next turn of the loop). */
  setTimer(ms: number, callback: () => void): TimerId;
  /** Forgets a timer; one that is over or unknown is ignored. */
  clearTimer(id: TimerId): void;

  /** Opens a TCP connection. Never throws: a failure is `onError`, from the loop. */
  connect(target: ConnectTarget, events: ConnectionEvents): Connection;
  /** Accepts TCP connections at `port` (0: a free one) of all addresses. Throws where it cannot. */
  listen(options: ListenOptions, onConnection: OnConnection): Listener;
  /** IPv4 address of the device in its network, or undefined before it has one. */
  localAddress(): string | undefined;

  readonly flash: Flash;
  /** SHA-256 of the bytes: 32 bytes. */
  sha256(bytes: Uint8Array): Uint8Array;
  /** Whether `signature` (64 bytes) is that of `message` by the raw Ed25519 key of 32 bytes. */
  verifyEd25519(publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean;

  /** Bytes of the engine's heap. `limit` is 0 where there is none. */
  memory(): { readonly used: number; readonly limit: number };
  /** Restarts the device unless it is called again within `ms`; 0 switches it off. */
  watchdog(ms: number): void;
  /** A line for the device's console (serial port, standard error), without line break. */
  log(line: string): void;
  /** Restarts the device (or ends the process for its supervisor) soon after it returns. */
  restart(): void;
  /** The slots of the firmware; undefined where a supervisor updates the program. */
  readonly firmware: Firmware | undefined;

  /** What the board has; undefined where it has none of these. */
  readonly gpio: Gpio | undefined;
  readonly i2c: I2c | undefined;
  readonly adc: Adc | undefined;
  readonly pwm: Pwm | undefined;
}

/** Opaque to the core. */
export type TimerId = number;

/** Where to connect to. */
export interface ConnectTarget {
  /** Name or IPv4 address. */
  readonly host: string;
  readonly port: number;
  /** Speak TLS, with the peer's certificate checked against the trusted roots of the device. */
  readonly tls: boolean;
  /** The name in the certificate where it is not `host`. */
  readonly serverName?: string;
}

/** After `onEnd` or `onError` nothing is called any more; one of both comes exactly once. */
export interface ConnectionEvents {
  /** It is open (with TLS: the handshake is done). Not called for accepted connections. */
  onOpen?(): void;
  /** The bytes belong to the callee. */
  onData(bytes: Uint8Array): void;
  /** `write` returned false before and may be called again. */
  onDrain?(): void;
  /** The peer closed. */
  onEnd(): void;
  /** It failed; the text says how, without addresses that are secret. */
  onError(text: string): void;
}

/** A TCP or TLS connection. All calls after its end are ignored. */
export interface Connection {
  /**
   * Sends the bytes, or keeps them until they can be sent. False: enough is kept, wait for
   * `onDrain`. A host may break the connection off when more than 256 KiB are kept.
   */
  write(bytes: Uint8Array): boolean;
  /** Closes after what is kept was sent; `onEnd` follows. */
  end(): void;
  /** Closes at once; no event follows. */
  destroy(): void;
}

/** Where to accept connections. */
export interface ListenOptions {
  readonly port: number;
  /** Accept TLS with this certificate (PEM, leaf first); plain TCP otherwise. */
  readonly tls?: { readonly certificate: string; readonly privateKey: string };
}

/** Called for each accepted connection, TLS done; gives the events of it, or undefined to refuse. */
export type OnConnection = (
  connection: Connection,
  peer: { readonly address: string },
) => ConnectionEvents | undefined;

/** A port that accepts connections. */
export interface Listener {
  readonly port: number;
  close(): void;
}

/**
 * Small values by key (up to 31 characters of a-z, 0-9, `-`, `_`). `write` is atomic and durable
 * when it returns: a power cut leaves the old or the new value.
 */
export interface Flash {
  read(key: string): Uint8Array | undefined;
  /** Throws when there is no room; the old value stays. */
  write(key: string, bytes: Uint8Array): void;
  remove(key: string): void;
  /** Largest value in bytes that may be written. */
  readonly largestValue: number;
}

/**
 * Two slots (A/B). The one that runs is never written. A slot that was activated runs once; without
 * `confirm` the next start goes back to the other one.
 */
export interface Firmware {
  /** Version of the firmware that runs. */
  readonly version: string;
  /** Whether the slot that runs was confirmed. */
  readonly confirmed: boolean;
  /** Erases the other slot for an image of `size` bytes. Throws when it does not fit. */
  begin(size: number): void;
  write(bytes: Uint8Array): void;
  /** SHA-256 of what was written since {@link begin}: 32 bytes. */
  digest(): Uint8Array;
  /** Ends writing. With `activate` the next start runs the new image, else it is dropped. */
  finish(activate: boolean): void;
  /** The image that runs is good: it stays. */
  confirm(): void;
  /** The next start runs the other slot. Throws when that has no image. */
  rollBack(): void;
}

/** How a pin is used. */
export type PinMode = "in" | "in-pull-up" | "in-pull-down" | "out";

/** Digital pins by the board's names for them ("12"). */
export interface Gpio {
  mode(pin: string, mode: PinMode): void;
  read(pin: string): boolean;
  write(pin: string, high: boolean): void;
  /** Calls back at each change of an input with its level and the time in microseconds. */
  watch(pin: string, onChange: (high: boolean, timeUs: number) => void): { close(): void };
}

/** Buses by the board's names for them ("0"). */
export interface I2c {
  /** Writes, then reads `readLength` bytes, in one transfer. Throws when nobody answers. */
  transfer(bus: string, address: number, write: Uint8Array, readLength: number): Uint8Array;
}

/** Analog inputs. */
export interface Adc {
  /** `value` in steps of the converter, `min`, `max` and `stepSize` in volts. */
  read(pin: string): { value: number; min: number; max: number; stepSize: number };
}

/** Pulse width modulation. */
export interface Pwm {
  /** `duty` 0 to 1. Throws when the pin or the frequency is not possible. */
  set(pin: string, frequencyHz: number, duty: number): void;
}
