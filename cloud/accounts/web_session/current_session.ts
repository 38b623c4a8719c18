import type { Identity } from "../../../shared/cloud/auth/identity.ts";
import { SECRET_CLAIM } from "../access/claims.ts";
import { unlessRefused } from "../access/unless_refused.ts";
import type { SessionRow, Sessions } from "../sessions/sessions.ts";
import type { HeaderOf, SessionCookie } from "./cookies.ts";

/** A person's session in a browser. */
export interface SessionOf {
  readonly userId: string;
  readonly sessionId: string;
}

/** Who is signed in, by the cookie of a browser. */
export class CurrentSession {
  constructor(
    private readonly options: {
      readonly cookie: SessionCookie;
      readonly sessions: Sessions;
      /** Whose access token it is; throws for one that counts no more. */
      readonly verifyToken: (token: string) => Promise<Identity>;
    },
  ) {}

  async of(header: HeaderOf): Promise<SessionOf | undefined> {
    const token = this.options.cookie.token(header);
    if (token === undefined) return undefined;
    const identity = await unlessRefused(this.options.verifyToken(token));
    if (identity?.credentialType !== "session") return undefined;
    return { userId: identity.entity, sessionId: identity.claims[SECRET_CLAIM] ?? "" };
  }

  /** Undefined: it has ended. */
  async row({ userId, sessionId }: SessionOf): Promise<SessionRow | undefined> {
    return (await this.options.sessions.list(userId)).find(({ id }) => id === sessionId);
  }

  async isOpen(session: SessionOf): Promise<boolean> {
    return await this.row(session) !== undefined;
  }
}
