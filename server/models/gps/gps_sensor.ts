import { Code, ConnectError } from "@connectrpc/connect";
import type { MovementSensorService } from "../../../shared/gen/viam/component/movementsensor/v1/movementsensor_pb.ts";
import { linkedController } from "../../../shared/base/time/linked_controller.ts";
import type { Logger } from "../../../shared/log/logger.ts";
import type { Driver } from "../../resources/graph/driver.ts";
import type { BuiltinEnvironment } from "../environment.ts";
import { hostHardware } from "../kernel/host_hardware.ts";
import type { ByteLink } from "../serial/byte_link.ts";
import { keepLink, type LinkPlace, openLink, placeName } from "../serial/open_link.ts";
import type { GpsAttributes } from "./gps_attributes.ts";
import { checksum, type Fix, readSentence, Sentences } from "./nmea.ts";
import { corrections } from "./ntrip.ts";

/** A fix older than this is none. Milliseconds. */
const OLDEST_MS = 5_000;
/** A caster learns this often where the receiver is. Milliseconds. */
const PLACE_MS = 10_000;
const DEFAULT_BAUD = 38_400;
const DEFAULT_NTRIP_PORT = 2_101;
const NOT_YET = "it is not connected yet";

export interface GpsSensorOptions {
  readonly environment: BuiltinEnvironment;
  readonly attributes: GpsAttributes;
  readonly log: Logger;
}

/** See {@link gpsModel}. */
export class GpsSensor implements Driver<typeof MovementSensorService> {
  readonly #place: LinkPlace;
  readonly #sentences = new Sentences();
  readonly #ending = new AbortController();
  readonly #running: Promise<unknown>;
  #fix: Fix = {};
  #sentenceMs: number | undefined;
  #openedMs = 0;
  #lastGga: string | undefined;
  #receiver: ByteLink | undefined;
  #problem: string | undefined = NOT_YET;
  #ntripProblem: string | undefined;
  #corrected = 0;

  constructor(private readonly options: GpsSensorOptions) {
    const { attributes } = options;
    this.#place = attributes.connection_type === "tcp" ? { kind: "tcp", ...attributes.address! } : {
      kind: "serial",
      path: attributes.serial_attributes!.serial_path,
      baudRate: attributes.serial_attributes!.serial_baud_rate ?? DEFAULT_BAUD,
    };
    const running = [this.#receive()];
    if (attributes.ntrip_url !== undefined) running.push(this.#correct(attributes.ntrip_url));
    this.#running = Promise.all(running);
  }

  getPosition() {
    const { latitude, longitude, altitude } = this.#current();
    if (latitude === undefined || longitude === undefined) throw noFix();
    return { coordinate: { latitude, longitude }, altitudeM: altitude ?? 0 };
  }

  getLinearVelocity() {
    const { speed, course } = this.#current();
    if (speed === undefined) throw noFix();
    const radians = (course ?? 0) * Math.PI / 180;
    // East and north.
    return {
      linearVelocity: { x: speed * Math.sin(radians), y: speed * Math.cos(radians), z: 0 },
    };
  }

  getCompassHeading() {
    const { heading, course } = this.#current();
    const value = heading ?? course;
    if (value !== undefined) return { value };
    throw new ConnectError(
      "the receiver reports no course; it does so while it moves",
      Code.Unavailable,
    );
  }

  getProperties() {
    return {
      positionSupported: true,
      linearVelocitySupported: true,
      compassHeadingSupported: true,
    };
  }

  getAccuracy() {
    const { hdop, vdop, quality } = this.#current();
    return {
      accuracy: {},
      ...(hdop !== undefined && { positionHdop: hdop }),
      ...(vdop !== undefined && { positionVdop: vdop }),
      ...(quality !== undefined && { positionNmeaGgaFix: quality }),
    };
  }

  getStatus() {
    const problem = this.#trouble();
    return {
      ...(problem !== undefined && { error: problem }),
      bad_sentences: this.#sentences.bad,
      fix: this.#fix.quality ?? 0,
      satellites: this.#fix.satellites ?? 0,
      ...(this.options.attributes.ntrip_url !== undefined && {
        correction_bytes: this.#corrected,
        ...(this.#ntripProblem !== undefined && { ntrip_error: this.#ntripProblem }),
      }),
    };
  }

  /** Missing corrections are none: positions come without them. */
  problem(): string | undefined {
    return this.#problem === NOT_YET ? undefined : this.#trouble();
  }

  async close(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  #trouble(): string | undefined {
    if (this.#problem !== undefined) return `${placeName(this.#place)}: ${this.#problem}`;
    const nowMs = this.options.environment.clock.monotonicMs();
    if (nowMs - (this.#sentenceMs ?? this.#openedMs) < OLDEST_MS) return undefined;
    return `${placeName(this.#place)}: ` +
      (this.#sentences.bad > 0
        ? `what comes is no NMEA (${this.#sentences.bad} pieces so far); check serial_baud_rate, and ` +
          "that the receiver is set to NMEA"
        : "nothing comes; check the receiver's power and wires");
  }

  #current(): Fix {
    const problem = this.#trouble();
    if (problem !== undefined) throw new ConnectError(problem, Code.Unavailable);
    return this.#fix;
  }

  #receive(): Promise<void> {
    const { environment, log } = this.options;
    return keepLink({
      clock: environment.clock,
      signal: this.#ending.signal,
      open: () =>
        openLink(
          this.#place,
          () => hostHardware(environment),
          environment.clock,
          this.#ending.signal,
        ),
      state: (problem) => {
        if (problem !== undefined && problem !== this.#problem) {
          log.warn(`${placeName(this.#place)}: ${problem}`, { event: "device_failed" });
        }
        this.#problem = problem;
        this.#openedMs = environment.clock.monotonicMs();
      },
      use: async (link, works) => {
        works();
        this.#receiver = link;
        try {
          for (let bytes; (bytes = await link.read());) this.#take(bytes);
        } finally {
          this.#receiver = undefined;
        }
      },
    });
  }

  #take(bytes: Uint8Array): void {
    for (const sentence of this.#sentences.take(bytes)) {
      this.#sentenceMs = this.options.environment.clock.monotonicMs();
      if (sentence.slice(2, 5) === "GGA") this.#lastGga = sentence;
      const change = readSentence(sentence);
      if (change) this.#fix = { ...this.#fix, ...change };
    }
  }

  /** Some streams are made for where the receiver is; their casters send nothing before. */
  async #sendPlaces(link: ByteLink, signal: AbortSignal): Promise<void> {
    const { clock } = this.options.environment;
    try {
      while (!signal.aborted) {
        const gga = this.#lastGga;
        if (gga !== undefined) {
          await link.write(new TextEncoder().encode(`$${gga}*${checksum(gga)}\r\n`));
        }
        await clock.sleep(gga === undefined ? 200 : PLACE_MS, signal);
      }
    } catch {
      // The reading end notices a connection that is gone.
    }
  }

  #correct(url: string): Promise<void> {
    const { environment, attributes, log } = this.options;
    const { clock } = environment;
    const { hostname, port } = new URL(url);
    const place: LinkPlace = {
      kind: "tcp",
      hostname: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port) || DEFAULT_NTRIP_PORT,
    };
    const { signal } = this.#ending;
    let logged: string | undefined;
    return keepLink({
      clock,
      signal,
      open: () => openLink(place, () => hostHardware(environment), clock, signal),
      state: (problem) => {
        if (problem !== undefined && problem !== logged) {
          log.warn(`corrections of ${placeName(place)}: ${problem}`, { event: "device_failed" });
        }
        this.#ntripProblem = logged = problem;
      },
      use: async (link, works) => {
        const request = {
          host: placeName(place),
          mountpoint: attributes.ntrip_mountpoint!,
          username: attributes.ntrip_username,
          password: attributes.ntrip_password,
        };
        const ending = linkedController(signal);
        try {
          const answered = () => {
            this.#ntripProblem = undefined;
            void this.#sendPlaces(link, ending.signal);
          };
          for await (const bytes of corrections(link, request, answered)) {
            // One that accepts and hangs up is not asked as often as one that works.
            works();
            this.#corrected += bytes.length;
            await this.#receiver?.write(bytes);
          }
        } finally {
          ending.abort();
        }
      },
    });
  }
}

function noFix(): ConnectError {
  return new ConnectError(
    "the receiver has no fix; give its antenna a view of the sky",
    Code.Unavailable,
  );
}
