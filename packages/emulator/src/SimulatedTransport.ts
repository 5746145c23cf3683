/**
 * Simulated phones behind the WhatsApp and Telegram ports. Every number of the service is a phone that
 * follows the emulator controls, which can show what left it (contract: Emulator controls). Both platforms
 * behave alike. No connection is lost with the process: phones, their behaviour and their sends are
 * in the store, and a number's stored status tells whether it is connected.
 *
 * An attempt takes its behaviour at its start. Then, in this order: a phone that hangs never answers; the
 * latency passes; the number must still be connected and the recipient exist; a failing phone refuses; the
 * media is read; the copy arrives. A remote server that has seen a transport id shows no second copy, so a
 * repeat is safe. A query of registered phones takes the same time, and hangs alike; it ignores how sends
 * fail.
 */
import {
  hasPhone,
  Ids,
  isRegisteredInTestMode,
  inventedPhone,
  makeConnectionChanged,
  NumberLinking,
  outcomeOnceExpired,
  pairingCodeMillis,
  PhoneDirectory,
  TelegramLogin,
  telegramLoginMillis,
  TelegramTransport,
  WakeUp,
  WhatsAppTransport,
  Store,
} from "@messaging-service/core"
import type {
  AfterSecret,
  LinkingEvent,
  MessageErrorCode,
  NumberId,
  OutgoingMedia,
  OutgoingMessage,
  Phone,
  PhoneBehaviour,
  PhonesOutcome,
  ReadMark,
  ReadMarkOutcome,
  SendingNumber,
  SendOutcome,
  SentMedia,
  SimulatedPhones,
  StoreUnavailable,
  Target,
  TelegramLoginView,
  Transport,
} from "@messaging-service/core"
import { Clock, Context, Effect, Layer, Result, Semaphore, Stream } from "effect"
import * as Base64 from "effect/encoding/Base64"
import { makeClockWaits, ParkedSends } from "./IdleMonitor.ts"
import { makeTooNew, NewChats } from "./NewChats.ts"

/** The bytes of a file that a simulated person sent; none when it cannot be decoded. */
export const simulatedFile = (data: string): Uint8Array =>
  Result.getOrElse(Base64.decode(data), () => new Uint8Array())

export const defaultBehaviour: PhoneBehaviour = {
  send: "succeed",
  errorMessage: null,
  latencyMillis: 0,
  groups: ["Team"],
}

/**
 * Whether the phone is registered, for sends and number checks alike: one of the configured ones, or, by the
 * rule (`null`), one that exists for test keys too.
 */
export const isRegistered = (set: ReadonlyArray<Phone> | null, phone: Phone): boolean =>
  set === null ? isRegisteredInTestMode(phone) : set.includes(phone)

/** The default reason of a failing phone. */
export const defaultErrorMessage = "The phone could not send the message."

/** Why the phone cannot reach the recipient, if so. */
const unreachable = (
  phones: SimulatedPhones,
  to: Target,
  behaviour: PhoneBehaviour,
): Effect.Effect<SendOutcome | undefined, StoreUnavailable> => {
  switch (to.kind) {
    case "phone":
      return Effect.map(phones.registered, (registered) =>
        isRegistered(registered, to.phone)
          ? undefined
          : refused("recipient_not_found", `${to.phone} is not registered.`),
      )
    case "group":
      return Effect.succeed(groupProblem(to.group, behaviour.groups))
    case "username":
    case "user_id":
    // It has written to the phone.
    case "lid":
    case "group_id":
      return Effect.undefined
  }
}

/** Delivers a copy to the recipient. */
const arrive = (
  phones: SimulatedPhones,
  message: OutgoingMessage,
  behaviour: PhoneBehaviour,
): Effect.Effect<SendOutcome, StoreUnavailable> =>
  Effect.gen(function* () {
    const breaks = behaviour.send === "drop"
    yield* phones.receive(
      {
        transportId: message.transportId,
        numberId: message.numberId,
        to: shownRecipient(message.to),
        text: message.text,
        media: message.media === null ? null : publicMedia(message.media),
        ...(message.quote && { quote: message.quote.text }),
        at: yield* Clock.currentTimeMillis,
      },
      breaks ? { ...behaviour, send: "succeed" } : null,
    )
    return breaks ? unknown : accepted
  }).pipe(
    // The store may have the copy, although its answer failed.
    Effect.catchTag("StoreUnavailable", () => Effect.succeed(unknown)),
  )

const handOver = (
  phones: SimulatedPhones,
  message: OutgoingMessage,
  behaviour: PhoneBehaviour,
  isTooNew: Effect.Success<typeof makeTooNew>,
): Effect.Effect<SendOutcome, StoreUnavailable> =>
  Effect.gen(function* () {
    const { numberId, to } = message
    const problem = yield* unreachable(phones, to, behaviour)
    if (problem !== undefined) return problem
    if (yield* isTooNew(numberId, to, shownRecipient(to))) return tooNew
    if (behaviour.send === "fail") {
      // Refuses every recipient, like a restricted account.
      return refused("send_failed", behaviour.errorMessage ?? defaultErrorMessage, true)
    }
    if (message.media !== null && !(yield* canBeRead(message.media))) {
      return postponed
    }
    return yield* arrive(phones, message, behaviour)
  })

export const layerTransport: Layer.Layer<
  WhatsAppTransport | TelegramTransport | PhoneDirectory | ParkedSends | NewChats,
  never,
  Store
> = Layer.effectContext(
  Effect.gen(function* makeTransport() {
    const { numbers, phones } = yield* Store
    const clockWaits = makeClockWaits()
    const isTooNew = yield* makeTooNew

    const whenConnected = <A, E>(numberId: NumberId, then: Effect.Effect<A, E>) =>
      Effect.flatMap(numbers.find(numberId), (number): Effect.Effect<A | typeof notConnected, E> =>
        number?.status === "connected" ? then : Effect.succeed(notConnected),
      )

    /** Waits for the phone's latency; a hanging phone never answers. */
    const whenAnswering = <A, E>(
      numberId: NumberId,
      then: (behaviour: PhoneBehaviour) => Effect.Effect<A, E>,
    ) =>
      whenConnected(
        numberId,
        Effect.gen(function* () {
          const behaviour = (yield* phones.behaviour(numberId)) ?? defaultBehaviour
          yield* clockWaits.wait(
            numberId,
            behaviour.send === "hang" ? Infinity : behaviour.latencyMillis,
          )
          return yield* whenConnected(numberId, then(behaviour))
        }),
      ).pipe(
        // Only reads fail here, so nothing was handed over.
        Effect.catchTag("StoreUnavailable", () => Effect.succeed(postponed)),
      )

    const send = Effect.fn("SimulatedTransport.send")(function* send(message: OutgoingMessage) {
      const late = outcomeOnceExpired(message, yield* Clock.currentTimeMillis)
      if (late !== null) return late
      return yield* whenAnswering(message.numberId, (behaviour) =>
        handOver(phones, message, behaviour, isTooNew),
      )
    })

    const checkPhones = Effect.fn("SimulatedTransport.checkPhones")(
      (numberId: NumberId, requests: ReadonlyArray<Phone>): Effect.Effect<PhonesOutcome> =>
        whenAnswering(numberId, () =>
          Effect.map(phones.registered, (registered) => ({
            _tag: "Checked" as const,
            registered: new Set(requests.filter((phone) => isRegistered(registered, phone))),
          })),
        ),
    )

    const markRead = Effect.fn("SimulatedTransport.markRead")(
      ({ numberId }: ReadMark): Effect.Effect<ReadMarkOutcome> =>
        // The emulator shows what the store then notes of it.
        whenAnswering(numberId, () => Effect.succeed({ _tag: "Marked" as const })),
    )

    const transport: Transport = {
      dropsCopies: true,
      send,
      markRead,
      // The file came with its message.
      fetchFile: ({ source }) => Stream.sync(() => simulatedFile(source)),
      // The emulator controls make ticks, scans and log-outs, and report them to the core.
      listen: () => Effect.never,
    }
    return Context.make(WhatsAppTransport, transport).pipe(
      Context.add(TelegramTransport, transport),
      Context.add(PhoneDirectory, { checkPhones }),
      Context.add(ParkedSends, { parked: clockWaits.parked }),
    )
  }),
).pipe(Layer.provideMerge(NewChats.layer))

const accepted: SendOutcome = { _tag: "Accepted" }
const unknown: SendOutcome = { _tag: "Unknown" }
const notConnected = { _tag: "NotConnected" } as const
const postponed = { _tag: "Postponed", afterMillis: 1000 } as const

const refused = (code: MessageErrorCode, message: string, againstNumber = false): SendOutcome => ({
  _tag: "Refused",
  error: { code, message },
  againstNumber,
})

/** As WhatsApp says it. */
const tooNew: SendOutcome = {
  _tag: "Refused",
  error: {
    code: "send_failed",
    message:
      "WhatsApp refused the message (463): the account may not write to people who have not written to it.",
  },
  againstNumber: true,
  refusesNewChat: true,
}

/** Group names match exactly, and two groups may have the same one. */
const groupProblem = (name: string, groups: ReadonlyArray<string>): SendOutcome | undefined => {
  const matches = groups.filter((group) => group === name).length
  if (matches === 1) return undefined
  return refused(
    "group_not_found",
    matches === 0
      ? "The number belongs to no group of that name."
      : `The group name is ambiguous: the number belongs to ${matches} groups of that name.`,
  )
}

/** A phone reads its media to the end; if it cannot, it sends nothing. */
const canBeRead = (media: OutgoingMedia): Effect.Effect<boolean> =>
  Effect.match(Stream.runDrain(media.content), { onSuccess: () => true, onFailure: () => false })

const publicMedia = ({ fileName, mimeType, size, sha256 }: OutgoingMedia): SentMedia => ({
  fileName,
  mimeType,
  size,
  sha256,
})

/** The remote server's name of a recipient, in a request's spelling. */
const shownRecipient = (to: Target): string => {
  switch (to.kind) {
    case "phone":
      return to.phone
    case "group":
      return to.group
    case "username":
      return `@${to.username}`
    case "user_id":
      return `tg:${to.userId}`
    case "lid":
      return `lid:${to.lid}`
    case "group_id":
      return to.groupId
  }
}

// Linking: codes expire as real ones do. The first QR code is valid for 60 s, five more for 20 s each,
// and then the connection has no more. The emulator's scan reports to the core that a phone took a code.

const firstQrMillis = 60_000
const nextQrMillis = 20_000

/** The validity of each QR code of one connection. */
const qrMillis: ReadonlyArray<number> = [
  firstQrMillis,
  ...Array.from({ length: 5 }, () => nextQrMillis),
]

export const layerLinking: Layer.Layer<NumberLinking, never, Ids> = Layer.effect(
  NumberLinking,
  Effect.gen(function* () {
    const ids = yield* Ids

    const shownFor = (event: Effect.Effect<LinkingEvent>, millis: number) =>
      Stream.concat(Stream.fromEffect(event), Stream.fromEffectDrain(Effect.sleep(millis)))

    const qrCode = (millis: number) =>
      Effect.map(Clock.currentTimeMillis, (now): LinkingEvent => ({
        _tag: "QrShown",
        // A reference and three keys, as long as the real ones.
        text: `2@${[100, 44, 44, 44].map((length) => ids.alphanumeric(length)).join(",")}`,
        expiresAt: now + millis,
      }))

    const pairingCode = Effect.map(Clock.currentTimeMillis, (now): LinkingEvent => ({
      _tag: "PairingCodeShown",
      pairingCode: {
        code: ids.alphanumeric(8).toUpperCase(),
        expiresAt: now + pairingCodeMillis,
      },
    }))

    return NumberLinking.of({
      link: ({ method }) =>
        method === "qr"
          ? Stream.flatMap(Stream.fromIterable(qrMillis), (millis) =>
              shownFor(qrCode(millis), millis),
            )
          : shownFor(pairingCode, pairingCodeMillis),
    })
  }),
)

// Telegram login, by the service's clock (contract: Telegram login). The typed text decides what happens:
// one code lets the account in, another asks for the password, any other is wrong. The emulator's scan
// scans QR codes. An unregistered phone has no account. A login ends with its process.

/** The code of an account without a password, that of one with a password, and the password. */
const [plainCode, guardedCode, rightPassword] = ["12345", "22222", "password"]

/** The validity of each QR code. */
const loginQrMillis = 30_000

interface Login {
  readonly view: TelegramLoginView
  /** Digits of the account that lets itself in; null where a scan provides them. */
  readonly phone: string | null
}

/** The accounts' own apps, which scan QR codes. */
interface SimulatedAppsPort {
  /** The account with that phone scans the number's code; null where none is shown. */
  scan(
    number: SendingNumber,
    phone: string | null,
  ): Effect.Effect<SendingNumber | null, StoreUnavailable>
}

/** Without logins no code is shown. */
export const SimulatedApps = Context.Reference<SimulatedAppsPort>("emulator/SimulatedApps", {
  defaultValue: () => ({ scan: () => Effect.succeed(null) }),
})

const isOver = ({ view }: Login): boolean =>
  view.state === "failed" || view.state === "expired" || view.state === "connected"

const failed = (login: Login, error: string): Login => ({
  ...login,
  view: { ...login.view, state: "failed", qr: null, error },
})

/** The logins of this process. */
const makeLogins = (ids: typeof Ids.Service) => {
  const logins = new Map<NumberId, Login>()

  const keep = (numberId: NumberId, login: Login): Login => {
    logins.set(numberId, login)
    return login
  }

  const freshQr = (now: number): TelegramLoginView["qr"] => ({
    url: `tg://login?token=${ids.alphanumeric(32)}`,
    expiresAt: now + loginQrMillis,
  })

  /** The login's current state; null without one. */
  const getLogin = (numberId: NumberId): Effect.Effect<Login | null> =>
    Effect.map(Clock.currentTimeMillis, (now) => {
      const login = logins.get(numberId)
      if (login === undefined) return null
      const { view } = login
      const isPast = view.expiresAt <= now
      if (view.state === "connected" && isPast) {
        logins.delete(numberId)
        return null
      }
      if (isOver(login)) return login
      if (isPast) return keep(numberId, { ...login, view: { ...view, state: "expired", qr: null } })
      const needsQr = view.state === "showing_qr" && (view.qr?.expiresAt ?? 0) <= now
      return needsQr ? keep(numberId, { ...login, view: { ...view, qr: freshQr(now) } }) : login
    })

  return {
    find: (numberId: NumberId) => logins.get(numberId),
    remove: (numberId: NumberId) => logins.delete(numberId),
    keep,
    freshQr,
    getLogin,
  }
}

type Logins = ReturnType<typeof makeLogins>

const phoneFor = (
  ids: typeof Ids.Service,
  number: SendingNumber,
  all: ReadonlyArray<SendingNumber>,
): string => {
  if (number.phone !== null) return number.phone
  for (;;) {
    const phone = inventedPhone(ids)
    if (!all.some((other) => other.phone === phone)) return phone
  }
}

const makeLetIn = Effect.fnUntraced(function* makeLetIn({ find, keep }: Logins) {
  const { numbers } = yield* Store
  const connectionChanged = yield* makeConnectionChanged
  const ids = yield* Ids
  const oneAtATime = Semaphore.makeUnsafe(1).withPermits(1)

  /**
   * Connects the account's number, unless another number of the workspace has the phone. One at a time:
   * the next one reads what this one stored.
   */
  const letIn = Effect.fnUntraced(function* letIn(number: SendingNumber, login: Login) {
    const present = find(number.id)
    // It was given up or finished meanwhile.
    if (present === undefined || isOver(present)) return yield* numbers.find(number.id)
    const all = yield* numbers.list(number.workspaceId)
    const phone = login.phone ?? phoneFor(ids, number, all)
    if (all.some((other) => hasPhone(other, null, number, phone))) {
      keep(number.id, failed(login, "phone_of_another_number"))
      return number
    }
    const connected = yield* connectionChanged(number.id, "connected", phone)
    if (connected === null) return null
    keep(number.id, { ...login, view: { ...login.view, state: "connected", qr: null } })
    return connected
  }, oneAtATime)

  /** The same, with a failed login for a failed store. */
  const letInOrFail = (numberId: NumberId, login: Login): Effect.Effect<TelegramLoginView> =>
    numbers.find(numberId).pipe(
      Effect.flatMap((number) => (number === null ? Effect.succeed(null) : letIn(number, login))),
      Effect.map(() => find(numberId) ?? failed(login, "connection_lost")),
      Effect.orElseSucceed(() => keep(numberId, failed(login, "connection_lost"))),
      Effect.map(({ view }) => view),
    )

  return { letIn, letInOrFail }
})

const hasAccount = (phones: SimulatedPhones, phone: Phone) =>
  phones.registered.pipe(
    Effect.map((registered) => (isRegistered(registered, phone) ? null : "phone_not_registered")),
    Effect.orElseSucceed(() => "connection_lost"),
  )

const make = Effect.gen(function* make() {
  const { phones } = yield* Store
  const logins = makeLogins(yield* Ids)
  const { freshQr, keep, getLogin } = logins
  const { letIn, letInOrFail } = yield* makeLetIn(logins)

  /** Runs a step with typed text. */
  const typed = Effect.fnUntraced(function* typed(
    numberId: NumberId,
    state: TelegramLoginView["state"],
    take: (login: Login) => Effect.Effect<AfterSecret>,
  ) {
    const login = yield* getLogin(numberId)
    if (login === null) return null
    return login.view.state === state ? yield* take(login) : login.view
  })

  const port = TelegramLogin.of({
    isConfigured: true,
    begin: Effect.fn("SimulatedLogin.begin")(function* begin(numberId, request) {
      const before = yield* getLogin(numberId)
      if (before !== null && !isOver(before)) return null
      const now = yield* Clock.currentTimeMillis
      const expiresAt = now + telegramLoginMillis
      const started = { qr: null, codeSentTo: null, expiresAt, error: null }
      if (request.method === "qr") {
        const view = { ...started, state: "showing_qr", qr: freshQr(now) } as const
        return keep(numberId, { view, phone: null }).view
      }
      const view = { ...started, state: "code_sent", codeSentTo: "app" } as const
      const login: Login = { view, phone: request.phone.slice(1) }
      const refusal = yield* hasAccount(phones, request.phone)
      return keep(numberId, refusal === null ? login : failed(login, refusal)).view
    }),
    look: Effect.fn("SimulatedLogin.look")((numberId) =>
      Effect.map(getLogin(numberId), (login) => login?.view ?? null),
    ),
    giveCode: Effect.fn("SimulatedLogin.giveCode")((numberId, code) =>
      typed(numberId, "code_sent", (login): Effect.Effect<AfterSecret> => {
        if (code === plainCode) return letInOrFail(numberId, login)
        if (code !== guardedCode) return Effect.succeed("wrong")
        const view: TelegramLoginView = { ...login.view, state: "password_needed" }
        return Effect.succeed(keep(numberId, { ...login, view }).view)
      }),
    ),
    givePassword: Effect.fn("SimulatedLogin.givePassword")((numberId, password) =>
      typed(numberId, "password_needed", (login) =>
        password === rightPassword ? letInOrFail(numberId, login) : Effect.succeed("wrong"),
      ),
    ),
    cancel: Effect.fn("SimulatedLogin.cancel")(function* cancel(numberId) {
      const login = yield* getLogin(numberId)
      if (login === null || login.view.state === "connected") return false
      return logins.remove(numberId)
    }),
  })

  const scan: SimulatedAppsPort["scan"] = Effect.fnUntraced(function* scan(number, phone) {
    const login = yield* getLogin(number.id)
    return login?.view.state === "showing_qr" ? yield* letIn(number, { ...login, phone }) : null
  })

  return Context.make(TelegramLogin, port).pipe(Context.add(SimulatedApps, { scan }))
})

/** Logins of simulated Telegram accounts; without it they have no application. */
export const layerLogin: Layer.Layer<never, never, Store | WakeUp | Ids> = Layer.effectContext(make)
