import { create } from "@bufbuild/protobuf";
import { timestampFromMs } from "@bufbuild/protobuf/wkt";
import type { Selectable } from "kysely";
import {
  type AuthenticatorInfo,
  type Fragment,
  type FragmentHistoryEntry,
  FragmentHistoryEntrySchema,
  FragmentSchema,
  type FragmentUsage,
  FragmentUsageSchema,
  FragmentVisibility,
} from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { FragmentRow } from "../../accounts/access/scope.ts";
import type { FragmentRevisionsTable } from "../../storage/database/fragment_schema.ts";
import type { Visibility } from "../../storage/database/schema.ts";
import { parseDocument } from "../configuration/config_document.ts";
import type { Usage } from "./fragment_usage.ts";

export type FragmentRevisionRow = Selectable<FragmentRevisionsTable>;

const VISIBILITIES: Readonly<Record<Visibility, FragmentVisibility>> = {
  private: FragmentVisibility.PRIVATE,
  public: FragmentVisibility.PUBLIC,
  public_unlisted: FragmentVisibility.PUBLIC_UNLISTED,
};

/** Undefined: not said. */
export function visibilityOf(value: FragmentVisibility | undefined): Visibility | undefined {
  const found = Object.entries(VISIBILITIES).find(([, each]) => each === value);
  return found?.[0] as Visibility | undefined;
}

export function toFragment(
  row: FragmentRow,
  revision: { readonly number: number; readonly config: string },
  organization: { readonly name: string; readonly namespace: string | null },
  usage: Usage,
): Fragment {
  return create(FragmentSchema, {
    id: row.id,
    name: row.name,
    fragment: parseDocument(revision.config).value,
    fragmentConfigJson: revision.config,
    organizationOwner: row.org_id,
    organizationName: organization.name,
    ...(organization.namespace === null ? {} : { publicNamespace: organization.namespace }),
    public: row.visibility === "public",
    visibility: VISIBILITIES[row.visibility],
    createdOn: timestampFromMs(row.created_at),
    lastUpdated: timestampFromMs(row.last_updated),
    revision: String(revision.number),
    robotPartCount: usage.parts,
    organizationCount: usage.organizations,
    onlyUsedByOwner: usage.machines === usage.ownMachines,
  });
}

export function toUsageMessage(
  fragmentId: string,
  usage: Usage,
  version?: string,
): FragmentUsage {
  return create(FragmentUsageSchema, {
    fragmentId,
    organizations: usage.organizations,
    machines: usage.machines,
    machinesInCurrentOrg: usage.ownMachines,
    ...(version === undefined ? {} : { version }),
  });
}

/** One save: what was there before it, when and by whom it was replaced. */
export function toFragmentHistoryEntry(
  row: FragmentRow,
  save: FragmentRevisionRow,
  before: FragmentRevisionRow | undefined,
  editedBy: AuthenticatorInfo,
): FragmentHistoryEntry {
  return create(FragmentHistoryEntrySchema, {
    fragment: row.id,
    editedOn: timestampFromMs(save.saved_at),
    editedBy,
    revision: String(save.number),
    config: parseDocument(save.config).value,
    ...(before
      ? {
        old: create(FragmentSchema, {
          id: row.id,
          name: before.name,
          organizationOwner: row.org_id,
          fragment: parseDocument(before.config).value,
          fragmentConfigJson: before.config,
          visibility: VISIBILITIES[before.visibility],
          public: before.visibility === "public",
          lastUpdated: timestampFromMs(before.saved_at),
          revision: String(before.number),
        }),
      }
      : {}),
  });
}
