/**
 * The server as tests see it: an address to connect to, the people behind it, the faults to inject
 * and what has arrived. Reads answer at once; `until` waits until a condition is true.
 */
import type { AuthenticationCreds } from "baileys"
import { Context, Effect, Layer } from "effect"
import type { Scope } from "effect"
import { makeCertificate } from "./certificate.ts"
import type { Connection } from "./Connection.ts"
import { LinkRefused, makeLinking } from "./linking.ts"
import { listening, makeListener } from "./listener.ts"
import { makeMediaServer } from "./mediaServer.ts"
import { makeMessages } from "./messages.ts"
import type { ReceiptOrder } from "./messages.ts"
import { sharedNoiseKeys } from "./noise.ts"
import { makeOrders } from "./orders.ts"
import type { ClosedChats, ConnectionOutcome, MessageOrder, Step } from "./orders.ts"
import { makePhone } from "./Phone.ts"
import type { PublicMessage } from "./Phone.ts"
import { deviceBundle } from "./queries.ts"
import { freshStanding, setCap, setClosed } from "./restrictions.ts"
import type { Notice } from "./restrictions.ts"
import { silenceLibsignal } from "./quiet.ts"
import { endWith, makeSessions } from "./sessions.ts"
import { accountCalled, toDigits, toLid } from "./ServerState.ts"
import type {
  Account,
  ChatCap,
  Device,
  Group,
  ReadMark,
  ReceiptType,
  ServerState,
} from "./ServerState.ts"
import { makeWritings } from "./writing.ts"
import type { Writing } from "./writing.ts"

export interface ServerOptions {
  /** How many QR codes a client receives for one attempt. */
  readonly qrReferences?: number
  /**
   * Reports one pre-key for a device without any. Its client then makes 5 and not 812 of them, which
   * would take a quarter of a second for each linked number.
   */
  readonly asksForFewPreKeys?: boolean
}

export interface PersonOptions {
  readonly name?: string
  /** Receipts that the phone sends for each message it shows. Default: none. */
  readonly receipts?: ReadonlyArray<ReceiptType>
  /** Whether others receive the account's LID. Default: true. */
  readonly showsLid?: boolean
  readonly needsPasskey?: boolean
}

export interface GroupOptions {
  readonly subject: string
  /** Numbers of people. The first one made the group. */
  readonly participants: ReadonlyArray<string>
  /** Default: none. */
  readonly administrators?: ReadonlyArray<string>
  readonly addressing?: "pn" | "lid"
}

export interface DeviceSessions {
  readonly device: number
  readonly open: number
  /** The most connections that were logged in at once. */
  readonly max: number
  readonly logins: number
}

/** What people do with their phones. */
interface PeopleControls {
  /** Registers a number, and forgets an earlier one with its devices. */
  readonly person: (number: string, options?: PersonOptions) => Effect.Effect<void>
  /** The group's id. */
  readonly group: (options: GroupOptions) => Effect.Effect<string>

  /**
   * Links a device without a connection, and returns the credentials that its client would have
   * stored. `preKeys`: the server has this many one-time keys of it and asks for no others. The
   * client cannot open what is sealed with one of them.
   */
  readonly linkedBefore: (number: string, preKeys?: number) => Effect.Effect<AuthenticationCreds>
  /** A person's phone reads a QR code. Succeeds with the device's id once it is linked. */
  readonly scan: (number: string, qr: string) => Effect.Effect<number, LinkRefused>
  readonly typePairingCode: (number: string, code: string) => Effect.Effect<number, LinkRefused>
  /** Retires this QR code: the client that shows it must make another secret. */
  readonly retireQr: (qr: string) => Effect.Effect<void>
  /** The person removes the linked devices. */
  readonly unlink: (number: string) => Effect.Effect<void>
  /** A new phone, with new keys and no old sessions. */
  readonly reinstall: (number: string) => Effect.Effect<void>
  /** The phone forgets its sessions, so it cannot read the next message and asks for it again. */
  readonly loseSessions: (number: string) => Effect.Effect<void>
  /**
   * A person writes to a number, a group, or `status@broadcast`; every linked device of the readers gets it,
   * and those of the author too. Returns the message's id. What was written by the owner of a number on the
   * phone is a message from that number.
   */
  readonly write: (from: string, to: string, what: string | Writing) => Effect.Effect<string>
  /** The same message once more, readable, with the same id. */
  readonly resend: (from: string, id: string) => Effect.Effect<void>
  /** From now on the link to the message's file answers with this status: 403, 404, 410. */
  readonly endLink: (from: string, id: string, status: number) => Effect.Effect<void>

  /** WhatsApp closes new chats to an account, and tells its devices. Messages to new people get 463. */
  readonly closeNewChats: (
    number: string,
    closed?: ClosedChats,
    notice?: Notice,
  ) => Effect.Effect<void>
  readonly openNewChats: (number: string, notice?: Notice) => Effect.Effect<void>
  readonly capNewChats: (number: string, cap: ChatCap, notice?: Notice) => Effect.Effect<void>

  /** Others take this many of the devices' pre-keys, as when they begin sessions. */
  readonly takePreKeys: (number: string, count: number) => Effect.Effect<void>
  readonly receipt: (
    order: Omit<ReceiptOrder, "by"> & { readonly by: string },
  ) => Effect.Effect<void>
}

/** What goes wrong. */
interface FaultControls {
  readonly refuseNext: (step: Step, code: number, times?: number) => Effect.Effect<void>
  readonly nextConnection: (outcome: ConnectionOutcome, times?: number) => Effect.Effect<void>
  readonly nextMessage: (order: MessageOrder) => Effect.Effect<void>
  /** The next receipts and acks by which devices of that number answer messages get lost on the way. */
  readonly loseAnswers: (number: string, times?: number) => Effect.Effect<void>
  /** How many messages and answers of that number are still to meet an order. */
  readonly ordersLeft: (number: string) => number
  readonly releaseAcks: Effect.Effect<void>

  /** Ends the streams of a number, or all, with a code: 401, 403, 405, 440, 500, 503, 515 … */
  readonly end: (code: number, number?: string) => Effect.Effect<void>
  readonly drop: (number?: string) => Effect.Effect<void>
  /** Sends a frame that cannot be read. */
  readonly garble: (number?: string) => Effect.Effect<void>
  /** Open connections stay open but answer nothing more. */
  readonly silence: (number?: string) => Effect.Effect<void>
  /** The listener closes and reopens on the same port. The server keeps its state. */
  readonly restart: Effect.Effect<void>
  readonly down: Effect.Effect<void>
  readonly up: Effect.Effect<void>
}

/** What has arrived. */
interface Observations {
  readonly sessions: (number: string) => ReadonlyArray<DeviceSessions>
  /** How many clients wait to be linked. */
  readonly unlinked: () => number
  /** What a person's phone shows, in order of arrival, once for each message id. */
  readonly decrypted: (number: string) => ReadonlyArray<PublicMessage>
  /** How many messages a person's phone shows. */
  readonly copies: (number: string) => number
  /** Whether a client has asked for a pairing code for this number. */
  readonly codeRequested: (number: string) => boolean
  /** Receipts that devices of that number have not acknowledged; they receive them again. */
  readonly unheard: (number: string) => number
  /** Ids of messages that devices of that number have not answered; they receive them again. */
  readonly unanswered: (number: string) => ReadonlyArray<string>
  /** Those of them that a device answered with an error. */
  readonly refused: (number: string) => ReadonlyArray<string>
  /** How often devices of that number were sent a message with this id. */
  readonly deliveries: (number: string, id: string) => number
  /** How often devices of that number asked the author for a copy of a message with this id. */
  readonly requestedCopies: (number: string, id: string) => number
  /** What devices of that number have marked as read, in order. */
  readonly readMarks: (number: string) => ReadonlyArray<ReadMark>
  /** How many pre-keys the server has of each device. */
  readonly preKeys: (number: string) => ReadonlyArray<number>
  /** Queries and stanzas that the server does not know. Tests can require that there are none. */
  readonly complaints: () => ReadonlyArray<string>
}

export interface WhatsAppServerShape extends PeopleControls, FaultControls, Observations {
  /** For `waWebSocketUrl`. */
  readonly url: string
  /** The certificate that a client must trust to upload and download. */
  readonly mediaCertificate: string
  readonly mediaHost: string
  /** Waits for something that changes with what the server does. */
  readonly until: (condition: () => boolean) => Effect.Effect<void>
}

export class WhatsAppServer extends Context.Service<WhatsAppServer, WhatsAppServerShape>()(
  "whatsapp-server/WhatsAppServer",
) {
  static readonly layer = (options?: ServerOptions): Layer.Layer<WhatsAppServer> =>
    Layer.effect(WhatsAppServer, make(options))
}

const makeAccount = (number: string, options: PersonOptions): Account => ({
  number,
  name: options.name ?? number,
  pn: `${number}@s.whatsapp.net`,
  lid: toLid(number),
  showsLid: options.showsLid ?? true,
  phone: makePhone(),
  receipts: options.receipts ?? [],
  needsPasskey: options.needsPasskey ?? false,
  standing: freshStanding(),
  devices: new Map(),
  lastDeviceId: 0,
})

const makeState = (
  changed: () => void,
  { asksForFewPreKeys = false }: ServerOptions,
): ServerState => ({
  asksForFewPreKeys,
  accounts: new Map(),
  groups: new Map(),
  lastGroup: 120_363_000_000_000_000n,
  sent: new Map(),
  orders: makeOrders(),
  media: new Map(),
  endedLinks: new Map(),
  complaints: [],
  changed,
})

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

/** Opens both ports; the scope closes them. */
const open = (options: ServerOptions) =>
  Effect.promise(async () => {
    const { changed, until } = makeWaiting()
    const state = makeState(changed, options)
    const certificate = makeCertificate()
    const media = makeMediaServer(state, certificate).listen(0, "127.0.0.1")
    await listening(media)
    const address = media.address()
    const mediaHost = `127.0.0.1:${typeof address === "object" ? address?.port : ""}`
    const linking = makeLinking(state, options.qrReferences ?? 6)
    const writings = makeWritings(state, mediaHost)
    const messages = makeMessages(state, writings)
    const sessions = makeSessions(state, linking, messages, writings, mediaHost)
    const listener = makeListener(state, sharedNoiseKeys(), {
      ...sessions,
      failed: (what, error) => state.complaints.push(`${what} failed: ${String(error)}`),
    })
    const speak = silenceLibsignal()
    await listener.up()
    const close = async () => {
      await listener.down()
      media.closeAllConnections()
      await new Promise((resolve) => {
        media.close(resolve)
      })
      for (const { phone } of state.accounts.values()) phone.close()
      writings.close()
      speak()
    }
    return {
      state,
      until,
      linking,
      messages,
      writings,
      sessions,
      listener,
      certificate,
      mediaHost,
      close,
    }
  })

type Opened = Effect.Success<ReturnType<typeof open>>

const getAccount = (state: ServerState, number: string): Account => {
  const found = state.accounts.get(toDigits(number))
  if (found === undefined) throw new Error(`no person has the number ${number}`)
  return found
}

const getDevices = (state: ServerState, number: string): ReadonlyArray<Device> => [
  ...getAccount(state, number).devices.values(),
]

/** The open connections of a number, or all of them. */
const getConnections = ({ sessions, state }: Opened, number?: string): ReadonlyArray<Connection> =>
  number === undefined
    ? [...sessions.open]
    : getDevices(state, number).flatMap(({ connection }) => connection ?? [])

const linked = (attempt: () => Promise<Device>) =>
  Effect.tryPromise({
    try: async () => (await attempt()).id,
    catch: (error) => (error instanceof LinkRefused ? error : new LinkRefused(String(error))),
  })

const controlPeople = (server: Opened): PeopleControls => {
  const { linking, messages, state, writings } = server
  return {
    person: (number, options = {}) =>
      Effect.sync(() => {
        const digits = toDigits(number)
        state.accounts.set(digits, makeAccount(digits, options))
      }),
    group: ({ addressing = "pn", administrators = [], participants, subject }) =>
      Effect.sync(() => {
        const id = `${++state.lastGroup}@g.us`
        const group: Group = {
          id,
          subject,
          addressing,
          participants: participants.map((number) => getAccount(state, number)),
          administrators: new Set(administrators.map((number) => getAccount(state, number))),
        }
        state.groups.set(id, group)
        return id
      }),

    linkedBefore: (number, preKeys = 0) =>
      Effect.sync(() => linking.linkedBefore(getAccount(state, number), preKeys)),
    scan: (number, qr) => linked(() => linking.scan(getAccount(state, number), qr)),
    typePairingCode: (number, code) =>
      linked(() => linking.typeCode(getAccount(state, number), code)),
    retireQr: (qr) => Effect.sync(() => linking.retire(qr)),
    unlink: (number) =>
      Effect.sync(() => {
        for (const connection of getConnections(server, number)) endWith(connection, 401)
        getAccount(state, number).devices.clear()
      }),
    reinstall: (number) =>
      Effect.sync(() => {
        const { phone } = getAccount(state, number)
        phone.close()
        getAccount(state, number).phone = makePhone(phone.displayed)
      }),
    loseSessions: (number) => Effect.sync(() => getAccount(state, number).phone.loseSessions()),
    write: (from, to, what) =>
      Effect.promise(() =>
        writings.write(
          getAccount(state, from),
          to.includes("@") ? to : toDigits(to),
          typeof what === "string" ? { text: what } : what,
        ),
      ),
    resend: (from, id) => Effect.promise(() => writings.resend(getAccount(state, from), id)),
    endLink: (from, id, status) =>
      Effect.sync(() => writings.endLink(getAccount(state, from), id, status)),

    closeNewChats: (number, closed = {}, notice = "whole") =>
      Effect.sync(() => setClosed(getAccount(state, number), closed, notice)),
    openNewChats: (number, notice) =>
      Effect.sync(() => setClosed(getAccount(state, number), undefined, notice)),
    capNewChats: (number, cap, notice) =>
      Effect.sync(() => setCap(getAccount(state, number), cap, notice)),

    takePreKeys: (number, count) =>
      Effect.sync(() => {
        for (const device of getDevices(state, number)) {
          for (let used = 0; used < count; used++) deviceBundle(device)
        }
      }),

    receipt: (order) =>
      Effect.sync(() => messages.receipt({ ...order, by: getAccount(state, order.by) })),
  }
}

const controlFaults = (server: Opened): FaultControls => {
  const { listener, messages, state } = server
  return {
    refuseNext: (step, code, times = 1) =>
      Effect.sync(() => state.orders.refuse(step, code, times)),
    nextConnection: (outcome, times = 1) =>
      Effect.sync(() => state.orders.connection(outcome, times)),
    nextMessage: (order) =>
      Effect.sync(() => {
        const { from, to } = order
        state.orders.message({
          ...order,
          ...(from === undefined ? {} : { from: toDigits(from) }),
          ...(to === undefined || to.endsWith("@g.us") ? {} : { to: toDigits(to) }),
        })
      }),
    loseAnswers: (number, times = 1) =>
      Effect.sync(() => state.orders.loseAnswers(toDigits(number), times)),
    releaseAcks: Effect.sync(messages.releaseAcks),
    ordersLeft: (number) => state.orders.ordersLeft(toDigits(number)),
    end: (code, number) =>
      Effect.sync(() => {
        for (const connection of getConnections(server, number)) endWith(connection, code)
      }),
    drop: (number) =>
      Effect.sync(() => {
        for (const connection of getConnections(server, number)) connection.drop()
      }),
    garble: (number) =>
      Effect.sync(() => {
        for (const connection of getConnections(server, number)) connection.garble()
      }),
    silence: (number) =>
      Effect.sync(() => {
        for (const connection of getConnections(server, number)) connection.silent = true
      }),
    down: Effect.promise(listener.down),
    up: Effect.promise(listener.up),
    restart: Effect.promise(async () => {
      await listener.down()
      await listener.up()
    }),
  }
}

const observe = ({ linking, state }: Opened): Observations => ({
  sessions: (number) =>
    getDevices(state, number).map((each) => ({ device: each.id, ...each.sessions })),
  unlinked: linking.waiting,
  codeRequested: (number) => linking.hasRequested(getAccount(state, number)),
  decrypted: (number) => [...(accountCalled(state, number)?.phone.displayed.values() ?? [])],
  copies: (number) => accountCalled(state, number)?.phone.displayed.size ?? 0,
  unheard: (number) =>
    getDevices(state, number).reduce((sum, { mailbox }) => sum + mailbox.receipts(), 0),
  unanswered: (number) => getDevices(state, number).flatMap(({ mailbox }) => mailbox.messages()),
  refused: (number) => getDevices(state, number).flatMap(({ mailbox }) => mailbox.refused()),
  deliveries: (number, id) =>
    getDevices(state, number).reduce((sum, { mailbox }) => sum + mailbox.deliveries(id), 0),
  requestedCopies: (number, id) =>
    getDevices(state, number)
      .flatMap(({ requestedCopies }) => requestedCopies)
      .filter((requested) => requested === id).length,
  readMarks: (number) => getDevices(state, number).flatMap(({ readMarks }) => readMarks),
  preKeys: (number) => getDevices(state, number).map(({ preKeys }) => preKeys.length),
  complaints: () => [...state.complaints],
})

const controls = (server: Opened): WhatsAppServerShape => ({
  url: `ws://127.0.0.1:${server.listener.port()}`,
  mediaCertificate: server.certificate.cert,
  mediaHost: server.mediaHost,
  until: server.until,
  ...controlPeople(server),
  ...controlFaults(server),
  ...observe(server),
})

export const make = (
  options: ServerOptions = {},
): Effect.Effect<WhatsAppServerShape, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(open(options), ({ close }) => Effect.promise(close)),
    controls,
  )
