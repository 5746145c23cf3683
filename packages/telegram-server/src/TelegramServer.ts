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
import { authMethods } from "./methods/auth.ts"
import { boxUpdates, messageMethods } from "./methods/messages.ts"
import { makeOrders } from "./orders.ts"
import type { CallOrder } from "./orders.ts"
import { makeVerifier } from "./passwords.ts"
import { makeSessions } from "./sessions.ts"
import { addEvent, toDigits, endSessions, toPeer, secondsNow } from "./ServerState.ts"
import type { AuthKey, CodeWay, Person, DisplayedMessage, ServerState } from "./ServerState.ts"

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
  /** The person reads everything that this account sent. `lost`: the update never arrives. */
  readonly read: (by: string, from: string, word?: "lost") => Effect.Effect<void>
  /** The person writes to the account. */
  readonly answer: (by: string, to: string, text: string) => Effect.Effect<void>
  /** The person ends all of the account's sessions. Calls then fail with 401 and this text. */
  readonly revoke: (phone: string, text?: string) => Effect.Effect<void>
  /** Telegram bans the account. */
  readonly ban: (phone: string) => Effect.Effect<void>
  /** The person takes another username, or none. */
  readonly rename: (phone: string, username: string | null) => Effect.Effect<void>
  /** Sends any updates to the account's clients. */
  readonly notify: (phone: string, updates: tl.TypeUpdates) => Effect.Effect<void>
}

/** What goes wrong. */
interface FaultControls {
  /** Whether the server postpones imports of contacts from now on. */
  readonly refuseContacts: (isSo: boolean) => Effect.Effect<void>
  /** Writes raw bytes to the account's connections, as a proxy between could. */
  readonly write: (phone: string, bytes: Uint8Array) => Effect.Effect<void>

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
  readonly sessions: (phone: string) => AccountSessions
  /** How many of those accounts have a session that receives updates. */
  readonly online: (phones: ReadonlySet<string>) => number
  /** How many connections are open in all. */
  readonly connections: () => number
  /** How many codes the current login has sent to that phone; 0 without a login. */
  readonly codesSent: (phone: string) => number
  /** What the server did not understand. Tests can require that there is none. */
  readonly complaints: () => ReadonlyArray<string>
}

export interface TelegramServerShape extends PeopleControls, FaultControls, Observations {
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
      sent: [],
      complaints: [],
      disconnectSecondMillis,
      pending: [],
      takesContacts: true,
      changed,
    }
    const serverKey = sharedServerKey()
    const sessions = makeSessions(state, serverKey, { ...authMethods, ...messageMethods })
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
  events: [],
  lastMessageId: 0,
  sent: new Map(),
  lastTo: new Map(),
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
  read: (by, from, word) =>
    Effect.sync(() => {
      const [reader, sender] = [getPerson(state, by), getPerson(state, from)]
      const maxId = sender.lastTo.get(reader.id)
      if (maxId === undefined) return
      const { update } = addEvent(sender, reader, (pts) => ({
        _: "updateReadHistoryOutbox",
        peer: toPeer(reader),
        maxId,
        pts,
        ptsCount: 1,
      }))
      if (word !== "lost") sessions.push(sender, boxUpdates(sender, reader, update))
    }),
  answer: (by, to, text) =>
    Effect.sync(() => {
      const [writer, reader] = [getPerson(state, by), getPerson(state, to)]
      const id = ++reader.lastMessageId
      const { update } = addEvent(reader, writer, (pts) => ({
        _: "updateNewMessage",
        message: {
          _: "message",
          id,
          peerId: toPeer(writer),
          fromId: toPeer(writer),
          date: secondsNow(),
          message: text,
        },
        pts,
        ptsCount: 1,
      }))
      sessions.push(reader, boxUpdates(reader, writer, update))
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

const controlFaults = (server: Opened): FaultControls => {
  const { listener, state } = server
  return {
    refuseContacts: (isSo) =>
      Effect.sync(() => {
        state.takesContacts = !isSo
      }),
    write: (phone, bytes) =>
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

const observe = ({ sessions, state }: Opened): Observations => ({
  shown: (phone) => [...getPerson(state, phone).displayed],
  sentBy: (phone) => state.sent.filter(({ from }) => from === toDigits(phone)),
  copies: (phone) => getPerson(state, phone).displayed.length,
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
