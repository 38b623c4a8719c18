import { Code, ConnectError, type ServiceImpl } from "@connectrpc/connect";
import type { AppService } from "../../../shared/gen/viam/app/v1/app_pb.ts";
import type { Callers } from "../access/callers.ts";
import { notFound } from "../access/scope.ts";
import { type Logos, mediaTypeOf, MOST_LOGO_BYTES } from "./logos.ts";

export interface BrandingMethodsOptions {
  readonly callers: Pick<Callers, "scope">;
  readonly logos: Logos;
  /** Address of the cloud, without a slash at its end. */
  readonly publicUrl: () => string;
}

/** The calls of AppService about the logo of an organisation. */
export function brandingMethods(
  { callers, logos, publicUrl }: BrandingMethodsOptions,
): Partial<ServiceImpl<typeof AppService>> {
  return {
    /** No bytes take it away. */
    async organizationSetLogo({ orgId, logo }, context) {
      const { id } = await (await callers.scope(context)).organization(orgId, "manage");
      if (logo.length === 0) {
        await logos.set(id, undefined);
        return {};
      }
      if (logo.length > MOST_LOGO_BYTES) {
        throw new ConnectError(
          `logo: it has ${logo.length} bytes; ${MOST_LOGO_BYTES} are allowed. Scale it down: it is ` +
            "shown 40 pixels high",
          Code.InvalidArgument,
        );
      }
      const mediaType = mediaTypeOf(logo);
      if (mediaType === undefined) {
        throw new ConnectError("logo: it is no PNG, JPEG or WebP image", Code.InvalidArgument);
      }
      await logos.set(id, { mediaType, image: logo });
      return {};
    },

    /** An empty address where there is none. */
    async organizationGetLogo({ orgId }, context) {
      const { id } = await (await callers.scope(context)).organization(orgId, "see");
      const path = await logos.pathOf(id);
      return { url: path === undefined ? "" : `${publicUrl()}${path}` };
    },

    /** Applications have no branding of their own: it is their organisation's, whatever the name. */
    async getAppBranding({ publicNamespace }, context) {
      const scope = await callers.scope(context);
      const row = await scope.organizations().selectAll("organizations")
        .where("organizations.namespace", "=", publicNamespace).executeTakeFirst();
      if (!row) throw notFound("organization", publicNamespace);
      const logoPath = await logos.pathOf(row.id);
      return logoPath === undefined ? {} : { logoPath };
    },
  };
}
