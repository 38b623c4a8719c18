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
