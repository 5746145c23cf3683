/** What the palette offers: pages, workspaces, actions, and what a typed number could mean. */
import { useNavigate } from "@tanstack/react-router"
import type { Workspace } from "@messaging-service/client"
import type { Command } from "./Palette.tsx"
import type { WorkspacePage } from "./pages.ts"
import { changeTheme } from "./theme.ts"
import { pageNames, shellWords as words } from "./words.ts"

interface Place {
  readonly workspaceId: string | undefined
  readonly isOperator: boolean
  readonly pages: ReadonlyArray<WorkspacePage>
  readonly workspaces: ReadonlyArray<Workspace>
  readonly showKeys: () => void
  readonly signOut: () => void
}

const { groups } = words

/** Phones have at least this many digits, numbers of messages at most one more than that at first. */
const phoneDigitsMin = 7
const messageDigitsMax = 10

export const useCommands = ({
  isOperator,
  pages,
  showKeys,
  signOut,
  workspaceId,
  workspaces,
}: Place) => {
  const navigate = useNavigate()
  const goTo = (to: WorkspacePage["to"]) => {
    if (workspaceId !== undefined) void navigate({ to, params: { workspaceId } })
  }
  const ofPages = pages.map(({ icon, key, name, to }): Command => ({
    name,
    icon,
    group: groups.page,
    keys: `g ${key}`,
    act: () => goTo(to),
  }))
  const toAllWorkspaces: Command = {
    name: pageNames.workspaces,
    icon: "grid",
    group: groups.page,
    act: () => void navigate({ to: "/workspaces" }),
  }
  const toHeld: Command = {
    name: pageNames.held,
    icon: "pause",
    group: groups.page,
    act: () => void navigate({ to: "/service/held" }),
  }
  const ofWorkspaces = workspaces.map(({ id, name }): Command => ({
    name,
    icon: "switch",
    group: words.workspaceId(id),
    act: () => void navigate({ to: "/w/$workspaceId", params: { workspaceId: String(id) } }),
  }))
  const commands: ReadonlyArray<Command> = [
    ...(workspaceId === undefined ? [] : ofPages),
    ...(isOperator ? [toAllWorkspaces, toHeld] : []),
    ...ofWorkspaces,
    { name: words.changeTheme, icon: "half", group: groups.action, act: changeTheme },
    { name: words.showKeys, icon: "keyboard", group: groups.action, keys: "?", act: showKeys },
    { name: words.signOut, icon: "exit", group: groups.action, act: signOut },
  ]

  const guess = (letters: string): ReadonlyArray<Command> => {
    const hasMessages = pages.some(({ to }) => to === "/w/$workspaceId/messages")
    if (workspaceId === undefined || !hasMessages || !/^\+?\d{1,20}$/.test(letters)) return []
    const to = "/w/$workspaceId/messages" as const
    const params = { workspaceId }
    const find: Command = {
      name: words.messagesTo(letters),
      icon: "search",
      group: groups.find,
      act: () => void navigate({ to, params, search: { find: letters } }),
    }
    const open: Command = {
      name: words.message(letters),
      icon: "message",
      group: groups.open,
      act: () => void navigate({ to, params, search: { open: Number(letters) } }),
    }
    if (letters.startsWith("+") || letters.length > messageDigitsMax) return [find]
    return letters.length < phoneDigitsMin ? [open] : [open, find]
  }
  return { commands, guess, goTo }
}
