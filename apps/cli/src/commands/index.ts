/** The table of commands, in the order of the help. */
import { any, choice, command, once, text } from "../Command.ts"
import type { Command } from "../Command.ts"
import { complete, scripts } from "../completion.ts"
import { campaignCommands } from "./campaigns.ts"
import { chatCommands, conversationCommands } from "./conversations.ts"
import { figureCommands } from "./figures.ts"
import { followCommands } from "./follow.ts"
import { checkCommands, mediaCommands } from "./media.ts"
import { messageCommands } from "./messages.ts"
import { numberCommands } from "./numbers.ts"
import { phoneCommands } from "./phones.ts"
import { portalCommands } from "./portal.ts"
import { profileCommands } from "./profiles.ts"
import { receiverCommands } from "./receivers.ts"
import { reminderCommands } from "./reminders.ts"
import { restoreCommands } from "./restore.ts"
import { statusCommands } from "./status.ts"
import { telegramCommands } from "./telegram.ts"
import { webhookCommands } from "./webhooks.ts"
import { workspaceCommands } from "./workspaces.ts"

const shells = ["bash", "zsh", "fish"] as const

export const commands: ReadonlyArray<Command> = [
  command({
    name: "me",
    as: "key",
    summary: "Shows the key: its workspace, scopes, plan and limits.",
    run: async (_, { client, output }) => output.one(await client().me()),
  }),
  ...statusCommands,
  ...messageCommands,
  ...chatCommands,
  ...followCommands,
  ...reminderCommands,
  ...numberCommands,
  ...telegramCommands,
  ...mediaCommands,
  ...checkCommands,
  ...campaignCommands,
  ...webhookCommands,
  ...workspaceCommands,
  ...conversationCommands,
  ...figureCommands,
  ...portalCommands,
  ...restoreCommands,
  ...phoneCommands,
  ...receiverCommands,
  ...profileCommands,
  command({
    name: "completion",
    as: "none",
    summary: "Prints a script for shell completion.",
    about: `bash: eval "$(messaging completion bash)"; fish: messaging completion fish | source`,
    arguments: { shell: once(choice(shells, "The shell.")) },
    run: ({ shell }, { machine }) => machine.print(scripts[shell]),
  }),
  command({
    name: "complete",
    as: "none",
    summary: "Prints candidates for the last word, for shells.",
    arguments: { texts: any(text("WORD", "The words so far, behind --.")) },
    run: ({ texts }, { commands: all, machine }) =>
      machine.print(
        complete(texts, all)
          .map((word) => `${word}\n`)
          .join(""),
      ),
  }),
]
