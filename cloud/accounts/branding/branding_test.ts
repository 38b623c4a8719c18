import assert from "node:assert/strict";
import { Code } from "@connectrpc/connect";
import { AccountService } from "../../../shared/gen/machine/cloud/v1/accounts_pb.ts";
import { failure, TestCloud } from "../../serve/cloud_testing.ts";
import { MOST_LOGO_BYTES } from "./logos.ts";

const PNG = new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 1, 2, 3]);
const JPEG = new Uint8Array([0xff, 0xd8, 0xff, 0xe0, 4, 5, 6]);

const PEER = { address: "127.0.0.1", port: 1, transport: "tcp", local: true } as const;

Deno.test("OrganizationSetLogo() keeps a picture that anybody sees by its address", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const app = cloud.app(made);
  const orgId = made.org_id;
  assert.equal((await app.organizationGetLogo({ orgId })).url, "");

  await app.organizationSetLogo({ orgId, logo: PNG });
  const { url } = await app.organizationGetLogo({ orgId });
  const { pathname } = new URL(url);
  const answer = await cloud.services.logos(pathname.split("/").at(-1) ?? "");
  assert.deepEqual(new Uint8Array(await answer.arrayBuffer()), PNG);
  assert.equal(answer.headers.get("content-type"), "image/png");
  assert.equal(answer.headers.get("content-security-policy"), "default-src 'none'");

  await app.updateOrganization({ organizationId: orgId, publicNamespace: "acme" });
  const branding = await app.getAppBranding({ publicNamespace: "acme", name: "any" });
  assert.equal(branding.logoPath, pathname);
  assert.equal(
    (await failure(app.getAppBranding({ publicNamespace: "other", name: "any" }))).code,
    Code.NotFound,
  );
  assert.equal((await cloud.client(AccountService).listSignInMethods({})).logoPath, pathname);
  const asked = new Request("http://127.0.0.1:8080/account/sign-in");
  const page = await (await cloud.services.accountRoutes(asked, PEER)).text();
  assert.ok(page.includes(`<img src="${pathname}"`), page);

  // Another image has another address, so that browsers request it.
  await app.organizationSetLogo({ orgId, logo: JPEG });
  assert.notEqual((await app.organizationGetLogo({ orgId })).url, url);
  const old = await cloud.services.logos(pathname.split("/").at(-1) ?? "");
  assert.deepEqual([old.status, await old.json()], [404, { error: "there is no such logo" }]);
  await app.organizationSetLogo({ orgId });
  assert.equal((await app.organizationGetLogo({ orgId })).url, "");
});

Deno.test("OrganizationSetLogo() refuses what is no small picture, and changes nothing", async () => {
  await using cloud = await TestCloud.open();
  const made = await cloud.bootstrap();
  const other = await cloud.bootstrap({ organization: "Other" });
  const app = cloud.app(made);
  const orgId = made.org_id;
  await app.organizationSetLogo({ orgId, logo: PNG });
  const { url } = await app.organizationGetLogo({ orgId });

  const svg = new TextEncoder().encode("<svg onload='alert(1)'/>");
  const large = new Uint8Array(MOST_LOGO_BYTES + 1);
  large.set(PNG);
  for (
    const [logo, words] of [[svg, /no PNG, JPEG or WebP/], [large, /200000 are allowed/]] as const
  ) {
    const { code, message } = await failure(app.organizationSetLogo({ orgId, logo }));
    assert.equal(code, Code.InvalidArgument);
    assert.match(message, words);
  }
  const stranger = await failure(cloud.app(other).organizationSetLogo({ orgId, logo: JPEG }));
  assert.equal(stranger.code, Code.NotFound);
  assert.equal((await app.organizationGetLogo({ orgId })).url, url);
});
