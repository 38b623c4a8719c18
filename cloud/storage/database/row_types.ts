export type { ResourceType } from "./people_schema.ts";
/** What kind of credentials somebody acted with. */
export type ActorType = "api-key" | "robot-secret" | "robot-location-secret" | "user";
/** Who sees a registry item or a fragment: its organisation; everybody; everybody, but no list names it. */
export type Visibility = "private" | "public" | "public_unlisted";
