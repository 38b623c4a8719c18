import type { Client } from "@connectrpc/connect";
import type {
  AccountService,
  GetAccountResponse,
} from "../../../shared/gen/machine/cloud/v1/accounts_pb.ts";

/** What each part of the account's page gets. */
export interface PartProps {
  readonly account: GetAccountResponse;
  readonly service: Client<typeof AccountService>;
  /** Requests the account again, after it was changed. */
  readonly load: () => Promise<void>;
}
