/** The words of sign-in, portal links, and addresses without a page. */
export const signInLabels = {
  title: "Sign in to the console",
  about: "For the operators of this service.",
  customer: "Came from a link? Ask its sender for a new one.",
  token: "Operator token",
  signIn: "Sign in",
  away: "The service is not responding.",
  wrong: "Wrong operator token.",
  tooMany: (seconds: number) =>
    `Too many failed attempts from your address. Try again in ${seconds} seconds.`,
  /** Between them: the names of a file and of a variable. */
  where: ["Find the token in the file ", " of the data directory, unless ", " is set."],
  link: "Sign in with this link",
  linkAbout: "Printed at the first start. Works once, within 15 minutes.",
  linkUsed: "That link no longer works. Sign in with the token.",
  keeps: "The token is not stored in this browser.",
}

export const portalLabels = {
  title: "Your workspace is ready",
  about: "This link works once, in this browser.",
  open: "Open the workspace",
  usedTitle: "This link no longer works",
  used: "A link works once and for a short time. Ask the sender for a new one.",
}

export const nowhereLabels = { title: "Page not found", start: "Go home" }
