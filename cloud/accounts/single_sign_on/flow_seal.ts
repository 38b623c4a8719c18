import { randomBytes } from "node:crypto";
import { EncryptJWT, jwtDecrypt } from "jose";
import { z } from "zod";

const flowSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** Path on this cloud where the browser continues. */
  back: z.string(),
  /** Who adds the identity to an account, from which session; left out: somebody signs in. */
  linking: z.object({ userId: z.string(), sessionId: z.string() }).optional(),
});

/** What is kept, in a cookie, of a browser that was sent to the issuer. */
export type Flow = z.infer<typeof flowSchema>;

/** How long a person may take at the issuer. */
export const FLOW_SECONDS = 10 * 60;
const REMEMBERED = 10_000;

/**
 * Seals flows with a key of this process, so that whoever begins one without end costs nothing here.
 * Each opens once.
 */
export class FlowSeal {
  readonly #key = randomBytes(32);
  readonly #used = new Set<string>();

  async seal(flow: Flow): Promise<string> {
    return await new EncryptJWT({ ...flow })
      .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
      .setExpirationTime(`${FLOW_SECONDS}s`)
      .encrypt(this.#key);
  }

  /** Undefined: it is none of this process, too old, or was opened before. */
  async open(sealed: string): Promise<Flow | undefined> {
    const opened = await jwtDecrypt(sealed, this.#key, {
      keyManagementAlgorithms: ["dir"],
      contentEncryptionAlgorithms: ["A256GCM"],
    }).catch(() => undefined);
    const flow = flowSchema.safeParse(opened?.payload).data;
    if (!flow || this.#used.has(flow.state)) return undefined;
    this.#used.add(flow.state);
    const [oldest] = this.#used;
    if (this.#used.size > REMEMBERED && oldest !== undefined) this.#used.delete(oldest);
    return flow;
  }
}
