/** The words of the workspaces' pages. */
import { buttonNames } from "../ui/words.ts"
export const workspacesLabels = {
  title: "Workspaces",
  about: "One for each customer, with its own numbers and keys",
  emptyTitle: "No workspace yet",
  empty: "A workspace holds one customer’s numbers, keys and messages.",
  name: "Name",
  plan: "Plan",
  state: "State",
  made: "Made",
  noPlan: "no plan",
  find: "Find on this page",
  notFound: "No workspace on this page has that name",
  fewerLetters: "Fewer letters find more.",
  disabled: "disabled",
  demo: "demo",
  active: "active",
}

export const newWorkspaceLabels = {
  title: buttonNames.makeWorkspace,
  name: "Name",
  about: "It begins with a plan without limits. Its settings change that.",
  action: "Make the workspace",
}
