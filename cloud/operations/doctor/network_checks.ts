/** What the doctor looks at beyond the data folder. */
import { X509Certificate } from "node:crypto";
import { createTransport } from "nodemailer";
import { describeEnd, ENDS_SOON_MS, inspectPair, type TlsPair } from "../tls/pair.ts";
import { failed, type Finding, ok, warning } from "./check.ts";

const TIMEOUT_MS = 10_000;
const MINUTE_MS = 60_000;
/** Certificates of machines are renewed when less is left of them. */
const AUTHORITY_ENDS_SOON_MS = 30 * 24 * 60 * MINUTE_MS;

/** The authority that issues the certificates of machines. @param pem certificates, the first its own */
export function checkAuthority(pem: string, now: Date): Finding {
  let notAfter;
  try {
    notAfter = new Date(new X509Certificate(pem).validTo);
  } catch {
    return failed("authority", "it has no certificate in PEM", "restore it from a backup");
  }
  const end = `the certificate authority of the machines ${describeEnd(notAfter, now)}`;
  const left = notAfter.getTime() - now.getTime();
  const renew = "put a renewed certificate in its place and restart serve; no certificate of a " +
    "machine lasts longer, and clients have to trust another root";
  if (left <= 0) return failed("authority", end, renew);
  return left < AUTHORITY_ENDS_SOON_MS ? warning("authority", end, renew) : ok("authority", end);
}

/** The cloud's own certificate. */
export function checkTls(pair: TlsPair, publicUrl: string | undefined, now: Date): Finding[] {
  let facts;
  try {
    facts = inspectPair(pair);
  } catch (error) {
    return [failed("tls", (error as Error).message, "name files that belong together")];
  }
  const end = `the certificate ${describeEnd(facts.notAfter, now)}`;
  const left = facts.notAfter.getTime() - now.getTime();
  const renew = "renew it and put the new one in its place: serve takes it without a restart";
  const findings = [
    left <= 0
      ? failed("tls", end, renew)
      : left < ENDS_SOON_MS
      ? warning("tls", end, renew)
      : ok("tls", end),
  ];
  if (facts.notBefore > now) {
    findings.push(
      failed("tls", "the certificate does not count yet", "set the clock of this host"),
    );
  }
  const host = publicUrl && new URL(publicUrl).hostname;
  if (host && !facts.covers(host.replace(/^\[|\]$/g, ""))) {
    findings.push(failed(
      "tls",
      `the certificate is not for ${host}, the host of the public URL`,
      "get one for that name, or name the right one with --public-url",
    ));
  }
  return findings;
}

/** Whether the mail server takes our sign-in. Sends nothing. */
export async function checkSmtp(smtpUrl: string): Promise<Finding> {
  const transport = createTransport(smtpUrl, {
    connectionTimeout: TIMEOUT_MS,
    greetingTimeout: TIMEOUT_MS,
    socketTimeout: TIMEOUT_MS,
  } as object);
  const host = new URL(smtpUrl).host;
  try {
    await transport.verify();
    return ok("smtp", `${host} takes mail from here`);
  } catch (error) {
    return failed(
      "smtp",
      `${host}: ${(error as Error).message}`,
      "check host, port, user and password of --smtp-url, and that no firewall is in between",
    );
  } finally {
    transport.close();
  }
}

/** Whether machines would reach the cloud, and whether its clock agrees with ours. */
export async function checkPublicUrl(url: string, now: () => Date): Promise<Finding[]> {
  let answer: Response;
  try {
    answer = await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(TIMEOUT_MS) });
    await answer.body?.cancel();
  } catch (error) {
    return [failed(
      "public-url",
      `${url} cannot be reached from here: ${(error as Error).message}`,
      "start serve, and check name, port, firewall and certificate; machines need the same",
    )];
  }
  if (answer.status !== 200) {
    return [failed(
      "public-url",
      `${url}/healthz answers ${answer.status}`,
      "something else than machine-cloud listens there, or a proxy does not pass it on",
    )];
  }
  const findings = [ok("public-url", `${url} answers`)];
  const date = Date.parse(answer.headers.get("date") ?? "");
  if (Number.isFinite(date) && Math.abs(date - now().getTime()) > MINUTE_MS) {
    findings.push(warning(
      "clock",
      `${url} says it is ${new Date(date).toISOString()}, this host ${now().toISOString()}`,
      "set both by NTP",
    ));
  }
  return findings;
}
