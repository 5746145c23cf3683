/**
 * The server as tests see it: addresses to connect to, the people behind it, the faults to inject and what
 * has arrived. Reads answer at once; `until` waits until a condition is true.
 */
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"
import { randomBytes } from "node:crypto"
import type { tl } from "@mtcute/node"
import { provider, randomLong } from "./envelope.ts"
import { sharedServerKey } from "./exchange.ts"
import { makeListener } from "./listener.ts"
import {
  editMessage,
  getBox,
  markRead,
  react,
  removeMessages,
  toUpdates,
  writeMessage,
} from "./boxes.ts"
import type { Arrival, Delivery } from "./boxes.ts"
import { attach } from "./files.ts"
import type { Attachment } from "./files.ts"
import { authMethods } from "./methods/auth.ts"
import { fileMethods } from "./methods/files.ts"
import { messageMethods } from "./methods/messages.ts"
import { updateMethods } from "./methods/updates.ts"
import { makeOrders } from "./orders.ts"
import type { CallOrder } from "./orders.ts"
import { makeVerifier } from "./passwords.ts"
import { makeSessions } from "./sessions.ts"
import { endSessions, makeBox, secondsNow, toDigits } from "./ServerState.ts"
import type {
  AuthKey,
  Chat,
  CodeWay,
  DifferenceLimits,
  DisplayedMessage,
  Group,
  Media,
  Message,
  Person,
  ReadMark,
  ServerState,
} from "./ServerState.ts"

export interface ServerOptions {
  /** The application that clients must name. */
  readonly apiId?: number
  readonly apiHash?: string
  /** Real milliseconds for a second of a ping's `disconnect_delay`. Default: 1000. */
  readonly disconnectSecondMillis?: number
}

export interface PersonOptions {
  readonly username?: string
  readonly password?: string
  /** The login code. Default: 12345. */
  readonly code?: string
  /** How the code is sent, at first and at each repeat. Default: to the app. */
  readonly codeWays?: ReadonlyArray<CodeWay>
  /** The account's data centre. Default: the one that clients receive. */
  readonly dcId?: number
  /** Whether others find the account by its phone. Default: true. */
  readonly isFoundByPhone?: boolean
}

export interface AccountSessions {
  /** Authorization keys that are logged in. */
  readonly keys: number
  /** Sessions that receive updates now, and the most of one key at once. */
  readonly open: number
  readonly max: number
  /** How many connections have received updates. */
  readonly started: number
  /** How often clients asked to be closed after a silence (`ping_delay_disconnect`). */
  readonly pings: number
  /** How often a connection spoke while a later one with its key was open: two processes. */
  readonly mixed: number
}

/** The QR code cannot be scanned. */
export class ScanRefused extends Error {
  override readonly name = "ScanRefused"
}

/** What people do with their accounts. */
interface PeopleControls {
  /** Registers an account, forgets an earlier one, and returns its id. */
  readonly person: (phone: string, options?: PersonOptions) => Effect.Effect<number>
  /** Adds a client that is logged in. Returns its key (256 bytes) for the clients' data centre. */
  readonly linkedBefore: (phone: string) => Effect.Effect<Uint8Array>
  /** A person's app scans a login link (`tg://login?token=…`). */
  readonly scan: (phone: string, link: string) => Effect.Effect<void, ScanRefused>
  /** The person ends all of the account's sessions. Calls then fail with 401 and this text. */
  readonly revoke: (phone: string, text?: string) => Effect.Effect<void>
  /** Telegram bans the account. */
  readonly ban: (phone: string) => Effect.Effect<void>
  /** The person takes another username, or none. */
  readonly rename: (phone: string, username: string | null) => Effect.Effect<void>
  /** Sends any updates to the account's clients. */
  readonly notify: (phone: string, updates: tl.TypeUpdates) => Effect.Effect<void>
}

/** What a person's app sends: a text, or more. */
export interface Content {
  readonly text?: string
  readonly entities?: ReadonlyArray<tl.TypeMessageEntity>
  readonly file?: Attachment
  /** What is neither text nor file, such as a place, a contact or a poll. */
  readonly media?: tl.TypeMessageMedia
  readonly replyTo?: Message
  /** The quoted part of that message. Default: all of it. */
  readonly quote?: string
  /** Seconds since 1970. Default: now. */
  readonly date?: number
}

/**
 * What people write in their own apps, and what happens to it there. `by` may be an account of a client: it
 * then writes elsewhere. Every change reaches the clients of all who see it, unless it is `lost`: those ask
 * for it later. `short` sends a text without its people's data.
 */
interface WritingControls {
  /** Default: a small group, where each member has an own copy of each message. */
  readonly group: (
    title: string,
    members: ReadonlyArray<string>,
    kind?: Group["kind"],
  ) => Effect.Effect<Group>
  /** The person is a member no more. */
  readonly leave: (phone: string, group: Group) => Effect.Effect<void>
  readonly write: (
    by: string,
    to: string | Group,
    content: string | Content,
    arrival?: Arrival,
  ) => Effect.Effect<Message>
  readonly edit: (message: Message, text: string, arrival?: Arrival) => Effect.Effect<void>
  /** Removes messages for everyone. */
  readonly remove: (
    messages: Message | ReadonlyArray<Message>,
    arrival?: Arrival,
  ) => Effect.Effect<void>
  /** Null takes the reaction back. When lost, only the message itself has it. */
  readonly react: (
    by: string,
    message: Message,
    emoji: string | null,
    arrival?: Arrival,
  ) => Effect.Effect<void>
  /** The person reads everything that the account, or others in the group, wrote. */
  readonly read: (by: string, from: string | Group, arrival?: Arrival) => Effect.Effect<void>
}

/** What goes wrong. */
interface FaultControls {
  /** Bounds what a client that was away receives. */
  readonly limitDifferences: (limits: Partial<DifferenceLimits>) => Effect.Effect<void>
  /** The box counts from its start again and forgets what clients missed (`updatePtsChanged`). */
  readonly changePts: (phone: string) => Effect.Effect<void>
  /** File references that clients have open nothing more; each message has a new one. */
  readonly expireFileReferences: Effect.Effect<void>
  /** Whether the server postpones imports of contacts from now on. */
  readonly refuseContacts: (isSo: boolean) => Effect.Effect<void>
  /** Writes raw bytes to the account's connections, as a proxy between could. */
  readonly writeBytes: (phone: string, bytes: Uint8Array) => Effect.Effect<void>

  readonly nextCall: (order: CallOrder) => Effect.Effect<void>
  /** Sends the answers that orders held. */
  readonly answerPending: Effect.Effect<void>
  /** How many orders for calls of that account remain. */
  readonly ordersLeft: (phone: string) => number
  /** Cancels the remaining orders. */
  readonly forgetOrders: (phone: string) => Effect.Effect<void>
  /** Refuses all earlier salts from now on. */
  readonly rotateSalts: Effect.Effect<void>
  /** Forgets the account's keys. */
  readonly forgetKeys: (phone: string) => Effect.Effect<void>
  readonly drop: (phone?: string) => Effect.Effect<void>
  /** Open connections stay open but answer nothing more. */
  readonly silence: (phone?: string) => Effect.Effect<void>
  readonly down: Effect.Effect<void>
  readonly up: Effect.Effect<void>
  /** The listeners close and reopen on the same ports. The server keeps keys, not sessions. */
  readonly restart: Effect.Effect<void>
}

/** What has arrived. */
interface Observations {
  /** What a person's phone shows, in order of arrival. */
  readonly shown: (phone: string) => ReadonlyArray<DisplayedMessage>
  /** What phones show of an account's messages, in order of arrival. */
  readonly sentBy: (phone: string) => ReadonlyArray<DisplayedMessage>
  /** How many messages a person's phone shows. */
  readonly copies: (phone: string) => number
  /** All messages of an account, of its clients and other apps, in order. */
  readonly messagesBy: (phone: string) => ReadonlyArray<Message>
  /** The message's id for that account's clients. */
  readonly messageId: (message: Message, phone: string) => number | undefined
  /** What the account's clients have marked as read, in order; `maxId` 0 is the whole chat. */
  readonly readMarks: (phone: string) => ReadonlyArray<ReadMark>
  /** How many calls of that method the server has carried out for the account. */
  readonly calls: (phone: string, method: string) => number
  readonly sessions: (phone: string) => AccountSessions
  /** How many of those accounts have a session that receives updates. */
  readonly online: (phones: ReadonlySet<string>) => number
  /** How many connections are open in total. */
  readonly connections: () => number
  /** How many codes the current login has sent to that phone; 0 without a login. */
  readonly codesSent: (phone: string) => number
  /** What the server did not understand. Tests can require that there is none. */
  readonly complaints: () => ReadonlyArray<string>
}

export interface TelegramServerShape
  extends PeopleControls, WritingControls, FaultControls, Observations {
  /** `host:port`, for `TELEGRAM_DC`. */
  readonly address: string
  readonly port: number
  readonly dcId: number
  /** PEM (PKCS#1), for `TELEGRAM_PUBLIC_KEY`. */
  readonly publicKey: string
  readonly apiId: number
  readonly apiHash: string
  /** Waits for something that changes with what the server does. */
  readonly until: (condition: () => boolean) => Effect.Effect<void>
}

export class TelegramServer extends Context.Service<TelegramServer, TelegramServerShape>()(
  "telegram-server/TelegramServer",
) {
  static readonly layer = (options?: ServerOptions): Layer.Layer<TelegramServer> =>
    Layer.effect(TelegramServer, make(options))
}

/** The data centre that clients receive, and another one. */
const [firstDc, otherDc] = [2, 4]

/** Checks each awaited condition whenever something changes. */
const makeWaiting = () => {
  const waiting = new Set<() => void>()
  const changed = () => {
    for (const check of waiting) check()
  }
  const until = (condition: () => boolean) =>
    Effect.callback<void>((resume) => {
      const check = () => {
        if (!condition()) return
        waiting.delete(check)
        resume(Effect.void)
      }
      waiting.add(check)
      check()
      return Effect.sync(() => waiting.delete(check))
    })
  return { changed, until }
}

const open = ({
  apiHash = "0123456789abcdef0123456789abcdef",
  apiId = 12_345,
  disconnectSecondMillis = 1000,
}: ServerOptions) =>
  Effect.promise(async () => {
    await provider.initialize()
    const { changed, until } = makeWaiting()
    const state: ServerState = {
      apiId,
      apiHash,
      people: new Map(),
      lastId: 1000,
      keys: new Map(),
      codes: new Map(),
      tokens: new Map(),
      orders: makeOrders(),
      ports: new Map([
        [firstDc, 0],
        [otherDc, 0],
      ]),
      groups: [],
      messages: [],
      files: new Map(),
      fileRound: 0,
      limits: { slice: 100, tooLong: Infinity },
      complaints: [],
      disconnectSecondMillis,
      pending: [],
      takesContacts: true,
      changed,
    }
    const serverKey = sharedServerKey()
    const methods = { ...authMethods, ...fileMethods, ...messageMethods, ...updateMethods }
    const sessions = makeSessions(state, serverKey, methods)
    const listener = makeListener(state, sessions.listeners, sessions.open)
    await listener.up()
    return { state, until, serverKey, sessions, listener }
  })

type Opened = Effect.Success<ReturnType<typeof open>>

const makePerson = async (id: number, phone: string, options: PersonOptions): Promise<Person> => ({
  id,
  phone,
  username: options.username ?? null,
  dcId: options.dcId ?? firstDc,
  code: options.code ?? "12345",
  codeWays: options.codeWays ?? ["app"],
  verifier: options.password === undefined ? null : await makeVerifier(options.password),
  isFoundByPhone: options.isFoundByPhone ?? true,
  isBanned: false,
  displayed: [],
  box: makeBox(null),
  seq: 0,
  randomIds: new Set(),
  calls: new Map(),
  readMarks: [],
  readInbox: new Map(),
  readOutbox: new Map(),
  uploads: new Map(),
})

const getPerson = (state: ServerState, phone: string): Person => {
  const found = state.people.get(toDigits(phone))
  if (found === undefined) throw new Error(`no person has the phone ${phone}`)
  return found
}

const getKeys = (state: ServerState, phone: string): ReadonlyArray<AuthKey> =>
  [...state.keys.values()].filter(({ person }) => person === getPerson(state, phone))

/** The open connections of an account, or all of them. */
const getConnections = ({ sessions, state }: Opened, phone?: string) =>
  phone === undefined
    ? [...sessions.open]
    : getKeys(state, phone).flatMap((key) =>
        [...key.sessions.values()].flatMap(({ connection }) => connection ?? []),
      )

const controlPeople = ({ sessions, state }: Opened): PeopleControls => ({
  person: (phone, options = {}) =>
    Effect.promise(async () => {
      const person = await makePerson(++state.lastId, toDigits(phone), options)
      state.people.set(person.phone, person)
      return person.id
    }),
  linkedBefore: (phone) =>
    Effect.sync(() => {
      const bytes = randomBytes(256)
      sessions.addKey(firstDc, bytes, randomLong()).person = getPerson(state, phone)
      return bytes
    }),
  scan: (phone, link) =>
    Effect.suspend(() => {
      const token = state.tokens.get(new URL(link).searchParams.get("token") ?? "")
      if (token === undefined) return Effect.fail(new ScanRefused("no such code is shown"))
      token.by = getPerson(state, phone)
      const update = { _: "updateLoginToken" } as const
      sessions.pushTo(token.keyId, { _: "updateShort", update, date: secondsNow() })
      return Effect.void
    }),
  revoke: (phone, text = "SESSION_REVOKED") =>
    Effect.sync(() => endSessions(state, getPerson(state, phone), text)),
  ban: (phone) =>
    Effect.sync(() => {
      const person = getPerson(state, phone)
      person.isBanned = true
      endSessions(state, person, "USER_DEACTIVATED_BAN")
    }),

  rename: (phone, username) =>
    Effect.sync(() => {
      getPerson(state, phone).username = username
    }),
  notify: (phone, updates) => Effect.sync(() => sessions.push(getPerson(state, phone), updates)),
})

const getChat = (state: ServerState, to: string | Group): Chat =>
  typeof to === "string" ? getPerson(state, to) : to

const toMedia = (state: ServerState, by: Person, { file, media }: Content): Media | null => {
  if (file !== undefined) return attach(state, by.dcId, file)
  return media === undefined ? null : { fileId: null, displayed: null, toMedia: () => media }
}

const controlWriting = ({ sessions, state }: Opened): WritingControls => {
  const delivery: Delivery = { state, push: sessions.push }
  return {
    group: (title, members, kind = "small") =>
      Effect.sync(() => {
        const id = ++state.lastId
        const people = new Set(members.map((phone) => getPerson(state, phone)))
        const common = { id, title, members: people }
        const group: Group =
          kind === "small" ? { kind, ...common } : { kind, ...common, box: makeBox(id) }
        state.groups.push(group)
        return group
      }),
    leave: (phone, group) =>
      Effect.sync(() => {
        const person = getPerson(state, phone)
        group.members.delete(person)
        if (group.kind === "small") return
        const update = { _: "updateChannel", channelId: group.id } as const
        sessions.push(person, toUpdates(person, [group], [update]))
      }),
    write: (by, to, content, arrival = "full") =>
      Effect.sync(() => {
        const input = typeof content === "string" ? { text: content } : content
        const {
          date = secondsNow(),
          entities = [],
          quote = null,
          replyTo = null,
          text = "",
        } = input
        const writer = getPerson(state, by)
        const media = toMedia(state, writer, input)
        const draft = { by: writer, to: getChat(state, to), date, text, entities, media }
        const ids = { randomId: randomLong(), isClients: false }
        return writeMessage(delivery, { ...draft, replyTo, quote, ...ids }, { arrival })
      }),
    edit: (message, text, arrival = "full") =>
      Effect.sync(() => editMessage(delivery, message, { text, entities: [] }, arrival)),
    remove: (messages, arrival = "full") =>
      Effect.sync(() => removeMessages(delivery, [messages].flat(), arrival)),
    react: (by, message, emoji, arrival = "full") =>
      Effect.sync(() => react(delivery, getPerson(state, by), message, emoji, arrival)),
    read: (by, from, arrival = "full") =>
      Effect.sync(() =>
        markRead(delivery, getPerson(state, by), getChat(state, from), null, { arrival }),
      ),
  }
}

const controlFaults = (server: Opened): FaultControls => {
  const { listener, state } = server
  return {
    refuseContacts: (isSo) =>
      Effect.sync(() => {
        state.takesContacts = !isSo
      }),
    limitDifferences: (limits) => Effect.sync(() => void Object.assign(state.limits, limits)),
    changePts: (phone) =>
      Effect.sync(() => {
        const person = getPerson(state, phone)
        const { events, pts } = makeBox(null)
        Object.assign(person.box, { events, pts })
        server.sessions.push(person, toUpdates(person, [], [{ _: "updatePtsChanged" }]))
      }),
    expireFileReferences: Effect.sync(() => {
      state.fileRound++
    }),
    writeBytes: (phone, bytes) =>
      Effect.sync(() => {
        for (const connection of getConnections(server, phone)) connection.write(bytes)
      }),

    nextCall: (order) =>
      Effect.sync(() =>
        state.orders.add(
          order.phone === undefined ? order : { ...order, phone: toDigits(order.phone) },
        ),
      ),
    answerPending: Effect.sync(() => {
      for (const answer of state.pending.splice(0)) answer()
    }),
    ordersLeft: (phone) => state.orders.left(toDigits(phone)),
    forgetOrders: (phone) => Effect.sync(() => state.orders.forget(toDigits(phone))),
    rotateSalts: Effect.sync(() => {
      for (const key of state.keys.values()) key.salts = [randomLong()]
    }),
    forgetKeys: (phone) =>
      Effect.sync(() => {
        for (const { id } of getKeys(state, phone)) state.keys.delete(id)
      }),

    drop: (phone) =>
      Effect.sync(() => {
        for (const connection of getConnections(server, phone)) connection.drop()
      }),
    silence: (phone) =>
      Effect.sync(() => {
        for (const connection of getConnections(server, phone)) connection.isSilent = true
      }),
    down: Effect.promise(listener.down),
    up: Effect.promise(listener.up),
    restart: Effect.promise(async () => {
      await listener.down()
      for (const key of state.keys.values()) key.sessions.clear()
      await listener.up()
    }),
  }
}

const toDisplayed = (message: Message): DisplayedMessage => {
  const { by, entities, media, randomId, replyTo, text, to } = message
  return {
    from: by.phone,
    to: "title" in to ? to.title : to.phone,
    text,
    entities,
    media: media?.displayed ?? null,
    quotes: replyTo === null ? null : (message.quote ?? replyTo.text),
    randomId: randomId.toString(),
  }
}

const observe = ({ sessions, state }: Opened): Observations => ({
  shown: (phone) => getPerson(state, phone).displayed.map(toDisplayed),
  sentBy: (phone) =>
    state.messages.filter(({ by }) => by.phone === toDigits(phone)).map(toDisplayed),
  messagesBy: (phone) => state.messages.filter(({ by }) => by.phone === toDigits(phone)),
  messageId: (message, phone) => message.ids.get(getBox(getPerson(state, phone), message.to)),
  readMarks: (phone) => [...getPerson(state, phone).readMarks],
  copies: (phone) => getPerson(state, phone).displayed.length,
  calls: (phone, method) => getPerson(state, phone).calls.get(method) ?? 0,
  sessions: (phone) => {
    const keys = getKeys(state, phone)
    return {
      keys: keys.length,
      open: keys.reduce((sum, key) => sum + sessions.hearing(key).length, 0),
      max: Math.max(0, ...keys.map(({ max }) => max)),
      started: keys.reduce((sum, { started }) => sum + started, 0),
      pings: keys.reduce((sum, { pings }) => sum + pings, 0),
      mixed: keys.reduce((sum, { mixed }) => sum + mixed, 0),
    }
  },
  online: (phones) => {
    const found = new Set<Person>()
    for (const key of state.keys.values()) {
      const { person } = key
      if (person === null || found.has(person) || !phones.has(person.phone)) continue
      if (sessions.hearing(key).length > 0) found.add(person)
    }
    return found.size
  },
  connections: () => sessions.open.size,
  codesSent: (phone) => {
    const code = state.codes.get(toDigits(phone))
    return code === undefined ? 0 : code.repeats + 1
  },
  complaints: () => [...state.complaints],
})

const controls = (server: Opened): TelegramServerShape => {
  const { serverKey, state, until } = server
  const port = state.ports.get(firstDc) ?? 0
  return {
    address: `127.0.0.1:${port}`,
    port,
    dcId: firstDc,
    publicKey: serverKey.publicPem,
    apiId: state.apiId,
    apiHash: state.apiHash,
    until,
    ...controlPeople(server),
    ...controlWriting(server),
    ...controlFaults(server),
    ...observe(server),
  }
}

export const make = (
  options: ServerOptions = {},
): Effect.Effect<TelegramServerShape, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(open(options), ({ listener }) => Effect.promise(listener.down)),
    controls,
  )
