import { app } from "../../api/clients.ts";

/** Whether the viewer owns an organisation, and so its items of the registry. */
export async function mayManage(organizationId: string): Promise<boolean> {
  const { authorizedPermissions } = await app.checkPermissions({
    permissions: [{
      resourceType: "organization",
      resourceId: organizationId,
      permissions: ["manage_registry"],
    }],
  });
  return authorizedPermissions.some(({ permissions }) => permissions.length > 0);
}
