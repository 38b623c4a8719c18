import { join } from "node:path";
import { X509Certificate as NodeCertificate } from "node:crypto";
import * as x509 from "@peculiar/x509";
import { writeFileAtomic } from "../../../shared/base/files/atomic_write.ts";
import { toFileError } from "../../../shared/base/files/fs_error.ts";
import { readIfExists } from "../../../shared/base/files/read_file.ts";
import { AUTHORITY_FILE } from "../../storage/data_folder/database_choice.ts";
import { AuthorityError } from "./authority_error.ts";
import type { SharedAuthority } from "./shared_authority.ts";

export { AuthorityError };

/** PEM texts of a certificate and its key. */
export interface CertificatePair {
  /** With what is between it and the root. */
  readonly certificate: string;
  /** PKCS #8. */
  readonly key: string;
}

/** Files of the operator's own. */
export interface AuthorityFiles {
  readonly certificate: string;
  readonly key: string;
}

const DAY_MS = 86_400_000;
const AUTHORITY_DAYS = 3_650;
/** Certificates are made again while this is left of them, see `MachineCertificates`. */
const CERTIFICATE_DAYS = 90;
/** Clocks of machines may be behind. */
const BACKDATED_MS = 3_600_000;
const EC = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;

/** Issues the certificates of machines. */
export class CertificateAuthority {
  private constructor(
    /** What others have to trust, PEM: the certificates of the authority. */
    readonly rootPem: string,
    private readonly certificate: x509.X509Certificate,
    private readonly key: CryptoKey,
  ) {}

  /**
   * The authority of a cloud: files of the operator's own, or one that is made at the first start
   * and kept in the data folder, readable by its owner only, or where all processes find it.
   *
   * @throws {AuthorityError} when it cannot be used; {FileError}
   */
  static async open(
    dataDir: string,
    options: {
      readonly files?: AuthorityFiles | undefined;
      readonly shared?: SharedAuthority | undefined;
      readonly now: Date;
    },
  ): Promise<CertificateAuthority> {
    const { files, shared, now } = options;
    if (files) {
      const [certificate, key] = [await read(files.certificate), await read(files.key)];
      return await load(certificate, key, { name: files.certificate, now });
    }
    const path = join(dataDir, AUTHORITY_FILE);
    if (shared) {
      const found = await shared.read() ?? await shared.keep(await ownOrNew(path, now));
      return await load(found, found, { name: "the database", now });
    }
    const kept = await readIfExists(path);
    if (kept !== undefined) return await load(kept, kept, { name: path, now });
    const made = await makeAuthority(now);
    await writeFileAtomic(path, `${made.certificate}\n${made.key}\n`, { mode: 0o600 });
    return await load(made.certificate, made.key, { name: path, now });
  }

  /** @internal */
  static of(rootPem: string, certificate: x509.X509Certificate, key: CryptoKey) {
    return new CertificateAuthority(rootPem, certificate, key);
  }

  /** No certificate that it issues lasts longer. */
  get notAfter(): Date {
    return this.certificate.notAfter;
  }

  /** Distinguishes this authority from one that had its place before. */
  get id(): string {
    return new NodeCertificate(this.certificate.toString("pem")).fingerprint256;
  }

  /**
   * Makes a certificate for a server.
   *
   * @param names DNS names that it is reached by, the first of them its own.
   */
  async issue(
    { names, commonName, now, latest = now }: {
      readonly names: readonly string[];
      /** At most 64 characters. */
      readonly commonName: string;
      readonly now: Date;
      /** What it might be instead, later than `now`: it lasts from then, too. */
      readonly latest?: Date;
    },
  ): Promise<CertificatePair & { readonly notBefore: Date; readonly notAfter: Date }> {
    const keys = await newKeys();
    const notBefore = new Date(now.getTime() - BACKDATED_MS);
    const wanted = new Date(latest.getTime() + CERTIFICATE_DAYS * DAY_MS);
    const notAfter = wanted < this.certificate.notAfter ? wanted : this.certificate.notAfter;
    const made = await x509.X509CertificateGenerator.create({
      serialNumber: serialNumber(),
      subject: `CN=${commonName}`,
      issuer: this.certificate.subjectName,
      notBefore,
      notAfter,
      signingAlgorithm: signingAlgorithm(this.key),
      publicKey: keys.publicKey,
      signingKey: this.key,
      extensions: [
        new x509.BasicConstraintsExtension(false, undefined, true),
        new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
        new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
        new x509.SubjectAlternativeNameExtension(
          names.map((value) => ({ type: "dns", value }) as const),
        ),
        await x509.AuthorityKeyIdentifierExtension.create(this.certificate.publicKey),
        await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      ],
    });
    const between = await this.certificate.isSelfSigned() ? "" : `\n${this.rootPem}`;
    return {
      certificate: `${made.toString("pem")}${between}\n`,
      key: await keyPem(keys.privateKey),
      notBefore,
      notAfter,
    };
  }
}

/** The authority that a folder has from before, or a new one. */
async function ownOrNew(path: string, now: Date): Promise<string> {
  const kept = await readIfExists(path);
  if (kept !== undefined) {
    await load(kept, kept, { name: path, now });
    return kept;
  }
  const { certificate, key } = await makeAuthority(now);
  return `${certificate}\n${key}\n`;
}

async function load(
  certificatePem: string,
  pem: string,
  { name, now }: { name: string; now: Date },
): Promise<CertificateAuthority> {
  const certificates = certificatePem.match(
    /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g,
  ) ?? [];
  const [first = ""] = certificates;
  let certificate: x509.X509Certificate;
  let key: CryptoKey;
  try {
    certificate = new x509.X509Certificate(first);
    key = await readKey(pem, certificate);
  } catch (error) {
    throw new AuthorityError(
      `the certificate authority in ${name} cannot be used: ${
        (error as Error).message
      }. It needs ` +
        "a certificate (PEM) and its key (PKCS #8, PEM; ECDSA P-256 or RSA); without --ca-cert, " +
        "remove the file and the cloud makes a new one, which clients then have to trust",
      { cause: error },
    );
  }
  if (!certificate.getExtension(x509.BasicConstraintsExtension)?.ca) {
    throw new AuthorityError(`the certificate in ${name} is not that of an authority`);
  }
  if (certificate.notAfter <= now) {
    throw new AuthorityError(
      `the certificate authority in ${name} ended ${certificate.notAfter.toISOString()}; renew ` +
        "it, or remove the file and the cloud makes a new one",
    );
  }
  return CertificateAuthority.of(`${certificates.join("\n")}\n`, certificate, key);
}

async function readKey(pem: string, certificate: x509.X509Certificate): Promise<CryptoKey> {
  const text = /-----BEGIN PRIVATE KEY-----([^-]+)-----END PRIVATE KEY-----/.exec(pem)?.[1];
  if (text === undefined) throw new Error("there is no private key");
  const bytes = Uint8Array.fromBase64(text.replace(/\s+/g, ""));
  const { name } = certificate.publicKey.algorithm;
  const algorithm = name === "ECDSA" ? EC : { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" };
  const key = await crypto.subtle.importKey("pkcs8", bytes, algorithm, true, ["sign"]);
  const proof = new TextEncoder().encode("proof");
  const signature = await crypto.subtle.sign(signingAlgorithm(key), key, proof);
  const publicKey = await crypto.subtle.importKey(
    "spki",
    certificate.publicKey.rawData,
    algorithm,
    true,
    ["verify"],
  );
  const fits = await crypto.subtle.verify(signingAlgorithm(key), publicKey, signature, proof);
  if (!fits) throw new Error("the key is not that of the certificate");
  return key;
}

async function makeAuthority(now: Date): Promise<CertificatePair> {
  const keys = await newKeys();
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: "CN=machine-cloud certificate authority",
    notBefore: new Date(now.getTime() - BACKDATED_MS),
    notAfter: new Date(now.getTime() + AUTHORITY_DAYS * DAY_MS),
    signingAlgorithm: EC,
    keys,
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      new x509.KeyUsagesExtension(
        x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign,
        true,
      ),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return { certificate: certificate.toString("pem"), key: await keyPem(keys.privateKey) };
}

async function newKeys(): Promise<CryptoKeyPair> {
  return await crypto.subtle.generateKey(EC, true, ["sign", "verify"]);
}

function signingAlgorithm(key: CryptoKey) {
  return key.algorithm.name === "ECDSA" ? EC : { name: key.algorithm.name, hash: "SHA-256" };
}

async function keyPem(key: CryptoKey): Promise<string> {
  const bytes = new Uint8Array(await crypto.subtle.exportKey("pkcs8", key));
  const lines = bytes.toBase64().match(/.{1,64}/g) ?? [];
  return ["-----BEGIN PRIVATE KEY-----", ...lines, "-----END PRIVATE KEY-----", ""].join("\n");
}

/** 127 bits: positive, and never the same again. */
function serialNumber(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[0] = (bytes[0] ?? 0) & 0x7f | 0x40;
  return bytes.toHex();
}

async function read(path: string): Promise<string> {
  try {
    return await Deno.readTextFile(path);
  } catch (error) {
    throw toFileError(error, "read the file of the certificate authority", path);
  }
}
