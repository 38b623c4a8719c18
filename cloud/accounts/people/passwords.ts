import { Buffer } from "node:buffer";
import { randomBytes, scrypt, timingSafeEqual } from "node:crypto";
import { type Clock, systemClock } from "../../../shared/base/time/clock.ts";
import { addressBlock } from "../../../shared/rpc/server/address_block.ts";
import { PasswordQueue } from "./password_queue.ts";

/** scrypt's parameters: N is 2 to the `ln`th, memory 128 · N · r bytes, time N · r · p. */
export interface PasswordCost {
  readonly ln: number;
  readonly r: number;
  readonly p: number;
}

/**
 * N = 2^15, r = 8, p = 2 (32 MiB, some 150 ms): what people choose is guessed, so each
 * guess has to cost; a sign-in stays below 300 ms.
 */
const COST: PasswordCost = { ln: 15, r: 8, p: 2 };
const HASH_BYTES = 32;
/** NIST SP 800-63B: at least 8 characters; no rules of what has to be in it. */
const SHORTEST = 8;
const LONGEST = 256;

/** Why a password cannot be taken. */
export interface PasswordProblem {
  readonly reason: "PASSWORD_SHORT" | "PASSWORD_LONG" | "PASSWORD_SIMPLE" | "PASSWORD_IS_ADDRESS";
  readonly values: { readonly least: number; readonly most: number };
  /** For people: `it needs …`. */
  readonly message: string;
}

/** What is wrong with a new password; undefined: nothing. */
export function passwordProblem(password: string, email: string): PasswordProblem | undefined {
  const values = { least: SHORTEST, most: LONGEST };
  const is = (reason: PasswordProblem["reason"], message: string) => ({ reason, values, message });
  const length = [...password].length;
  if (length < SHORTEST) return is("PASSWORD_SHORT", `it needs at least ${SHORTEST} characters`);
  if (length > LONGEST) return is("PASSWORD_LONG", `it has more than ${LONGEST} characters`);
  if (new Set(password).size < 3) {
    return is("PASSWORD_SIMPLE", "it has fewer than 3 different characters");
  }
  const name = email.split("@")[0] ?? "";
  if ([email, name].includes(password.toLowerCase())) {
    return is("PASSWORD_IS_ADDRESS", "it is your e-mail address");
  }
}

export interface PasswordsOptions {
  /** Strangers that wait at most, and as many of people who are known. */
  readonly waiting?: number;
  readonly clock?: Clock;
  /** Of new hashes; left out: what is right for people. */
  readonly cost?: PasswordCost | undefined;
}

/** Who waits for a password to be hashed. */
export interface PasswordTurn {
  /** IP address. */
  readonly address: string;
  /** Id of the person who has signed in from its block before: they wait for nobody else there. */
  readonly knownPerson?: string | undefined;
  /** Gives the place in the queue up. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Hashes and checks the passwords of people, on threads next to the one that serves. A storm of
 * wrong passwords slows down neither those who call with a token nor those who sign in elsewhere:
 * who signs in from where they did before has a turn of their own, and of the others those go first
 * who have not been wrong, see {@link PasswordQueue}.
 */
export class Passwords {
  readonly #known: PasswordQueue;
  readonly #strangers: PasswordQueue;
  readonly #cost: PasswordCost;
  /** What no password fits, at the cost of a right one. */
  readonly #unmatched: string;

  constructor(
    { waiting, clock = systemClock, cost = COST }: PasswordsOptions = {},
    private readonly derive = scryptHash,
  ) {
    this.#cost = cost;
    this.#unmatched = phcText(cost, randomBytes(16), randomBytes(HASH_BYTES));
    this.#known = new PasswordQueue(clock, { waiting });
    this.#strangers = new PasswordQueue(clock, { waiting });
  }

  /** A salted hash as a PHC string. @throws {ConnectError} RESOURCE_EXHAUSTED, CANCELED */
  async hash(
    password: string,
    { address, signal }: Omit<PasswordTurn, "knownPerson">,
  ): Promise<string> {
    const salt = randomBytes(16);
    const hash = await this.#strangers.inTurn(
      addressBlock(address),
      async () => ({ value: await this.derive(password, salt, this.#cost), isWrong: false }),
      signal,
    );
    return phcText(this.#cost, salt, hash);
  }

  /**
   * Compares in constant time. Without a hash it takes as long and gives false, so that nobody finds
   * by the clock who has a password here.
   *
   * @throws {ConnectError} RESOURCE_EXHAUSTED, CANCELED
   */
  async fits(
    password: string,
    hash: string | null | undefined,
    turn: PasswordTurn,
  ): Promise<boolean> {
    if (password.length > LONGEST * 4) return false;
    if (hash) return await this.#compare(password, hash, turn);
    await this.#compare(password, this.#unmatched, turn);
    return false;
  }

  async #compare(password: string, phc: string, turn: PasswordTurn): Promise<boolean> {
    const match = /^\$scrypt\$ln=(\d{1,2}),r=(\d{1,2}),p=(\d{1,2})\$([^$]+)\$([^$]+)$/.exec(phc);
    const [, ln, r, p, salt = "", hash = ""] = match ?? [];
    if (!match) return false;
    const cost = { ln: Number(ln), r: Number(r), p: Number(p) };
    const expected = Buffer.from(hash, "base64");
    const { knownPerson } = turn;
    const queue = knownPerson === undefined ? this.#strangers : this.#known;
    const block = addressBlock(turn.address);
    const of = knownPerson === undefined ? block : `${block} ${knownPerson}`;
    const work = async () => {
      const actual = await this.derive(password, Buffer.from(salt, "base64"), cost);
      const fits = actual.length === expected.length && timingSafeEqual(actual, expected);
      return { value: fits, isWrong: !fits };
    };
    return await queue.inTurn(of, work, turn.signal);
  }
}

function scryptHash(
  password: string,
  salt: Uint8Array,
  cost: PasswordCost,
): Promise<Buffer> {
  const options = { N: 2 ** cost.ln, r: cost.r, p: cost.p, maxmem: 256 * 1024 * 1024 };
  // The same password typed on another keyboard may come in another form of Unicode.
  const text = password.normalize("NFKC");
  return new Promise((resolve, reject) => {
    scrypt(text, salt, HASH_BYTES, options, (error, hash) => error ? reject(error) : resolve(hash));
  });
}

function phcText({ ln, r, p }: PasswordCost, salt: Buffer, hash: Buffer): string {
  return `$scrypt$ln=${ln},r=${r},p=${p}$${base64(salt)}$${base64(hash)}`;
}

function base64(bytes: Buffer): string {
  return bytes.toString("base64").replace(/=+$/, "");
}
