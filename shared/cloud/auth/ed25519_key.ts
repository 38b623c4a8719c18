/** A new Ed25519 key pair, extractable: the algorithm of our tokens and release signatures. */
export async function generateEd25519Key(): Promise<CryptoKeyPair> {
  return await crypto.subtle.generateKey("Ed25519", true, ["sign", "verify"]) as CryptoKeyPair;
}

/** The private half as PEM text (PKCS #8), to be kept in a file of mode 0600. */
export async function privateKeyToPem(key: CryptoKey): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.exportKey("pkcs8", key));
  const base64 = btoa(String.fromCharCode(...bytes));
  return `-----BEGIN PRIVATE KEY-----\n${base64}\n-----END PRIVATE KEY-----\n`;
}

/** The reverse of {@link privateKeyToPem}. Throws when the text is no PKCS #8 key of this kind. */
export async function privateKeyFromPem(pem: string): Promise<CryptoKey> {
  const base64 = pem.replace(/-----[A-Z ]+-----/g, "").replace(/\s+/g, "");
  const bytes = Uint8Array.from(atob(base64), (character) => character.charCodeAt(0));
  return await crypto.subtle.importKey("pkcs8", bytes, "Ed25519", true, ["sign"]);
}

/** The public half of an extractable private key. */
export async function publicKeyOf(privateKey: CryptoKey): Promise<CryptoKey> {
  const { kty, crv, x } = await crypto.subtle.exportKey("jwk", privateKey);
  const jwk = { kty, crv, x } as JsonWebKey;
  return await crypto.subtle.importKey("jwk", jwk, "Ed25519", true, ["verify"]);
}
