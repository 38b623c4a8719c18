import type { Page } from "./pages.ts";

const PASSWORD_FIELD = { name: "password", type: "password" } as const;
const CODE_FIELD = {
  name: "code",
  type: "text",
  autocomplete: "one-time-code",
  label: "Code of the authenticator, or a recovery code, if you have set one up",
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
    title: "Sign in",
    form: {
      fields: [
        { name: "email", label: "E-mail address", type: "email", autocomplete: "username" },
        { ...PASSWORD_FIELD, label: "Password", autocomplete: "current-password" },
        CODE_FIELD,
        { name: "return_to", label: "", type: "hidden", value: back },
      ],
      button: "Sign in",
      ...(action === undefined ? {} : { action }),
    },
    links: singleSignOn
      ? [{ href: `/account/single-sign-on${onwards}`, text: `Sign in with ${singleSignOn.name}` }]
      : [],
  };
}

/** The form once more, for who has to add a code. */
export function signInCodePage(email: string, back: string): Page {
  const page = signInPage(undefined, back);
  const fields = page.form?.fields.map((field) =>
    field.name === "email" ? { ...field, value: email } : field
  );
  return { ...page, form: { fields: fields ?? [], button: "Sign in" } };
}

/** @param token that of the link */
export function passwordPage(token: string): Page {
  return {
    title: "Set a password",
    texts: ["All open sessions end when it is set."],
    form: {
      fields: [
        { name: "token", label: "", type: "hidden", value: token },
        { ...PASSWORD_FIELD, label: "New password", autocomplete: "new-password" },
      ],
      button: "Set the password",
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
    title: `Join ${organization}`,
    texts: [isKnown ? `Sign in as ${email} to join.` : `Set a password for ${email} to join.`],
    form: {
      fields: [
        { name: "token", label: "", type: "hidden", value: token },
        { ...PASSWORD_FIELD, label: isKnown ? "Password" : "New password", autocomplete },
        ...(isKnown ? [CODE_FIELD] : []),
      ],
      button: "Join",
    },
  };
}
