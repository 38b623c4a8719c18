import { z } from "zod";
import type { Clock } from "../../../shared/base/time/clock.ts";
import type { Queries } from "../../storage/database/cloud_database.ts";
import type { DerivedSecrets } from "../../storage/keys/derived_secrets.ts";
import { SealedCodes } from "../links/sealed_codes.ts";

const flowSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  /** Path on this cloud where the browser continues. */
  back: z.string(),
  /** Who adds the identity to an account, from which session; left out: somebody signs in. */
  linking: z.object({ userId: z.string(), sessionId: z.string() }).optional(),
});

/** What is kept, in a cookie, of a browser that was sent to the issuer. */
export type Flow = z.infer<typeof flowSchema>;

const secondStepSchema = z.object({ userId: z.string(), back: z.string() });

/** What a page holds of somebody whom the issuer knows, and who still has to give a code. */
export type SecondStep = z.infer<typeof secondStepSchema>;

/** How long a person may take at the issuer. */
export const FLOW_SECONDS = 10 * 60;
const SECOND_STEP_MS = 5 * 60_000;

/** The steps of a sign-in at an issuer. Each counts once, also when it ends on another node. */
export interface FlowSeal {
  readonly flows: SealedCodes<Flow>;
  readonly secondSteps: SealedCodes<SecondStep>;
}

export function flowSeal(
  { secrets, ...options }: {
    readonly queries: Queries;
    readonly clock: Pick<Clock, "now">;
    readonly secrets: Pick<DerivedSecrets, "signInKey">;
  },
): FlowSeal {
  return {
    flows: new SealedCodes({
      ...options,
      key: secrets.signInKey("single sign-on"),
      schema: flowSchema,
      lastsMs: FLOW_SECONDS * 1_000,
    }),
    secondSteps: new SealedCodes({
      ...options,
      key: secrets.signInKey("second step"),
      schema: secondStepSchema,
      lastsMs: SECOND_STEP_MS,
    }),
  };
}
