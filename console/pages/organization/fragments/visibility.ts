import { FragmentVisibility } from "../../../../shared/gen/viam/app/v1/app_pb.ts";
import { fragments as words } from "../../../texts/fragments.ts";
import type { Text } from "../../../texts/text.ts";

/** Who may use a fragment, in words. */
export function visibilityText(visibility: FragmentVisibility): Text {
  if (visibility === FragmentVisibility.PUBLIC) return words.public;
  return visibility === FragmentVisibility.PUBLIC_UNLISTED ? words.unlisted : words.private;
}
