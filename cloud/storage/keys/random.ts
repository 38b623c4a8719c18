/** Where identifiers and secrets come from; tests pass a predictable one. */
export interface Random {
  bytes(count: number): Uint8Array<ArrayBuffer>;
  uuid(): string;
}

export const systemRandom: Random = {
  bytes: (count) => crypto.getRandomValues(new Uint8Array(count)),
  uuid: () => crypto.randomUUID(),
};

const ALPHANUMERIC = "abcdefghijklmnopqrstuvwxyz0123456789";

/** Lower-case letters and digits, each equally likely. */
export function alphanumeric(random: Random, length: number): string {
  const limit = 256 - (256 % ALPHANUMERIC.length);
  let text = "";
  while (text.length < length) {
    for (const byte of random.bytes(length)) {
      if (byte < limit && text.length < length) text += ALPHANUMERIC[byte % ALPHANUMERIC.length];
    }
  }
  return text;
}
