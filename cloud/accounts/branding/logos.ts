import { createHash } from "node:crypto";
import type { Queries } from "../../storage/database/cloud_database.ts";

/** Largest logo, bytes: it comes with the sign-in page, before anything else. */
export const MOST_LOGO_BYTES = 200_000;

/** An image as it is served. */
export interface Logo {
  readonly mediaType: string;
  readonly image: Uint8Array;
}

/** First bytes of the images that browsers show and that run no scripts, as SVG would. */
const KINDS: readonly (readonly [mediaType: string, pattern: RegExp])[] = [
  ["image/png", /^\x89PNG\r\n/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/webp", /^RIFF[^]{4}WEBP/],
];

/** The type that an image's first bytes are of; undefined for others than PNG, JPEG and WebP. */
export function mediaTypeOf(image: Uint8Array): string | undefined {
  const head = String.fromCharCode(...image.subarray(0, 16));
  return KINDS.find(([, pattern]) => pattern.test(head))?.[0];
}

/** Logos of organisations, each under a path that changes with the image. */
export class Logos {
  constructor(private readonly queries: Queries) {}

  /** @param logo of one of the types above; undefined takes the logo away */
  async set(orgId: string, logo: Logo | undefined): Promise<void> {
    await this.queries.transaction().execute(async (transaction) => {
      await transaction.deleteFrom("organization_logos").where("org_id", "=", orgId).execute();
      if (!logo) return;
      await transaction.insertInto("organization_logos").values({
        org_id: orgId,
        // Two organisations with the same image have each their own path.
        hash: createHash("sha256").update(orgId).update(logo.image).digest("hex"),
        media_type: logo.mediaType,
        picture: logo.image,
      }).execute();
    });
  }

  /** Where an organisation's logo is served; undefined when it has none. */
  async pathOf(orgId: string): Promise<string | undefined> {
    const row = await this.queries.selectFrom("organization_logos").select("hash")
      .where("org_id", "=", orgId).executeTakeFirst();
    return row && `/logos/${row.hash}`;
  }

  /** That of the cloud's first organisation: whose cloud it is. */
  async pathOfHost(): Promise<string | undefined> {
    const first = await this.queries.selectFrom("organizations").select("id")
      .orderBy("created_at").orderBy("id").executeTakeFirst();
    return first && await this.pathOf(first.id);
  }

  /** Serves an image by the last piece of its path, to anybody. */
  async serve(hash: string): Promise<Response> {
    const row = await this.queries.selectFrom("organization_logos")
      .select(["media_type", "picture"]).where("hash", "=", hash).executeTakeFirst();
    if (!row) return Response.json({ error: "there is no such logo" }, { status: 404 });
    return new Response(new Uint8Array(row.picture), {
      headers: {
        "content-type": row.media_type,
        "cache-control": "public, max-age=31536000, immutable",
        "content-security-policy": "default-src 'none'",
      },
    });
  }
}
