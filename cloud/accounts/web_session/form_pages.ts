import { withValues } from "../../../shared/rpc/reason_texts.ts";
import { pageTexts } from "./page_texts.ts";
import type { Page } from "./pages.ts";

const PASSWORD_FIELD = { name: "password", type: "password" } as const;
const CODE_FIELD = {
  name: "code",
  type: "text",
  autocomplete: "one-time-code",
  label: pageTexts.code,
} as const;

/**
 * @param back path on this cloud where the browser continues
 * @param action path that the form is sent to, where it is not the page's own
 */
export function signInPage(
  singleSignOn: { readonly name: string } | undefined,
  back: string,
  action?: string,
): Page {
  const onwards = back === "/" ? "" : `?return_to=${encodeURIComponent(back)}`;
  return {
    title: pageTexts.signIn,
    form: {
      fields: [
        { name: "email", label: pageTexts.email, type: "email", autocomplete: "username" },
        { ...PASSWORD_FIELD, label: pageTexts.password, autocomplete: "current-password" },
        CODE_FIELD,
        { name: "return_to", type: "hidden", value: back },
      ],
      button: pageTexts.signIn,
      ...(action === undefined ? {} : { action }),
    },
    links: singleSignOn
      ? [{
        href: `/account/single-sign-on${onwards}`,
        text: withValues(pageTexts.signInWith, { name: singleSignOn.name }),
      }]
      : [],
  };
}

/** The form once more, for who has to add a code. */
export function signInCodePage(email: string, back: string): Page {
  const page = signInPage(undefined, back);
  const fields = page.form?.fields.map((field) =>
    field.name === "email" ? { ...field, value: email } : field
  );
  return { ...page, form: { fields: fields ?? [], button: pageTexts.signIn } };
}

/** @param token that of the link */
export function passwordPage(token: string): Page {
  return {
    title: pageTexts.setPassword,
    texts: [pageTexts.sessionsEnd],
    form: {
      fields: [
        { name: "token", type: "hidden", value: token },
        { ...PASSWORD_FIELD, label: pageTexts.newPassword, autocomplete: "new-password" },
      ],
      button: pageTexts.set,
    },
  };
}

/** @param isKnown the person has a password already */
export function invitationPage(
  token: string,
  email: string,
  organization: string,
  isKnown: boolean,
): Page {
  const autocomplete = isKnown ? "current-password" : "new-password";
  return {
    title: withValues(pageTexts.join, { organization }),
    texts: [withValues(isKnown ? pageTexts.joinKnown : pageTexts.joinNew, { email })],
    form: {
      fields: [
        { name: "token", type: "hidden", value: token },
        {
          ...PASSWORD_FIELD,
          label: isKnown ? pageTexts.password : pageTexts.newPassword,
          autocomplete,
        },
        ...(isKnown ? [CODE_FIELD] : []),
      ],
      button: pageTexts.joinNow,
    },
  };
}
