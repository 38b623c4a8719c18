import { Code } from "@connectrpc/connect";
import {
  answerUrl,
  type AuthorizationRequest,
  authorizationRequest,
} from "../program_sign_in/redirect.ts";
import type { ProgramSignIn, WaitingDevice } from "../program_sign_in/program_sign_in.ts";
import type { Origin, Sessions } from "../sessions/sessions.ts";
import type { CurrentSession, SessionOf } from "./current_session.ts";
import type { HeaderOf } from "./cookies.ts";
import { type Text, withValues } from "../../../shared/rpc/reason_texts.ts";
import { pageTexts } from "./page_texts.ts";
import type { Page } from "./pages.ts";
import { refusal } from "../../../shared/rpc/reasons.ts";

export interface ProgramPagesOptions {
  readonly programs: ProgramSignIn;
  readonly current: CurrentSession;
  readonly sessions: Pick<Sessions, "emailOf">;
}

/** What comes of a request to let a program in. */
export type ProgramAnswer =
  | { readonly kind: "page"; readonly page: Page }
  | { readonly kind: "sign in first" }
  /** The browser brings the answer to the program. */
  | { readonly kind: "onward"; readonly url: string };

const BUTTONS = [
  { name: "decision", value: "allow", text: pageTexts.allow },
  { name: "decision", value: "refuse", text: pageTexts.refuse },
] as const;

/** Pages on which a person who is signed in lets a program in. */
export class ProgramPages {
  constructor(private readonly options: ProgramPagesOptions) {}

  /** `/account/authorize`: for a program on this host. @throws {ConnectError} */
  async authorize(
    value: (name: string) => string | null,
    header: HeaderOf,
    isPost: boolean,
  ): Promise<ProgramAnswer> {
    const { current, programs } = this.options;
    const wanted = authorizationRequest(value);
    if (!wanted) {
      throw refusal(
        "PROGRAM_LINK_WRONG",
        {},
        "this is no request of a program on this computer; sign in with machine login",
        Code.InvalidArgument,
      );
    }
    const person = await current.of(header);
    if (!person) return { kind: "sign in first" };
    if (!isPost) return { kind: "page", page: await this.#authorizePage(wanted, person) };
    if (value("decision") !== "allow") {
      return { kind: "onward", url: answerUrl(wanted, { error: "access_denied" }) };
    }
    const code = programs.grant(person, {
      challenge: wanted.code_challenge,
      redirectUri: wanted.redirect_uri,
    });
    return { kind: "onward", url: answerUrl(wanted, { code }) };
  }

  /** `/account/device`: for a program elsewhere, by the code that it shows. @throws {ConnectError} */
  async device(
    value: (name: string) => string | null,
    header: HeaderOf,
    origin: Origin,
    isPost: boolean,
  ): Promise<ProgramAnswer> {
    const { current, programs } = this.options;
    const person = await current.of(header);
    if (!person) return { kind: "sign in first" };
    const code = value("code") ?? "";
    const decision = value("decision");
    if (code === "") return { kind: "page", page: codePage() };
    if (!isPost || decision === null || decision === "") {
      const waiting = await programs.waiting(code, origin);
      return { kind: "page", page: await this.#devicePage(waiting, person) };
    }
    await programs.decide(code, decision === "allow" ? person : "refused", origin);
    const done = decision === "allow" ? pageTexts.isLetIn : pageTexts.isRefused;
    return { kind: "page", page: { title: pageTexts.done, texts: [done] } };
  }

  async #authorizePage(wanted: AuthorizationRequest, person: SessionOf): Promise<Page> {
    const email = await this.options.sessions.emailOf(person.userId);
    return {
      title: pageTexts.letIn,
      texts: [
        withValues(pageTexts.programHere, { email }),
        pageTexts.refuseHere,
      ],
      form: {
        action: "/account/authorize",
        fields: Object.entries(wanted)
          .map(([name, value]) => ({ name, value, type: "hidden" as const })),
        button: { choices: BUTTONS },
      },
    };
  }

  async #devicePage(device: WaitingDevice, person: SessionOf): Promise<Page> {
    const email = await this.options.sessions.emailOf(person.userId);
    return {
      title: pageTexts.letIn,
      texts: [
        withValues(pageTexts.programElsewhere, {
          ...{ name: device.clientName, address: device.address, code: device.userCode, email },
        }),
        pageTexts.refuseElsewhere,
      ],
      form: {
        action: "/account/device",
        fields: [{ name: "code", value: device.userCode, type: "hidden" }],
        button: { choices: BUTTONS },
      },
    };
  }
}

/** Where the code is typed. */
export function codePage(problem?: Text): Page {
  return {
    title: pageTexts.letIn,
    texts: [pageTexts.typeCode],
    ...(problem === undefined ? {} : { problem }),
    form: {
      action: "/account/device",
      fields: [{ name: "code", label: pageTexts.codeField, type: "text", autocomplete: "off" }],
      button: pageTexts.continue,
    },
  };
}
