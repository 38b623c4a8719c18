import { Buffer } from "node:buffer";
import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../../shared/base/time/clock.ts";
import { AttemptBuckets } from "../../../shared/cloud/auth/attempt_buckets.ts";

const ALGORITHM = { name: "RSA-OAEP", hash: "SHA-256" } as const;
/** Length of a sealed value: that of RSA-2048. */
export const SEALED_BYTES = 256;
/** A person writes some ten values; after so many a new session is needed. */
const MOST_VALUES = 1_000;
/** Wrong passwords of one device, and of all: addresses of devices are easily invented. */
const DEVICE_LIMITS = { burst: 5, perMinute: 2 };
const TOTAL_LIMITS = { burst: 60, perMinute: 30 };
const ALL = "all";

/** A value that is not taken: nobody who knows the password wrote it. */
export class SealError extends Error {
  override readonly name = "SealError";
  constructor(
    readonly kind: "length" | "password" | "replay" | "too-many",
    message: string,
  ) {
    super(message);
  }
}

/**
 * Values that a phone writes: `<hotspot password>:<value>` under RSA-2048 with OAEP and SHA-256, at
 * most 190 bytes. The key is new in each session, so that nothing recorded before opens. OAEP makes
 * every sealed value another one: one that comes twice was recorded, and is refused.
 *
 * The published form proves nothing of the machine to the phone: whoever stands between them can
 * offer a key of its own. It only keeps out those who do not know the password.
 */
export class SealedValues {
  readonly #expected: Buffer;
  readonly #seen = new Set<string>();
  readonly #devices: AttemptBuckets;
  readonly #total: AttemptBuckets;
  readonly #compareKey = randomBytes(32);

  private constructor(
    private readonly key: CryptoKey,
    /** `SubjectPublicKeyInfo` in DER. */
    readonly publicKey: Uint8Array,
    password: string,
    clock: Pick<Clock, "monotonicMs">,
  ) {
    this.#expected = Buffer.from(`${password}:`);
    const now = () => clock.monotonicMs();
    this.#devices = new AttemptBuckets(now, DEVICE_LIMITS);
    this.#total = new AttemptBuckets(now, TOTAL_LIMITS);
  }

  /** Begins a session with a new key; that takes some tenths of a second, during other work. */
  static async begin(password: string, clock: Pick<Clock, "monotonicMs">): Promise<SealedValues> {
    const { privateKey, publicKey } = await crypto.subtle.generateKey(
      { ...ALGORITHM, modulusLength: 2048, publicExponent: Uint8Array.of(1, 0, 1) },
      false,
      ["encrypt", "decrypt"],
    );
    const der = await crypto.subtle.exportKey("spki", publicKey);
    return new SealedValues(privateKey, new Uint8Array(der), password, clock);
  }

  /**
   * @param device who wrote it, as far as that is known.
   * @returns the value.
   * @throws {SealError}
   */
  async open(sealed: Uint8Array, device: string): Promise<Uint8Array> {
    if (sealed.length !== SEALED_BYTES) {
      throw new SealError("length", `a sealed value has ${SEALED_BYTES} bytes`);
    }
    if (!this.#devices.free(device) || !this.#total.free(ALL)) {
      throw new SealError("too-many", "too many values with a wrong password; wait a minute");
    }
    if (this.#seen.size >= MOST_VALUES) {
      throw new SealError("too-many", "too many values in this session");
    }
    this.#devices.reserve(device);
    this.#total.reserve(ALL);
    let isWrong = true;
    try {
      const value = await this.#opened(sealed);
      isWrong = false;
      return value;
    } finally {
      this.#devices.settle(device, isWrong);
      this.#total.settle(ALL, isWrong);
    }
  }

  async #opened(sealed: Uint8Array): Promise<Uint8Array> {
    const digest = createHash("sha256").update(sealed).digest("base64");
    if (this.#seen.has(digest)) {
      throw new SealError("replay", "this value was written before; seal it again");
    }
    let plain: Uint8Array;
    try {
      plain = new Uint8Array(
        await crypto.subtle.decrypt(ALGORITHM, this.key, Uint8Array.from(sealed)),
      );
    } catch (error) {
      if (!(error instanceof DOMException)) throw error;
      throw wrong();
    }
    const length = this.#expected.length;
    if (!this.#isSame(plain.subarray(0, length), this.#expected)) throw wrong();
    // Only what was right is kept: others cannot fill the memory.
    if (this.#seen.has(digest)) {
      throw new SealError("replay", "this value was written before; seal it again");
    }
    this.#seen.add(digest);
    return plain.subarray(length);
  }

  /** In the same time whatever is different, the length included. */
  #isSame(given: Uint8Array, expected: Uint8Array): boolean {
    const digest = (bytes: Uint8Array) =>
      createHmac("sha256", this.#compareKey).update(bytes).digest();
    return timingSafeEqual(digest(given), digest(expected));
  }
}

/** The same for all: who guesses learns nothing. */
const wrong = () =>
  new SealError("password", "the value is not sealed for this machine with its hotspot password");
