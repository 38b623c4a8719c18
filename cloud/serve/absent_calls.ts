import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../shared/gen/viam/app/v1/app_pb.ts";

export const NO_BILLING =
  "this cloud bills nobody: it is your own; there is no billing to set or to query";
const NO_RENTAL = "this cloud rents out no rovers";
const NO_PUSH =
  "this cloud sends no notifications to phones; triggers notify by webhook and by e-mail";
const NO_APPS =
  "this cloud serves no web applications of others and is no OAuth issuer for them; it signs people in " +
  "with yours (--oidc-issuer)";
/** Calls of AppService that nothing here acts on, each with what to do instead. */
export const ABSENT_CALLS: Readonly<Partial<Record<keyof ServiceImpl<typeof AppService>, string>>> =
  {
    enableBillingService: NO_BILLING,
    disableBillingService: NO_BILLING,
    updateBillingService: NO_BILLING,
    getBillingServiceConfig: NO_BILLING,
    getRoverRentalRobots: NO_RENTAL,
    uploadDevicePushToken: NO_PUSH,
    deleteDevicePushToken: NO_PUSH,
    getDevicePushTokens: NO_PUSH,
    setFirebaseConfig: NO_PUSH,
    getFirebaseConfig: NO_PUSH,
    deleteFirebaseConfig: NO_PUSH,
    enableAuthService: NO_APPS,
    disableAuthService: NO_APPS,
    createOAuthApp: NO_APPS,
    readOAuthApp: NO_APPS,
    updateOAuthApp: NO_APPS,
    deleteOAuthApp: NO_APPS,
    listOAuthApps: NO_APPS,
    createOAuthAppUser: NO_APPS,
    getAppContent: NO_APPS,
  };

/** Answers UNIMPLEMENTED with the sentence of each; put what does something behind it. */
export function absentCalls(): Partial<ServiceImpl<typeof AppService>> {
  return Object.fromEntries(
    Object.entries(ABSENT_CALLS).map(([name, sentence]) => [
      name,
      () => {
        throw new ConnectError(sentence, Code.Unimplemented);
      },
    ]),
  );
}
