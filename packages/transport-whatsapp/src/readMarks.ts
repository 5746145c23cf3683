/**
 * Marks messages as read at WhatsApp. A mark names the address under which each message came: for any
 * other address of the person it counts for nothing.
 */
import type { ReadMark, ReadMarkOutcome } from "@messaging-service/core"
import type { BinaryNode, WAMessageKey } from "baileys"
import { Data, Deferred, Effect } from "effect"
import type { Connection } from "./Connection.ts"
import { pauseAfter, unknown } from "./outcomes.ts"

const marked = { _tag: "Marked" } as const

/** How long an open connection may leave a mark without an acknowledgement, in real time. */
const acknowledgedMillis = 5000

/** A query of the library failed. */
class Broken extends Data.TaggedError("Broken")<{ readonly cause: unknown }> {
  override get message() {
    return "a query to WhatsApp failed"
  }
}

/** Of a message that was stored without its address. */
const findAddress = ({ person }: Pick<ReadMark, "person">): string | null => {
  if (person?.lid != null) return `${person.lid}@lid`
  return person?.phone == null ? null : `${person.phone.slice(1)}@s.whatsapp.net`
}

/** The messages as the library names them. */
const toKeys = (mark: ReadMark): ReadonlyArray<WAMessageKey> =>
  mark.messages.flatMap(({ address, remoteId: id }) => {
    if (mark.group !== null) {
      return address === null
        ? []
        : { remoteJid: mark.group, participant: address, id, fromMe: false }
    }
    const remoteJid = address ?? findAddress(mark)
    return remoteJid === null ? [] : { remoteJid, id, fromMe: false }
  })

/** Done once WhatsApp has acknowledged a receipt for each of those chats and authors. */
const awaitAcknowledged = ({ socket }: Connection, keys: ReadonlyArray<WAMessageKey>) =>
  Effect.callback<void>((resume) => {
    // A receipt for several messages of one author carries the id of the first.
    const firsts = new Map<string, string>()
    for (const { id, participant, remoteJid } of keys) {
      const receipt = `${remoteJid} ${participant}`
      if (!firsts.has(receipt)) firsts.set(receipt, id ?? "")
    }
    const waiting = new Set(firsts.values())
    const hear = ({ attrs }: BinaryNode) => {
      waiting.delete(attrs["id"] ?? "")
      if (waiting.size === 0) resume(Effect.void)
    }
    socket.ws.on("CB:ack,class:receipt", hear)
    return Effect.sync(() => void socket.ws.off("CB:ack,class:receipt", hear))
  })

/** Marks over that connection. */
export const markOver = (connection: Connection, mark: ReadMark): Effect.Effect<ReadMarkOutcome> =>
  Effect.gen(function* markMessages() {
    const keys = toKeys(mark)
    if (keys.length === 0) return marked
    const sending = Effect.tryPromise({
      try: () => connection.socket.readMessages([...keys]),
      catch: (cause) => new Broken({ cause }),
    })
    const acknowledged = awaitAcknowledged(connection, keys)
    yield* Effect.all([acknowledged, Effect.asVoid(sending)], { concurrency: 2 }).pipe(
      // It left over a connection that is still open.
      Effect.timeoutOption(acknowledgedMillis),
    )
    return marked
  }).pipe(
    Effect.catchTag("Broken", ({ cause }) => Effect.succeed(pauseAfter(cause) ?? unknown)),
    Effect.raceFirst(Effect.as(Deferred.await(connection.over), unknown)),
  )
