/** How much of requests may wait here: bytes that have come and that no handler has used up yet. */
import type { RequestAccount } from "./request_account.ts";
import { Code, type ConnectError } from "@connectrpc/connect";
import { addressBlock } from "./address_block.ts";
import type { Peer } from "./peer.ts";
import { refusal } from "../reasons.ts";

const MIB = 1024 * 1024;

/** Bytes of requests that may wait. */
export interface RequestLimits {
  readonly perConnection: number;
  /** From one address, or one IPv6 network of 64 bits; callers on this host are not counted. */
  readonly perAddress: number;
  readonly total: number;
}

/** Of calls that need no token, and of those whose token is not verified yet. */
const OPEN_REQUESTS: RequestLimits = {
  perConnection: MIB,
  perAddress: 4 * MIB,
  total: 32 * MIB,
};

/** Of calls that were let in: four messages of the largest size on a connection, or many smaller ones. */
const LET_IN_REQUESTS: RequestLimits = {
  perConnection: 128 * MIB,
  perAddress: 256 * MIB,
  total: 512 * MIB,
};

/** The accounts of one connection. */
export interface RequestAccounts {
  /** For calls that need no token, or are not decided yet. */
  readonly open: RequestAccount;
  readonly letIn: RequestAccount;
  /** The connection is closed. What its calls still hold counts until they give it back. */
  close(): void;
}

/** What all connections of a process, or of one of its transports, hold of requests. */
export class RequestBudgets {
  readonly #open: RequestBudget;
  readonly #letIn: RequestBudget;

  /** Default: {@link OPEN_REQUESTS} and {@link LET_IN_REQUESTS}. */
  constructor(limits: { open?: RequestLimits; letIn?: RequestLimits } = {}) {
    this.#open = new RequestBudget(limits.open ?? OPEN_REQUESTS);
    this.#letIn = new RequestBudget(limits.letIn ?? LET_IN_REQUESTS);
  }

  /** Bytes that wait. */
  get held(): { open: number; letIn: number } {
    return { open: this.#open.held, letIn: this.#letIn.held };
  }

  /** Accounts for a connection of this peer. */
  accounts(peer: Pick<Peer, "address" | "local">): RequestAccounts {
    const [open, letIn] = [this.#open.account(peer), this.#letIn.account(peer)];
    return {
      open,
      letIn,
      close: () => {
        open.close();
        letIn.close();
      },
    };
  }
}

/** What one address holds; no map is read for each call. */
interface AddressShare {
  readonly address: string;
  connections: number;
  held: number;
}

class RequestBudget {
  held = 0;
  readonly #addresses = new Map<string, AddressShare>();

  constructor(readonly limits: RequestLimits) {}

  account({ address, local }: Pick<Peer, "address" | "local">): Account {
    return new Account(this, local ? undefined : this.#share(addressBlock(address)));
  }

  /** Keeps no address that has nothing here. */
  forget(share: AddressShare): void {
    if (share.connections === 0 && share.held === 0) this.#addresses.delete(share.address);
  }

  #share(address: string): AddressShare {
    const share = this.#addresses.get(address) ?? { address, connections: 0, held: 0 };
    share.connections++;
    this.#addresses.set(address, share);
    return share;
  }
}

class Account implements RequestAccount {
  #own = 0;
  #closed = false;

  constructor(
    private readonly budget: RequestBudget,
    private readonly share: AddressShare | undefined,
  ) {}

  take(bytes: number): void {
    const { budget, share } = this;
    const { perConnection, perAddress, total } = budget.limits;
    if (this.#own + bytes > perConnection) throw tooMuch("on this connection");
    if (share && share.held + bytes > perAddress) throw tooMuch("from this address");
    if (budget.held + bytes > total) throw tooMuch("here");
    this.#own += bytes;
    budget.held += bytes;
    if (share) share.held += bytes;
  }

  give(bytes: number): void {
    this.#own -= bytes;
    this.budget.held -= bytes;
    if (!this.share) return;
    this.share.held -= bytes;
    if (this.#closed) this.budget.forget(this.share);
  }

  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    if (!this.share) return;
    this.share.connections--;
    this.budget.forget(this.share);
  }
}

function tooMuch(where: string): ConnectError {
  return refusal(
    "TRY_LATER",
    {},
    `too many bytes of unfinished requests wait ${where}; try again later`,
    Code.ResourceExhausted,
  );
}
