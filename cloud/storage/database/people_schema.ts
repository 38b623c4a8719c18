import type { ColumnType } from "kysely";
import type { Role } from "../../../shared/rights/roles.ts";

/** Milliseconds since 1970. */
type TimeMs = number;
/** Set when the row is made, never changed. */
type Fixed<T> = ColumnType<T, T, never>;

/** What somebody may have a role on. */
export type ResourceType = "organization" | "location" | "robot";
/** How somebody signed in. */
export type SignInMethod = "password" | "link" | "single sign-on" | "command line";
/** What a one-time link is good for. */
export type LinkPurpose = "sign-in" | "set-password";

export interface UsersTable {
  id: Fixed<string>;
  /** Lower case. */
  email: Fixed<string>;
  name: string;
  /** PHC string; null: no password was set, so none fits. */
  password_hash: string | null;
  created_at: Fixed<TimeMs>;
  last_sign_in_at: TimeMs | null;
  last_seen_at: TimeMs | null;
  /** Rises with each session that ends, which closes the person's connections to machines. */
  session_epoch: number;
  /** Number of the secret of the second factor, which is computed; rises with each set-up. */
  totp_generation: number;
  /** 0 or 1 */
  totp_enabled: number;
  /** When a link to set a password was mailed last. */
  reset_mailed_at: TimeMs | null;
  /** Time step of the last code that was taken: none is taken twice. */
  totp_last_step: number;
}

/** What a person may do, one role on each thing. */
export interface UserGrantsTable {
  user_id: Fixed<string>;
  org_id: Fixed<string>;
  role: Role;
  resource_type: Fixed<ResourceType>;
  resource_id: Fixed<string>;
  created_at: Fixed<TimeMs>;
}

export interface RecoveryCodesTable {
  user_id: Fixed<string>;
  /** SHA-256: the codes are random. */
  hash: Fixed<string>;
}

/** Whom an OpenID Connect issuer calls by which name. */
export interface SingleSignOnIdentitiesTable {
  issuer: Fixed<string>;
  subject: Fixed<string>;
  user_id: Fixed<string>;
  created_at: Fixed<TimeMs>;
}

export interface SessionsTable {
  id: Fixed<string>;
  user_id: Fixed<string>;
  method: Fixed<SignInMethod>;
  /** IP address that signed in, and what the client called itself. */
  address: Fixed<string>;
  client: Fixed<string>;
  created_at: Fixed<TimeMs>;
  last_seen_at: TimeMs;
  expires_at: TimeMs;
  ended_at: TimeMs | null;
}

export interface OneTimeLinksTable {
  /** SHA-256 of what is in the link: that is random. */
  hash: Fixed<string>;
  user_id: Fixed<string>;
  purpose: Fixed<LinkPurpose>;
  created_at: Fixed<TimeMs>;
  expires_at: Fixed<TimeMs>;
}

export interface InvitationsTable {
  org_id: Fixed<string>;
  email: Fixed<string>;
  /** SHA-256 of what is in the newest link. */
  hash: string;
  /** JSON: a list of role, resource and id. */
  grants: string;
  /** Who invited, as history names people and keys. */
  invited_by: Fixed<string>;
  /** 1: accepted when its person signs in the next time. */
  at_sign_in: Fixed<0 | 1>;
  created_at: Fixed<TimeMs>;
  expires_at: TimeMs;
}

/** A small image of each organisation that has set one. */
export interface OrganizationLogosTable {
  org_id: Fixed<string>;
  /** What its path ends in; unique. */
  hash: Fixed<string>;
  media_type: Fixed<string>;
  picture: Fixed<Uint8Array>;
}

export interface FavoriteMachinesTable {
  user_id: Fixed<string>;
  machine_id: Fixed<string>;
  created_at: Fixed<TimeMs>;
}

/** Who did what. Rows are never changed. */
export interface AuditEntriesTable {
  seq: ColumnType<number, never, never>;
  /** Empty: of no organisation, as a person's sign-in is. */
  org_id: Fixed<string>;
  at: Fixed<TimeMs>;
  actor_type: Fixed<string>;
  actor: Fixed<string>;
  /** `Service/Method`, or a word for what is no call. */
  action: Fixed<string>;
  /** JSON object: ids and names that the call was about. Never a secret. */
  target: Fixed<string>;
  address: Fixed<string>;
  client: Fixed<string>;
}

/** The tables of people. */
export interface PeopleTables {
  users: UsersTable;
  user_grants: UserGrantsTable;
  recovery_codes: RecoveryCodesTable;
  single_sign_on_identities: SingleSignOnIdentitiesTable;
  sessions: SessionsTable;
  one_time_links: OneTimeLinksTable;
  invitations: InvitationsTable;
  organization_logos: OrganizationLogosTable;
  favorite_machines: FavoriteMachinesTable;
  audit_entries: AuditEntriesTable;
}
