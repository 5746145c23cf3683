/** The words of the list of workspaces. */
export const workspacesWords = {
  title: "Workspaces",
  about: "One for each customer, with its own numbers and keys",
  emptyTitle: "No workspace yet",
  empty: "A workspace holds one customer’s numbers, keys and messages.",
  name: "Name",
  plan: "Plan",
  state: "State",
  made: "Made",
  noPlan: "no plan",
  disabled: "disabled",
  demo: "demo",
  active: "active",
}
