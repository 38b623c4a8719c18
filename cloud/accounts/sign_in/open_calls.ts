import { AccountService } from "../../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { EnrollmentService } from "../../../shared/gen/machine/cloud/v1/enrollment_pb.ts";
import { isOpenToAll } from "../../../shared/cloud/auth/require_auth.ts";

const OPEN = new Set([
  ...["ListSignInMethods", "SignIn", "SignInByLink", "AcceptInvitation"],
  ...["RequestPasswordReset", "SetPassword"],
  ...["ExchangeSignInCode", "StartDeviceSignIn", "FinishDeviceSignIn"],
].map((name) => `/${AccountService.typeName}/${name}`));
// Its token is in the request.
OPEN.add(`/${EnrollmentService.typeName}/Enroll`);

/**
 * Calls of the cloud that need no token: those by which somebody gets one. What the services are is
 * no secret; tools ask before they have a token.
 */
export function needsNoToken(path: string): boolean {
  return isOpenToAll(path) || OPEN.has(path) || path.startsWith("/grpc.reflection.");
}
