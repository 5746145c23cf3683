/** The words of sign-in, portal links, and addresses without a page. */
export const signInLabels = {
  title: "Sign in to the console",
  about: "For the people who run this messaging service.",
  customer: "Did you come by a link? Ask its sender for a new one.",
  token: "Operator token",
  signIn: "Sign in",
  away: "The service does not answer.",
  wrong: "That is not this service’s operator token.",
  tooMany: (seconds: number) =>
    `Too many wrong tokens came from your address. Try again in ${seconds} seconds.`,
  /** Between them: the names of a file and of a variable. */
  where: ["The file ", " in the service’s data directory has the token, unless ", " is set."],
  link: "Sign in with this link",
  linkAbout: "The service printed it at its first start. It works once, within 15 minutes.",
  linkUsed: "That link no longer works. Sign in with the token.",
  keeps: "This browser keeps a session, never the token.",
}

export const portalLabels = {
  title: "Your workspace is ready",
  about: "This link works once, in this browser.",
  open: "Open the workspace",
  usedTitle: "This link no longer works",
  used: "A link opens the workspace once, and only for a short time. Ask the sender for a new one.",
}

export const nowhereLabels = { title: "This page does not exist", start: "Go to the start" }
