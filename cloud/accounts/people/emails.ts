/** Longest address that mail servers take (RFC 5321). */
const LONGEST = 254;

/** The form under which a person is kept: without spaces around it, in lower case. */
export function normalEmail(email: string): string {
  return email.trim().toLowerCase();
}

/** What is wrong with an e-mail address, for the caller; undefined: nothing. */
export function emailProblem(email: string): string | undefined {
  if (email === "") return "it is missing";
  if (email.length > LONGEST) return `it has more than ${LONGEST} characters`;
  // Whether there is such an address, only a mail to it shows.
  if (!/^[^\s@<>(),;:"\\[\]\p{Cc}]+@[^\s@<>(),;:"\\[\]\p{Cc}]+$/u.test(email)) {
    return `${JSON.stringify(email)} is no e-mail address`;
  }
}
