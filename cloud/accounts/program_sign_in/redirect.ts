import { z } from "zod";

/** What a program asks the browser to bring it (RFC 6749, 7636 and 8252). */
const requestSchema = z.object({
  // A port of this very host, by address: names can lead elsewhere.
  redirect_uri: z.string().regex(/^http:\/\/(127\.0\.0\.1|\[::1\]):[1-9]\d{0,4}\/[\w./-]{0,100}$/),
  state: z.string().regex(/^[\w.~-]{8,200}$/),
  code_challenge: z.string().regex(/^[\w-]{43}$/),
  code_challenge_method: z.literal("S256"),
});

export type AuthorizationRequest = z.infer<typeof requestSchema>;

/** Undefined: it is none that is answered. */
export function authorizationRequest(
  value: (name: string) => string | null,
): AuthorizationRequest | undefined {
  const fields = Object.keys(requestSchema.shape).map((name) => [name, value(name) ?? undefined]);
  return requestSchema.safeParse(Object.fromEntries(fields)).data;
}

/** Where the browser brings the answer. */
export function answerUrl(
  { redirect_uri: redirectUri, state }: AuthorizationRequest,
  answer: { readonly code: string } | { readonly error: "access_denied" },
): string {
  return `${redirectUri}?${new URLSearchParams({ ...answer, state })}`;
}
