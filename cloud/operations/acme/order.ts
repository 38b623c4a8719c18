/** The library that speaks ACME. Loaded only where it is requested. */
import * as acme from "acme-client";
import type { Order } from "./acme_certificate.ts";
import { DirectoryError, requireDirectory } from "./directory.ts";

export async function newAccountKey(): Promise<string> {
  return (await acme.crypto.createPrivateEcdsaKey()).toString();
}

/** Orders a certificate with a new key; the account is made at the first time. */
export const order: Order = async (request) => {
  try {
    return await orderOnce(request);
  } catch (error) {
    // What the library says when it got no answer at all, after its attempts.
    if (!(error instanceof TypeError && error.message.includes("reading 'config'"))) throw error;
    throw new DirectoryError(`the ACME server at ${request.directoryUrl} cannot be reached`, {
      cause: error,
    });
  }
};

const orderOnce: Order = async (
  { domains, email, directoryUrl, accountKey, challenges },
) => {
  await requireDirectory(directoryUrl, acme.axios.defaults.httpsAgent);
  const client = new acme.Client({ directoryUrl, accountKey });
  const [key, csr] = await acme.crypto.createCsr(
    { commonName: domains[0] ?? "", altNames: [...domains] },
    await acme.crypto.createPrivateEcdsaKey(),
  );
  const cert = await client.auto({
    csr,
    ...(email === undefined ? {} : { email }),
    termsOfServiceAgreed: true,
    challengePriority: ["http-01"],
    // A name may lead here from outside only.
    skipChallengeVerification: true,
    challengeCreateFn: (_authorization, { token }, answer) => {
      challenges.set(token, answer);
      return Promise.resolve();
    },
    challengeRemoveFn: (_authorization, { token }) => {
      challenges.remove(token);
      return Promise.resolve();
    },
  });
  return { cert, key: key.toString() };
};
