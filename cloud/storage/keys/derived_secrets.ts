import { createHmac } from "node:crypto";

/**
 * Secrets that are computed from the cloud's master secret, so that the database holds only their
 * ids: whoever reads the database learns none of them, and a deleted id is a revoked secret.
 */
export class DerivedSecrets {
  readonly #master: Uint8Array;

  constructor(master: Uint8Array) {
    this.#master = master;
  }

  partSecret(partId: string, secretId: string): string {
    return this.#derive(`part-secret:${partId}:${secretId}`);
  }

  locationSecret(locationId: string, secretId: string): string {
    return this.#derive(`location-secret:${locationId}:${secretId}`);
  }

  /** The API key that `bootstrap` prints; `generation` rises when an earlier one was deleted. */
  bootstrapKey(orgId: string, generation: number): string {
    return this.#derive(`bootstrap-key:${orgId}:${generation}`);
  }

  /** The API key that owners of a machine are given; `generation` rises when one was deleted. */
  machineKey(machineId: string, generation: number): string {
    return this.#derive(`machine-key:${machineId}:${generation}`);
  }

  /** Opens one package file for who has it; `expires` is seconds since 1970. */
  downloadSignature(fileId: string, expires: number): string {
    return this.#derive(`download:${fileId}:${expires}`);
  }

  /** 32 bytes that sign what a trigger sends; `generation` rises when it is replaced. */
  triggerSecret(partId: string, triggerName: string, generation: number): Uint8Array {
    const purpose = `trigger-secret:${partId}:${generation}:${triggerName}`;
    return new Uint8Array(createHmac("sha256", this.#master).update(purpose).digest());
  }

  /** 20 bytes that an authenticator and the cloud compute codes from. */
  secondFactorSecret(userId: string, generation: number): Uint8Array {
    const purpose = `second-factor:${userId}:${generation}`;
    return new Uint8Array(createHmac("sha256", this.#master).update(purpose).digest()).slice(0, 20);
  }

  /** 32 bytes that the certificate authority is encrypted with in a database that others can read. */
  authorityKey(): Uint8Array {
    return new Uint8Array(createHmac("sha256", this.#master).update("authority").digest());
  }

  /** 32 bytes under which nodes count wrong attempts together. */
  attemptsKey(): Uint8Array {
    return new Uint8Array(createHmac("sha256", this.#master).update("attempts").digest());
  }

  /** 32 bytes that seal what somebody holds while signing in, for each purpose others. */
  signInKey(purpose: "single sign-on" | "second step" | "program"): Uint8Array {
    return new Uint8Array(
      createHmac("sha256", this.#master).update(`sign-in:${purpose}`).digest(),
    );
  }

  /** 32 bytes that the account and certificate of ACME are encrypted with in a database. */
  acmeKey(): Uint8Array {
    return new Uint8Array(createHmac("sha256", this.#master).update("acme").digest());
  }

  /** Distinguishes two master secrets without giving them away. */
  fingerprint(): string {
    return this.#derive("fingerprint").slice(0, 12);
  }

  /** 256 bits as 50 lower-case letters and digits: safe in URLs, shells and files. */
  #derive(purpose: string): string {
    const digest = createHmac("sha256", this.#master).update(purpose).digest("hex");
    return BigInt(`0x${digest}`).toString(36).padStart(50, "0");
  }
}
