/**
 * What a key does in its workspace. With `--workspace` the operator does the same, so a command need
 * not know who asks.
 */
import type { MessagingClient, OperatorClient } from "@messaging-service/client"
import { usageError } from "./ending.ts"

export interface WorkspaceClient extends Pick<
  MessagingClient,
  "messages" | "reminders" | "media" | "numberChecks"
> {
  readonly chats: MessagingClient["chats"]
  readonly receivedMessages: Pick<MessagingClient["receivedMessages"], "delete" | "list">
  readonly numbers: Pick<MessagingClient["numbers"], "connect" | "get" | "restrictions">
  readonly webhooks: Pick<
    MessagingClient["webhooks"],
    "create" | "delete" | "rotateSecret" | "test"
  >
}

/** Where the operator acts, and as which kind of key. */
export interface CommandTarget {
  readonly workspace: number
  readonly mode?: "live" | "test"
}

/** The place of parsed options; undefined for that of the key. */
export const toTarget = ({
  mode,
  workspace,
}: Readonly<Record<string, unknown>>): CommandTarget | undefined => {
  const kind = mode === "live" || mode === "test" ? mode : undefined
  if (typeof workspace === "number") {
    return { workspace, ...(kind === undefined ? {} : { mode: kind }) }
  }
  if (kind !== undefined) throw usageError("--mode needs --workspace: a key has its own mode")
  return undefined
}

/** The options that name the place in a proposed command. */
export const targetText = (
  target: CommandTarget | undefined,
  { withMode }: { readonly withMode: boolean },
): string => {
  if (target === undefined) return ""
  const mode = withMode && target.mode !== undefined ? ` --mode ${target.mode}` : ""
  return ` --workspace ${target.workspace}${mode}`
}

/** Each operation of version 2, and the operator's for it. */
export const workspaceClient = (
  operator: OperatorClient,
  { workspace: at, ...mode }: CommandTarget,
): WorkspaceClient => {
  const { chats, media, messages, numberChecks, numbers, receivedMessages, reminders, webhooks } =
    operator
  return {
    chats: {
      get: (id, options) => chats.get(at, id, { ...options, ...mode }),
      list: (query, options) => chats.list(at, { ...query, ...mode }, options),
      delete: (id, options) => chats.delete(at, id, { ...options, ...mode }),
      messages: (id, query, options) => chats.messages(at, id, { ...query, ...mode }, options),
      markRead: (id, body, options) => chats.markRead(at, id, body, { ...options, ...mode }),
    },
    receivedMessages: {
      list: (query, options) => receivedMessages.list(at, { ...query, ...mode }, options),
      delete: (id, options) => receivedMessages.delete(at, id, { ...options, ...mode }),
    },
    messages: {
      send: (body, options) => messages.send(at, body, { ...options, ...mode }),
      sendBatch: (body, options) => messages.sendBatch(at, body, { ...options, ...mode }),
      list: (query, options) => messages.list(at, { ...query, ...mode }, options),
      get: (id, options) => messages.get(at, id, { ...options, ...mode }),
      // Of both modes.
      cancel: (id, options) => messages.cancel(at, id, options),
    },
    reminders: {
      create: (body, options) => reminders.create(at, body, { ...options, ...mode }),
      list: (query, options) => reminders.list(at, { ...query, ...mode }, options),
      get: (id, options) => reminders.get(at, id, { ...options, ...mode }),
      update: (id, body, options) => reminders.update(at, id, body, { ...options, ...mode }),
      delete: (id, options) => reminders.delete(at, id, { ...options, ...mode }),
    },
    numbers: {
      connect: (body, options) => numbers.link(at, body, { ...options, ...mode }),
      get: (id, options) => numbers.get(at, id, options),
      restrictions: (id, options) => numbers.restrictions(at, id, { ...options, ...mode }),
    },
    media: {
      upload: (file, options) => media.upload(at, file, { ...options, ...mode }),
      list: (query, options) => media.list(at, { ...query, ...mode }, options),
      get: (id, options) => media.get(at, id, { ...options, ...mode }),
      delete: (id, options) => media.delete(at, id, { ...options, ...mode }),
    },
    numberChecks: {
      create: (body, options) => numberChecks.create(at, body, { ...options, ...mode }),
      list: (query, options) => numberChecks.list(at, { ...query, ...mode }, options),
      get: (id, options) => numberChecks.get(at, id, { ...options, ...mode }),
      results: (id, query, options) => numberChecks.results(at, id, { ...query, ...mode }, options),
    },
    webhooks: {
      create: async (body, options) => ({
        secret: null,
        ...(await webhooks.create(at, body, { ...options, ...mode })),
      }),
      delete: (id, options) => webhooks.delete(at, id, { ...options, ...mode }),
      rotateSecret: (id, options) => webhooks.rotateSecret(at, id, { ...options, ...mode }),
      test: (id, options) => webhooks.test(at, id, { ...options, ...mode }),
    },
  }
}
