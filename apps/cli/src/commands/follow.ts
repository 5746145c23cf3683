/** `tail` and `events`: what happens, as it happens. */
import type { Message } from "@messaging-service/client"
import {
  any,
  choice,
  command,
  count,
  maybe,
  targetOptions,
  text,
  time,
  workspace,
} from "../Command.ts"
import type { Tools } from "../Command.ts"
import { interruptible } from "../ending.ts"
import { isOver, recipientText } from "./messages.ts"
import { pollDelay, whileRead } from "./polling.ts"

/** Maximum of messages to watch for their end; the oldest ones drop out. */
const maxWatched = 500

const columns = [
  "seen",
  "event",
  ["id", ({ message }: Seen) => message.id],
  ["to", ({ message }: Seen) => recipientText(message.to)],
  ["error", ({ message }: Seen) => message.error?.code],
] as const

interface Seen {
  readonly seen: string
  readonly event: `message.${Message["status"]}`
  readonly message: Message
}

/** Changes of messages since the last look, oldest first. */
const changes = async (
  { caller, machine }: Tools,
  known: Map<number, Message>,
  since: string,
): Promise<{ readonly seen: ReadonlyArray<Seen>; readonly requests: number }> => {
  const found: Array<Message> = []
  const from = oldestOpen(known) ?? since
  const listing = caller().messages.list({ since: from < since ? from : since, limit: 100 })
  let requests = 0
  for await (const { data } of listing.pages()) {
    requests++
    found.push(...data)
    if (found.length >= maxWatched) break
  }
  const seen = new Date(machine.now()).toISOString()
  const changed = found.filter((message) => known.get(message.id)?.status !== message.status)
  for (const message of found) known.set(message.id, message)
  const newest = [...known.keys()].toSorted((a, b) => b - a)
  for (const old of newest.slice(maxWatched)) known.delete(old)
  const received = changed.map((message): Seen => ({
    seen,
    event: `message.${message.status}`,
    message,
  }))
  return { seen: received.toReversed(), requests }
}

/** Creation time of the oldest message that still waits. */
const oldestOpen = (known: ReadonlyMap<number, Message>): string | undefined =>
  [...known.values()]
    .filter((message) => !isOver(message))
    .map(({ created_at }) => created_at)
    .toSorted()[0]

export const followCommands = [
  command({
    name: "tail",
    as: "key or operator",
    summary: "Follows new messages and status changes until Ctrl-C.",
    about:
      "It polls the service every few seconds, less often the more messages wait, with at most 20 of the 60\nrequests a minute. It follows at most the latest 500 messages; webhooks report every one, and at once.",
    options: {
      ...targetOptions,
      since: maybe(time("Also messages created then or later. Default: from now on.")),
      every: maybe(count("SECONDS", "Seconds between polls. Default and minimum: 3.")),
      event: any(
        choice(
          ["queued", "scheduled", "sent", "delivered", "read", "failed", "cancelled", "expired"],
          "Only changes to that status.",
        ),
      ),
    },
    run: async ({ event, every = 3, since }, tools) => {
      const { output, machine } = tools
      const known = new Map<number, Message>()
      // Whole seconds, as the service reports times: this includes messages of the current one.
      const from = since ?? new Date(Math.floor(machine.now() / 1000) * 1000).toISOString()
      const stillWaiting = () => {
        const waiting = [...known.values()].filter((message) => !isOver(message)).length
        return `${waiting} of the followed messages are still waiting`
      }
      const check = async () => {
        const { requests, seen } = await changes(tools, known, from)
        const requested = seen.filter(
          ({ message }) => event.length === 0 || event.includes(message.status),
        )
        for (const change of requested) {
          output.event(change, columns)
        }
        return Math.max(every * 1000, pollDelay(requests))
      }
      await interruptible(machine.signal, stillWaiting, () => whileRead(machine, check))
    },
  }),
  command({
    name: "events",
    as: "operator",
    summary: "Streams a workspace's changes until Ctrl-C, one line per event.",
    about:
      "An event names its topic and the records that changed, for you to read again; none means any of the\ntopic. The program reconnects automatically, and continues after the last event.",
    options: {
      workspace,
      after: maybe(text("EVENT", "Continues after that event, of the last hour at most.")),
    },
    run: async ({ after, workspace: inside }, { machine, operator, output }) => {
      // Following waits for a service that is away, and so for one that is not at this address.
      await operator().workspaces.get(inside)
      const following = operator().follow(inside, {
        signal: machine.signal,
        ...(after === undefined ? {} : { lastEventId: after }),
      })
      for await (const event of following) {
        output.event(event, ["topic", "ids", "id", "now"])
        if ((await machine.written()) !== null) return
      }
    },
  }),
]
