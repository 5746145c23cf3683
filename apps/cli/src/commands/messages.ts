/** Sending messages, and their results. */
import { readFile } from "node:fs/promises"
import { basename } from "node:path"
import { isBlank, isGroupName, parsePhone, parseUsername } from "@messaging-service/core"
import { MessagingError } from "@messaging-service/client"
import type {
  MediaReference,
  Message,
  Recipient,
  Reminder,
  SendMessage,
  SendRecipient,
} from "@messaging-service/client"
import {
  any,
  choice,
  command,
  count,
  flag,
  id,
  link,
  many,
  maybe,
  instant,
  once,
  phoneValue,
  targetOptions,
  text,
  time,
  workspace,
} from "../Command.ts"
import type { Tools, Value } from "../Command.ts"
import { Ended, interruptible, usageError } from "../ending.ts"
import { upload } from "../upload.ts"
import { readInput } from "../Machine.ts"
import { targetText } from "../WorkspaceClient.ts"
import { callerLists, callerDetail, toFields } from "./rows.ts"
import { pollDelay } from "./polling.ts"

const statuses = [
  "queued",
  "scheduled",
  "sent",
  "delivered",
  "read",
  "failed",
  "cancelled",
  "expired",
] as const

/** A recipient in one word; its format says what it is. `name` is where it was given. */
const readRecipient = (value: string, name: string): Recipient => {
  const [, kind, rest = ""] = /^(group|contact):(.*)$/s.exec(value) ?? []
  if (kind === "group" && isGroupName(rest)) return { group: rest }
  if (kind === "contact" && /^[1-9]\d{0,14}$/.test(rest)) return { contact_id: Number(rest) }
  if (parsePhone(value) !== undefined) return { phone: value }
  if (parseUsername(value) !== undefined) return { username: value }
  throw usageError(
    `${name} is a phone with + and a country code, @username, group:NAME or contact:ID`,
  )
}

export const recipient: Value<Recipient> = {
  placeholder: "TO",
  about: "A phone with +, @username, group:NAME or contact:ID.",
  read: readRecipient,
}

export const recipientText = (to: Message["to"] | Reminder["to"]): string => {
  const { chat_id, contact_id, group, phone, username } = to as {
    readonly [name in "phone" | "group" | "username" | "contact_id" | "chat_id"]?:
      | string
      | number
      | null
  }
  if (phone ?? username) return String(phone ?? username)
  if (group !== undefined) return `group:${group}`
  return chat_id === undefined ? `contact:${contact_id}` : `chat:${chat_id}`
}

export const messageColumns = [
  "id",
  "status",
  ["to", ({ to }: Message) => recipientText(to)],
  ["created", "created_at"],
  ["send at", "send_at"],
  ["sent", "sent_at"],
  ["error", ({ error }: Message) => error?.code],
  "text",
] as const

/** Its status is final, except for ticks. */
export const isOver = ({ status }: Message): boolean =>
  status !== "queued" && status !== "scheduled"

/** Maximum of recipients per request. */
const batchSize = 1000

const getRecipients = async (named: ReadonlyArray<Recipient>, file: string | undefined) => {
  if (file === undefined) return named
  return [...named, ...(await readLines(file, readRecipient))]
}

/** The values of a file, one to a line; blank lines have none. A wrong one is named by its line. */
export const readLines = async <A>(
  file: string,
  read: (line: string, name: string) => A,
): Promise<ReadonlyArray<A>> =>
  (await readText(file))
    .split("\n")
    .map((line, at) => [line.trim(), `line ${at + 1} of ${file}`] as const)
    .filter(([line]) => line !== "")
    .map(([line, name]) => read(line, name))

const readText = (file: string): Promise<string> =>
  readFile(file, "utf8").catch((error: Error) => {
    throw usageError(`cannot read ${file}: ${error.message}`)
  })

interface Content {
  readonly text?: string | undefined
  readonly file?: string | undefined
  readonly "media-url"?: string | undefined
  readonly "media-id"?: number | undefined
  readonly "media-type"?: "image" | "file" | undefined
}

/** The text and the media of a message or a reminder. */
export const content = {
  text: maybe(text("TEXT", "The message, or the caption of media; - reads standard input.")),
  file: maybe(text("FILE", "A file to upload and send.")),
  "media-url": maybe(link("A public link to an image or a file.")),
  "media-id": maybe(count("ID", "The id of an uploaded file.")),
  "media-type": maybe(
    choice(["image", "file"], "The type of a link's file, if it does not follow from the link."),
  ),
}

/** The content from those options; uploads a file. With `needsText` media alone are none. */
export const getContent = async (
  input: Content & { readonly "idempotency-key"?: string | undefined },
  tools: Tools,
  { needsText = false } = {},
): Promise<Pick<SendMessage, "text" | "media">> => {
  const { file, "media-id": mediaId, "media-type": type, "media-url": url } = input
  const key = input["idempotency-key"]
  if ([file, mediaId, url].filter((each) => each !== undefined).length > 1) {
    throw usageError("--file, --media-url and --media-id exclude one another")
  }
  if (type !== undefined && url === undefined) throw usageError("--media-type needs --media-url")
  const tokens = await getText(input, tools)
  if (tokens === undefined && needsText) throw usageError("--text is missing")
  if (tokens !== undefined && isBlank(tokens)) throw usageError("--text is blank")
  if ([tokens, file, mediaId, url].every((each) => each === undefined)) {
    throw usageError("give --text, or media with --file, --media-url or --media-id")
  }
  const media: MediaReference | undefined =
    file !== undefined
      ? {
          media_id: (await upload(file, tools, key && `${key}-file`)).id,
          file_name: basename(file),
        }
      : mediaId !== undefined
        ? { media_id: mediaId }
        : url === undefined
          ? undefined
          : { url, ...(type === undefined ? {} : { type }) }
  return toFields({ text: tokens, media })
}

const getText = async (
  { text: tokens }: Content,
  { machine }: Tools,
): Promise<string | undefined> => {
  if (tokens !== "-") return tokens
  return readInput(machine, "the text of --text -")
}

/**
 * Sends to all of them, in parts. After a signal it reports how many messages the service accepted,
 * and how many are uncertain.
 */
const sendParts = async (
  to: ReadonlyArray<SendRecipient>,
  message: Omit<SendMessage, "to">,
  key: string | undefined,
  accepted: ((part: ReadonlyArray<Message>) => Promise<void>) | undefined,
  { caller, output, machine }: Tools,
): Promise<ReadonlyArray<Message>> => {
  const { messages } = caller()
  const sent: Array<Message> = []
  let requests = 0
  const goesOn = () => {
    const more = requests === sent.length ? "" : `, and possibly ${requests - sent.length} more`
    const again =
      key === undefined ? "" : "; repeat the command with the same --idempotency-key to continue"
    return `${sent.length} of ${to.length} messages were accepted${more}${again}`
  }
  await interruptible(machine.signal, goesOn, async () => {
    for (let at = 0; at < to.length; at += batchSize) {
      if (to.length > batchSize) output.progress(`${at} of ${to.length} messages accepted`)
      const part = to.slice(at, at + batchSize)
      const idempotencyKey = key === undefined || at === 0 ? key : `${key}-${at / batchSize + 1}`
      const options = idempotencyKey === undefined ? {} : { idempotencyKey }
      const [only] = part
      requests += part.length
      const created =
        to.length === 1 && only !== undefined
          ? [await messages.send({ to: only, ...message }, options)]
          : await messages.sendBatch({ to: part, ...message }, options)
      sent.push(...created)
      await accepted?.(created)
    }
  })
  return sent
}

/**
 * Waits until none of them waits any more. One list of their creation seconds covers all of them,
 * mostly in one request.
 */
const settle = async (
  sent: ReadonlyArray<Message>,
  open: Set<number>,
  over: Map<number, Message>,
  { caller, output, machine }: Tools,
) => {
  const { messages } = caller()
  const created = sent.map(({ created_at }) => Date.parse(created_at))
  const since = new Date(Math.min(...created)).toISOString()
  const until = new Date(Math.max(...created) + 1000).toISOString()
  for (;;) {
    let requests = 0
    const unread = new Set(open)
    for await (const { data } of messages.list({ since, until, limit: 100 }).pages()) {
      requests++
      for (const message of data) {
        if (!unread.delete(message.id) || !isOver(message)) continue
        open.delete(message.id)
        over.set(message.id, message)
      }
      if (unread.size === 0) break
    }
    if (open.size === 0) return
    output.progress(`${over.size} of ${sent.length} messages finished`)
    await machine.pause(pollDelay(requests))
  }
}

/** Waits for the ends of messages and shows them. A signal ends the waiting, and shows the current state. */
const showEnds = async (sent: ReadonlyArray<Message>, tools: Tools) => {
  const { output, machine } = tools
  const open = new Set(sent.map(({ id: number }) => number))
  const over = new Map<number, Message>()
  const latest = () => sent.map((message) => over.get(message.id) ?? message)
  const until = sent.map(({ send_at }) => send_at ?? "").reduce((a, b) => (a > b ? a : b))
  if (until !== "" && sent.some(({ status }) => status === "scheduled")) {
    const line = `waits until ${until}, when ${sent.length === 1 ? "it is" : "they are"} due; Ctrl-C only ends the waiting`
    output.remark(line, { until })
  }
  const goesOn = () => {
    const waiting = [...open].join(" ")
    return `${open.size} of ${sent.length} messages are still waiting, and continue without this command; messaging cancel ${waiting}${targetText(tools.place, { withMode: false })} cancels them`
  }
  await interruptible(machine.signal, goesOn, () => settle(sent, open, over, tools)).finally(() =>
    output.all(latest(), messageColumns),
  )
  const failed = latest().filter(({ sent_at }) => sent_at === null).length
  if (failed > 0) throw new Ended("failed", `${failed} of ${sent.length} were not sent`)
}

/** A refusal to cancel names the message and its current status. */
const getReported = (message: number) => (error: unknown) => {
  if (!(error instanceof MessagingError) || error.code !== "not_cancellable") throw error
  const { sending, status } = error.details
  const tokens =
    sending === true
      ? `Message ${message} is in flight.`
      : `Message ${message} is ${String(status)}, and no longer waits.`
  throw new MessagingError({ ...error, text: tokens })
}

type Moment = ReturnType<ReturnType<typeof instant>["read"]>

/** A repeat with the same key must be the same message. */
const refuseRelative = (input: {
  readonly at?: Moment | undefined
  readonly expires?: Moment | undefined
}) => {
  for (const name of ["at", "expires"] as const) {
    if (input[name]?.isRelative !== true) continue
    throw usageError(
      `--${name} is an absolute time with --idempotency-key: a repeat from a later moment would be another message`,
    )
  }
}

/** The message to quote, if any. */
const getReply = (
  input: {
    readonly "reply-to"?: number | undefined
    readonly "reply-to-message"?: number | undefined
  },
  recipients: number,
) => {
  const { "reply-to": received_message_id, "reply-to-message": message_id } = input
  if (received_message_id === undefined && message_id === undefined) return undefined
  if (received_message_id !== undefined && message_id !== undefined) {
    throw usageError("--reply-to and --reply-to-message exclude one another")
  }
  if (recipients > 1) throw usageError("--reply-to is for a single recipient")
  return toFields({ received_message_id, message_id })
}

export const messageCommands = [
  command({
    name: "send",
    as: "key or operator",
    summary: "Sends a message to one or more recipients.",
    about:
      "Up to 1,000 recipients are accepted or refused together; more are sent in several parts.\nGive --idempotency-key if the command may run again: accepted messages are not sent twice.",
    options: {
      ...targetOptions,
      to: any(recipient),
      "to-file": maybe(text("FILE", "Recipients, one to a line.")),
      chat: any(count("ID", "A chat of the sending number, where conversations are on.")),
      "reply-to": maybe(count("ID", "A received message of the chat to quote.")),
      "reply-to-message": maybe(count("ID", "A sent message of the chat to quote.")),
      ...content,
      from: maybe(count("ID", "The sending number; required if several are connected.")),
      at: maybe(instant("When to send.")),
      expires: maybe(instant("Not sent after this time.")),
      "idempotency-key": maybe(
        text("KEY", "The command can then be repeated safely within 24 hours."),
      ),
      wait: flag("Waits until it was sent or failed; for up to 20 recipients."),
    },
    run: async (input, tools) => {
      const { output, machine } = tools
      const named = await getRecipients(input.to, input["to-file"])
      const to = [...named, ...input.chat.map((chat_id) => ({ chat_id }))]
      if (to.length === 0) throw usageError("give recipients with --to, --to-file or --chat")
      const reply_to = getReply(input, to.length)
      if (input["idempotency-key"] !== undefined) refuseRelative(input)
      if (input.wait && to.length > 20) throw usageError("--wait is for up to 20 recipients")
      const tokens = await interruptible(
        machine.signal,
        () => "nothing was sent",
        () => getContent(input, tools),
      )
      const message = {
        ...tokens,
        ...toFields({
          from: input.from,
          send_at: input.at?.at,
          expires_at: input.expires?.at,
          reply_to,
        }),
      }
      // Show each part at once: the service may refuse a later part.
      const format = input.wait
        ? undefined
        : (part: ReadonlyArray<Message>) => output.all(part, messageColumns)
      const sent = await sendParts(to, message, input["idempotency-key"], format, tools)
      if (input.wait) await showEnds(sent, tools)
    },
  }),
  callerLists("list", "messages.list", "Lists messages, newest first.", messageColumns, {
    status: any(choice(statuses, "Filters by status.")),
    from: maybe(count("ID", "Only messages of that number.")),
    to: maybe(phoneValue("Only messages to that phone.")),
    since: maybe(time("Only messages created then or later.")),
    until: maybe(time("Created before this time.")),
  }),
  callerDetail("get", "message", "messages.get", "Shows a message.", many),
  command({
    name: "cancel",
    as: "key or operator",
    summary: "Cancels waiting messages: the key's, or a workspace's.",
    arguments: { id: many(id("message")) },
    options: { workspace: targetOptions.workspace },
    run: async (input, { caller, output }) => {
      for (const each of input.id) {
        output.one(await caller().messages.cancel(each).catch(getReported(each)), messageColumns)
      }
    },
  }),
  command({
    name: "messages cancel",
    as: "operator",
    summary: "Cancels waiting messages of a workspace, by id or filter.",
    about: "Prints how many were cancelled, call by call: each cancels at most 1,000.",
    options: {
      workspace,
      status: maybe(choice(["queued", "scheduled"], "Filters by status. Default: both.")),
      from: maybe(count("ID", "Only messages of that number.")),
      to: maybe(phoneValue("Only messages to that phone.")),
      since: maybe(time("Only messages created then or later.")),
      until: maybe(time("Created before this time.")),
      mode: maybe(choice(["live", "test"], "Of the filters. Default: live.")),
    },
    arguments: { ids: any(count("ID", "The messages; instead of filters.")) },
    run: async ({ ids, mode, workspace: inside, ...filter }, { operator, output }) => {
      const filters = Object.entries(filter).filter(([, value]) => value !== undefined)
      if (ids.length > 0 === filters.length > 0) throw usageError("give message ids or filters")
      if (ids.length > 0 && mode !== undefined) throw usageError("--mode is for filters")
      const body =
        ids.length > 0
          ? { ids: [...ids] }
          : { filter: Object.fromEntries(filters), ...(mode === undefined ? {} : { mode }) }
      while (true) {
        const done = await operator().messages.cancelMany(inside, body)
        output.one(done)
        // What is being sent is not waited for twice.
        if (!done.more || done.cancelled === 0) return
      }
    },
  }),
  command({
    name: "messages timeline",
    as: "operator",
    summary: "Shows why a message is waiting, and its timeline.",
    arguments: { id: once(id("message")) },
    options: { workspace },
    run: async ({ id: of, workspace: inside }, { operator, output }) => {
      const timeline = await operator().messages.timeline(inside, of)
      output.one(timeline)
      if (timeline.waiting?.for.length === 0 && timeline.waiting.ahead === 0) {
        output.print("It waits for a worker to take it: messaging status says whether one lives.")
      }
    },
  }),
]
