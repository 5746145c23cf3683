/** The words of the workspaces' pages. */
import { buttonNames } from "../ui/words.ts"
export const workspacesLabels = {
  title: "Workspaces",
  about: "One per customer, with its own numbers and keys",
  emptyTitle: "No workspaces yet",
  empty: "A workspace holds one customer’s numbers, keys and messages.",
  name: "Name",
  plan: "Plan",
  state: "Status",
  made: "Created",
  noPlan: "no plan",
  find: "Filter this page",
  notFound: "No match on this page",
  fewerLetters: "Try a shorter search.",
  disabled: "disabled",
  demo: "demo",
  active: "active",
}

export const newWorkspaceLabels = {
  title: buttonNames.makeWorkspace,
  name: "Name",
  about: "Starts with an unlimited plan. Change it in Settings.",
  action: buttonNames.makeWorkspace,
}
