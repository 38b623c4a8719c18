import { Visibility } from "../../gen/viam/app/v1/app_pb.ts";

/** Who may use an item, as the command line says it. */
export const VISIBILITIES = {
  private: Visibility.PRIVATE,
  public: Visibility.PUBLIC,
  public_unlisted: Visibility.PUBLIC_UNLISTED,
} as const;

/** Who sees an item, as lists say it. */
export const VISIBLE_TO: Readonly<Record<Visibility, string>> = {
  [Visibility.UNSPECIFIED]: "-",
  [Visibility.PRIVATE]: "organisation",
  [Visibility.PUBLIC]: "everybody",
  [Visibility.PUBLIC_UNLISTED]: "who knows it",
};

/** A visibility as options and JSON say it: `private`. */
export function visibilityName(visibility: Visibility): string {
  return Object.entries(VISIBILITIES).find(([, value]) => value === visibility)?.[0] ?? "";
}
