import { Buffer } from "node:buffer";
import { generateKeyPairSync } from "node:crypto";

/** A secret key without a password, as `minisign -G -W` writes it. */
export function secretKeyFile(): string {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const last32 = (der: Buffer) => der.subarray(-32);
  const bytes = Buffer.alloc(158);
  bytes.write("Ed\0\0B2", "latin1");
  bytes.write("8bytesid", 54, "latin1");
  last32(privateKey.export({ type: "pkcs8", format: "der" })).copy(bytes, 62);
  last32(publicKey.export({ type: "spki", format: "der" })).copy(bytes, 94);
  return `untrusted comment: minisign encrypted secret key\n${bytes.toString("base64")}\n`;
}
