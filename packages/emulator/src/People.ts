/**
 * The platform of simulated numbers, as people use it: they write, edit, revoke and react, and the platform
 * gives it to the number while that is connected (contract: Emulator controls).
 */
import {
  boundMillis,
  described,
  IdInput,
  Ids,
  inputDecoder,
  InstantInput,
  isKept,
  makeNewReceived,
  wakeForReceived,
  Numbers,
  parsed,
  parsePhone,
  parseUsername,
  phoneDescribed,
  receivedKinds,
  refuse,
  Store,
  textBetween,
  unknownPerson,
  WakeUp,
} from "@messaging-service/core"
import type {
  Failure,
  Incoming,
  IncomingChange,
  Message,
  MessageId,
  Mode,
  NumberId,
  Person,
  ChatContext,
  ReceivedMessage,
  ReceivedMessageId,
  ReceivedOutcome,
  SendingNumber,
  WrittenMessage,
} from "@messaging-service/core"
import { Clock, Effect, Result, Schema } from "effect"
import * as Base64 from "effect/encoding/Base64"
import { makeRestrict } from "./NewChats.ts"
import { simulatedFile } from "./SimulatedTransport.ts"

export const PhoneInput = parsed("invalid_phone", parsePhone, phoneDescribed)

const Digits = textBetween(1, 100).check(
  Schema.makeFilter((text) => (/^[0-9]+$/.test(text) ? undefined : "must have digits only")),
)

/** Who writes or reacts: by exactly one of the addresses. */
const WriterInput = Schema.Struct({
  phone: Schema.optionalKey(PhoneInput),
  lid: described(Schema.optionalKey(Digits), "WhatsApp's other name of an account."),
  username: Schema.optionalKey(textBetween(1, 100)),
  userId: described(Schema.optionalKey(Digits), "Telegram's id of an account."),
  name: described(Schema.optionalKey(textBetween(1, 100)), "What the person calls itself."),
}).check(
  Schema.makeFilter(({ lid, phone, userId, username }) =>
    [lid, phone, userId, username].filter((address) => address !== undefined).length === 1
      ? undefined
      : "must have exactly one of phone, lid, username and user_id",
  ),
)

const PersonInput = described(
  Schema.Union([Schema.Literal("owner"), WriterInput]),
  "A person, or the number's owner on the phone.",
)

const OptionalText = Schema.optionalKey(Schema.NullOr(Schema.String))

const ContentInput = Schema.Union([
  Schema.Struct({
    latitude: Schema.Finite,
    longitude: Schema.Finite,
    name: OptionalText,
    address: OptionalText,
  }),
  Schema.Struct({
    contacts: Schema.Array(
      Schema.Struct({ name: Schema.String, phones: Schema.Array(Schema.String) }),
    ),
  }),
  Schema.Struct({ question: Schema.String, options: Schema.Array(Schema.String) }),
  Schema.Struct({ type: Schema.String }),
])

const QuoteInput = Schema.Struct({
  receivedMessageId: described(Schema.optionalKey(IdInput), "Id of a received message."),
  messageId: described(Schema.optionalKey(IdInput), "What the number has sent."),
}).check(
  Schema.makeFilter(({ messageId, receivedMessageId }) =>
    (messageId === undefined) !== (receivedMessageId === undefined)
      ? undefined
      : "must have exactly one of received_message_id and message_id",
  ),
)

/** 1 MiB in base64. */
const maximumDataLength = 4 * Math.ceil(1024 ** 2 / 3)

export const WriteBody = Schema.Struct({
  from: PersonInput,
  toPhone: described(Schema.optionalKey(PhoneInput), "With `owner`: to whom. Left out in a group."),
  group: described(
    Schema.optionalKey(textBetween(1, 100)),
    "Exact name of the group that it is written in.",
  ),
  text: Schema.optionalKey(Schema.String),
  kind: described(
    Schema.optionalKey(Schema.Literals(receivedKinds)),
    "What it is. Default: `text`, `document` with a file.",
  ),
  content: described(
    Schema.optionalKey(Schema.NullOr(ContentInput)),
    "What the kind has beside its text.",
  ),
  media: described(
    Schema.optionalKey(
      Schema.Struct({
        fileName: Schema.optionalKey(textBetween(1, 255)),
        data: described(
          Schema.String.check(
            Schema.makeFilter(
              (data) =>
                data.length <= maximumDataLength && Result.isSuccess(Base64.decode(data))
                  ? undefined
                  : "must be at most 1 MiB in base64",
              { toJsonSchema: () => ({ maxLength: maximumDataLength }) },
            ),
          ),
          "The file, in base64: up to 1 MiB.",
        ),
      }),
    ),
    "A file that comes with it.",
  ),
  replyTo: described(Schema.optionalKey(QuoteInput), "What it quotes."),
  remoteId: described(
    Schema.optionalKey(textBetween(1, 200)),
    "The platform's id, by which a repeat is recognised; drawn when left out.",
  ),
  sentAt: described(Schema.optionalKey(InstantInput), "The sender's time; now when left out."),
  readable: described(
    Schema.optionalKey(Schema.Boolean),
    "False: the number cannot read it, and asks for a copy. The same `remote_id` again is that copy.",
    { default: true },
  ),
}).annotate({ identifier: "Write" })

export const EditBody = Schema.Struct({ text: Schema.String }).annotate({ identifier: "Edit" })

export const ReactBody = Schema.Struct({
  from: PersonInput,
  emoji: described(Schema.NullOr(textBetween(1, 32)), "Null takes the reaction back."),
}).annotate({ identifier: "React" })

export const AwayBody = Schema.Struct({
  away: described(Schema.Boolean, "True: the connection is lost. False: it is back."),
}).annotate({ identifier: "SetAway" })

const decodeWrite = inputDecoder(WriteBody, { codes: ["invalid_phone", "invalid_datetime"] })
const decodeEdit = inputDecoder(EditBody)
const decodeReact = inputDecoder(ReactBody, { codes: ["invalid_phone"] })
const decodeAway = inputDecoder(AwayBody)

/** Platforms name a username without its `@`: each way to write one is the same person. */
const toBareName = (username: string): string => {
  const target = parseUsername(username)?.target
  return target?.kind === "name" ? target.name : username
}

/** Drawn from the name, so that one who has only that name is the same person each time. */
const getUserId = (username: string): string => {
  const letters = Array.from(username.toLowerCase())
  const hash = letters.reduce(
    (sum, letter) => (sum * 131 + (letter.codePointAt(0) ?? 0)) % 2 ** 40,
    7,
  )
  return String(2 ** 40 + hash)
}

const toPerson = ({ username, ...from }: Partial<Person>): Person => {
  if (username === undefined || username === null) return { ...unknownPerson, ...from }
  const name = toBareName(username)
  return { ...unknownPerson, ...from, username: name, userId: getUserId(name) }
}

/** In which chat it is written. */
const toPlace = (
  input: typeof WriteBody.Type,
  mode: Mode,
): Effect.Effect<ChatContext, Failure<"validation_failed">> => {
  const { from, group = null, toPhone } = input
  const fromMe = from === "owner"
  if (fromMe !== (toPhone !== undefined) && (!fromMe || group === null)) {
    const message = fromMe ? "must be given with owner" : "must be left out"
    return refuse("validation_failed", { field: "toPhone", message: `to_phone: ${message}` })
  }
  const to = toPhone === undefined || group !== null ? null : toPerson({ phone: toPhone })
  const person = from === "owner" ? to : toPerson(from)
  const named = group === null ? null : { remoteId: group, name: group }
  return Effect.succeed({ mode, fromMe, group: named, person })
}

const toContent = (content: (typeof WriteBody.Type)["content"]) =>
  content === undefined || content === null || !("latitude" in content)
    ? (content ?? null)
    : { ...content, name: content.name ?? null, address: content.address ?? null }

const toFile = ({ data, fileName }: NonNullable<(typeof WriteBody.Type)["media"]>) => ({
  mimeType: null,
  size: simulatedFile(data).length,
  fileName: fileName ?? null,
  seconds: null,
  sha256: null,
})

interface Quote {
  readonly remoteId: string
  readonly text: string
}

/** What the platform gives a number, once that is connected. */
const makePlatform = Effect.gen(function* makePlatform() {
  const { chats } = yield* Store
  const numbers = yield* Numbers
  const wakeUp = yield* WakeUp
  const newReceived = yield* makeNewReceived
  /** What came while a number was away, in order. Only this process knows it. */
  const waitingByNumber = new Map<NumberId, Array<Incoming>>()
  let latest = 0

  const give = Effect.fnUntraced(function* give(
    numberId: NumberId,
    incoming: ReadonlyArray<Incoming>,
  ) {
    const now = yield* Clock.currentTimeMillis
    const received = newReceived(numberId, incoming, now)
    return yield* Effect.tap(chats.receive(numberId, received, now), (outcomes) =>
      wakeForReceived(wakeUp, incoming, outcomes),
    )
  })

  return {
    /** Null while the number is away. */
    pass: Effect.fnUntraced(function* pass(numberId: NumberId, incoming: Incoming) {
      const waiting = waitingByNumber.get(numberId)
      if (waiting !== undefined) {
        waiting.push(incoming)
        return null
      }
      const [outcome] = yield* give(numberId, [incoming])
      return outcome ?? null
    }),
    /** The author's time, later than that of everything before: what comes at the same one is a repeat. */
    now: Effect.map(Clock.currentTimeMillis, (now) => (latest = Math.max(now, latest + 1))),
    setAway: Effect.fnUntraced(function* setAway(number: SendingNumber, isAway: boolean) {
      const waiting = waitingByNumber.get(number.id)
      if (isAway === (waiting !== undefined)) return
      if (waiting === undefined) {
        waitingByNumber.set(number.id, [])
        yield* numbers.connectionChanged(number.id, "disconnected", null, "connection_lost")
        return
      }
      yield* numbers.connectionChanged(number.id, "connected", null)
      while (waiting.length > 0) {
        const some = waiting.slice()
        yield* give(number.id, some)
        waiting.splice(0, some.length)
      }
      waitingByNumber.delete(number.id)
    }),
  }
})

type Platform = Effect.Success<typeof makePlatform>

const leavesOutGroups = refuse("validation_failed", {
  field: "group",
  message: "group: the workspace's conversations leave out groups",
})

/** What a person's message has become; null for one that waits, for the number or for a copy. */
export interface Writing {
  readonly remoteId: string
  readonly message: ReceivedMessage | null
  readonly isNew: boolean
}

/** People write to numbers. */
const makeWrite = Effect.fnUntraced(function* makeWrite({ pass }: Platform) {
  const { chats, messages, phones } = yield* Store
  const ids = yield* Ids

  const findQuote = Effect.fnUntraced(function* findQuote(
    number: SendingNumber,
    { messageId, receivedMessageId }: typeof QuoteInput.Type,
  ) {
    const [sent] = messageId === undefined ? [] : yield* messages.byIds([messageId as MessageId])
    if (sent?.from.id === number.id) return { remoteId: sent.transportId, text: sent.text }
    const written =
      receivedMessageId === undefined
        ? null
        : yield* phones.written(receivedMessageId as ReceivedMessageId)
    if (written?.numberId === number.id) {
      return { remoteId: written.message.remoteId, text: written.text }
    }
    return yield* refuse("validation_failed", {
      field: "replyTo",
      message: "reply_to: must name a message of the number",
    })
  })

  const toIncoming = Effect.fnUntraced(function* toIncoming(
    number: SendingNumber,
    input: typeof WriteBody.Type,
  ) {
    const chat = yield* toPlace(input, number.mode)
    const remoteId = input.remoteId ?? ids.hex(20).toUpperCase()
    const now = yield* Clock.currentTimeMillis
    const { media } = input
    const addressed = { ...chat, remoteId, sentAt: boundMillis(input.sentAt) ?? now }
    const quote: Quote | null =
      input.replyTo === undefined ? null : yield* findQuote(number, input.replyTo)
    if (input.readable === false) return { ...addressed, _tag: "Unreadable" as const }
    return {
      ...addressed,
      _tag: "Message" as const,
      kind: input.kind ?? (media === undefined ? "text" : "document"),
      text: input.text ?? "",
      content: toContent(input.content),
      file: media === undefined ? null : toFile(media),
      fileSource: media?.data ?? null,
      quote,
    }
  })

  /** The stored message; null for one that waits. */
  const findStored = Effect.fnUntraced(function* findStored(
    { mode, workspaceId }: SendingNumber,
    outcome: ReceivedOutcome | null,
  ) {
    if (outcome?.became === "dropped") return yield* refuse("conversations_not_enabled")
    if (outcome === null || outcome.id === null) return null
    const scope = { workspaceId, mode, restriction: null }
    const message = yield* chats.getReceived(scope, outcome.id)
    // A repeat of an erased one is not a message.
    return message ?? (yield* refuse("received_message_not_found"))
  })

  return Effect.fn("Emulator.write")(function* write(number: SendingNumber, body: unknown) {
    const input = yield* Effect.fromResult(decodeWrite(body))
    const incoming = yield* toIncoming(number, input)
    const settings = yield* chats.conversations(number.workspaceId)
    if (settings === null) return yield* refuse("conversations_not_enabled")
    if (!isKept(incoming, settings)) return yield* leavesOutGroups
    const outcome = yield* pass(number.id, incoming)
    const message = yield* findStored(number, outcome)
    const written: Writing = {
      remoteId: incoming.remoteId,
      message,
      isNew: outcome?.became === "stored",
    }
    return written
  })
})

/** People change what they wrote, and react. */
const makeChanges = Effect.fnUntraced(function* makeChanges({ now, pass }: Platform) {
  const { chats, messages, numbers, phones } = yield* Store
  const notFound = refuse("received_message_not_found", { inPath: true })

  const find = Effect.fnUntraced(function* find(id: ReceivedMessageId | undefined) {
    const written = id === undefined ? null : yield* phones.written(id)
    const number = written && (yield* numbers.find(written.numberId))
    return written === null || number === null ? yield* notFound : { written, number }
  })

  const read = Effect.fnUntraced(function* read(id: ReceivedMessageId, number: SendingNumber) {
    const { mode, workspaceId } = number
    const message = yield* chats.getReceived({ workspaceId, mode, restriction: null }, id)
    return message ?? (yield* notFound)
  })

  const changed = Effect.fnUntraced(function* changed(
    { numberId, message }: WrittenMessage,
    change: IncomingChange["change"],
  ) {
    const { remoteId, ...place } = message
    yield* pass(numberId, {
      ...place,
      _tag: "Change",
      target: { remoteId, fromMe: place.fromMe },
      isVerified: false,
      change,
      at: yield* now,
    })
  })

  return {
    edit: Effect.fn("Emulator.edit")(function* edit(
      id: ReceivedMessageId | undefined,
      body: unknown,
    ) {
      const { number, written } = yield* find(id)
      const { text } = yield* Effect.fromResult(decodeEdit(body))
      yield* changed(written, { type: "edit", text })
      return yield* read(written.id, number)
    }),
    revoke: Effect.fn("Emulator.revoke")(function* revoke(id: ReceivedMessageId | undefined) {
      const { number, written } = yield* find(id)
      yield* changed(written, { type: "revocation" })
      return yield* read(written.id, number)
    }),
    react: Effect.fn("Emulator.react")(function* react(id: MessageId | undefined, body: unknown) {
      const [message] = id === undefined ? [] : yield* messages.byIds([id])
      if (message === undefined) return yield* refuse("message_not_found", { inPath: true })
      const { emoji, from } = yield* Effect.fromResult(decodeReact(body))
      if ((yield* chats.conversations(message.workspaceId)) === null) {
        return yield* refuse("conversations_not_enabled")
      }
      yield* pass(message.from.id, {
        ...toReactor(message, from),
        _tag: "Change",
        target: { remoteId: message.transportId, fromMe: true },
        isVerified: false,
        change: { type: "reaction", emoji },
        at: yield* now,
      })
      return message
    }),
  }
})

/** Who reacts, in the chat of the message. */
const toReactor = ({ mode, to }: Message, from: "owner" | typeof WriterInput.Type): ChatContext => {
  const group = to.kind === "group" ? { remoteId: to.group, name: to.group } : null
  if (from !== "owner") return { mode, fromMe: false, group, person: toPerson(from) }
  return { mode, fromMe: true, group, person: null }
}

/** What people do on the platform, and what happens to it. */
export const makePeople = Effect.gen(function* makePeople() {
  const { chats } = yield* Store
  const platform = yield* makePlatform
  return {
    write: yield* makeWrite(platform),
    changes: yield* makeChanges(platform),
    restrict: yield* makeRestrict,
    setAway: Effect.fn("Emulator.setAway")(function* setAway(number: SendingNumber, body: unknown) {
      const { away } = yield* Effect.fromResult(decodeAway(body))
      yield* platform.setAway(number, away)
      return away
    }),
    skip: Effect.fn("Emulator.skip")(function* skip({ id, mode, workspaceId }: SendingNumber) {
      if ((yield* chats.conversations(workspaceId)) === null) {
        return yield* refuse("conversations_not_enabled")
      }
      const from = yield* Clock.currentTimeMillis
      yield* platform.pass(id, { _tag: "Gap", mode, reason: "skipped", from })
    }),
  }
})
