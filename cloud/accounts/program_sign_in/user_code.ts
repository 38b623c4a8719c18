import type { Random } from "../../storage/keys/random.ts";

/** Consonants: no code is a word, and none looks like another (RFC 8628, section 6.1). */
const LETTERS = "BCDFGHJKLMNPQRSTVWXZ";
const LENGTH = 8;

/** A code for typing, `BCDF-GHJK`: 34 bits. */
export function userCode(random: Random, taken: ReadonlySet<string>): string {
  const limit = 256 - (256 % LETTERS.length);
  while (true) {
    let code = "";
    while (code.length < LENGTH) {
      for (const byte of random.bytes(LENGTH)) {
        if (byte < limit && code.length < LENGTH) code += LETTERS[byte % LETTERS.length];
      }
    }
    const shown = `${code.slice(0, LENGTH / 2)}-${code.slice(LENGTH / 2)}`;
    if (!taken.has(shown)) return shown;
  }
}
