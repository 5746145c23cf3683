/** What the palette offers: pages, workspaces, actions, and what a typed number could mean. */
import { useNavigate } from "@tanstack/react-router"
import type { Workspace } from "@messaging-service/client"
import type { Command } from "./Palette.tsx"
import { consolePages } from "./pages.ts"
import type { WorkspacePage } from "./pages.ts"
import { changeTheme } from "./theme.ts"
import { buttonNames, shellLabels as labels, zoneLabels } from "./words.ts"
import { changeZone, useOtherZone } from "./zone.ts"

interface Position {
  readonly workspaceId: string | undefined
  readonly isOperator: boolean
  readonly pages: ReadonlyArray<WorkspacePage>
  readonly workspaces: ReadonlyArray<Workspace>
  readonly showKeys: () => void
  readonly signOut: () => void
}

const { groups } = labels

/** Phones have at least this many digits, numbers of messages at most one more than that at first. */
const phoneDigitsMin = 7
const messageDigitsMax = 10

/** How a command goes to a page of the open workspace. */
type GoTo = (
  to:
    | WorkspacePage["to"]
    | "/w/$workspaceId/messages/new"
    | "/w/$workspaceId/campaigns/new"
    | "/w/$workspaceId/reminders/new",
  search?: { readonly find?: string; readonly open?: number },
) => void

const ofSending = (goTo: GoTo): ReadonlyArray<Command> => [
  {
    name: buttonNames.newMessage,
    icon: "send",
    group: groups.action,
    keys: "c",
    act: () => goTo("/w/$workspaceId/messages/new"),
  },
  {
    name: buttonNames.newCampaign,
    icon: "campaign",
    group: groups.action,
    act: () => goTo("/w/$workspaceId/campaigns/new"),
  },
  {
    name: buttonNames.newReminder,
    icon: "bell",
    group: groups.action,
    act: () => goTo("/w/$workspaceId/reminders/new"),
  },
]

/** What typed digits could mean. */
const ofDigits = (letters: string, goTo: GoTo): ReadonlyArray<Command> => {
  if (!/^\+?\d{1,20}$/.test(letters)) return []
  const find: Command = {
    name: labels.messagesTo(letters),
    icon: "search",
    group: groups.find,
    act: () => goTo("/w/$workspaceId/messages", { find: letters }),
  }
  const open: Command = {
    name: labels.message(letters),
    icon: "message",
    group: groups.open,
    act: () => goTo("/w/$workspaceId/messages", { open: Number(letters) }),
  }
  if (letters.startsWith("+") || letters.length > messageDigitsMax) return [find]
  return letters.length < phoneDigitsMin ? [open] : [open, find]
}

export const useCommands = ({
  isOperator,
  pages,
  showKeys,
  signOut,
  workspaceId,
  workspaces,
}: Position) => {
  const navigate = useNavigate()
  const otherZone = useOtherZone()
  const goTo: GoTo = (to, search = {}) => {
    if (workspaceId !== undefined) void navigate({ to, params: { workspaceId }, search })
  }
  const ofPages = pages.map(({ buttons = [], icon, key, name, to }): Command => ({
    name,
    also: buttons,
    icon,
    group: groups.page,
    keys: `g ${key}`,
    act: () => goTo(to),
  }))
  const ofConsole = consolePages.map(({ buttons, icon, name, to }): Command => ({
    name,
    also: buttons,
    icon,
    group: groups.page,
    act: () => void navigate({ to }),
  }))
  const ofWorkspaces = workspaces.map(({ id, name }): Command => ({
    name,
    icon: "switch",
    group: labels.workspaceId(id),
    act: () => void navigate({ to: "/w/$workspaceId", params: { workspaceId: String(id) } }),
  }))
  const commands: ReadonlyArray<Command> = [
    ...(workspaceId === undefined ? [] : [...ofSending(goTo), ...ofPages]),
    ...(isOperator ? ofConsole : []),
    ...ofWorkspaces,
    { name: labels.changeTheme, icon: "half", group: groups.action, act: changeTheme },
    ...(otherZone === null
      ? []
      : [
          {
            name: zoneLabels.change(otherZone),
            icon: "clock" as const,
            group: groups.action,
            act: changeZone,
          },
        ]),
    { name: labels.showKeys, icon: "keyboard", group: groups.action, keys: "?", act: showKeys },
    { name: labels.signOut, icon: "exit", group: groups.action, act: signOut },
  ]
  const guess = (letters: string) => (workspaceId === undefined ? [] : ofDigits(letters, goTo))
  return { commands, guess, goTo }
}
