/**
 * How a simulated Telegram account is logged in (contract: Telegram login), by the service's clock. What is
 * typed says how it goes on, so that a test can walk each way: one code lets the account in, another one
 * asks for the password first, and any other is wrong. A QR code is scanned by the emulator's scan. A phone
 * that is not registered has no account.
 *
 * A login is its process's own, and is gone with it; the number that it has connected is not.
 */
import {
  Ids,
  LaneQueue,
  LinkingStore,
  NumberStore,
  TelegramLogin,
  WakeUp,
  hasPhone,
  madeUpPhone,
  makeConnectionChanged,
  telegramLoginMillis,
} from "@messaging-service/core"
import type {
  AfterSecret,
  NumberId,
  Phone,
  SendingNumber,
  StoreUnavailable,
  TelegramLoginView,
} from "@messaging-service/core"
import { Clock, Context, Effect, Layer, Semaphore } from "effect"
import { SimulatedPhones, isRegistered } from "./SimulatedPhones.ts"

/** The code of an account without a password, that of one with a password, and the password. */
const [plainCode, guardedCode, rightPassword] = ["12345", "22222", "password"]

/** How long each QR code stands. */
const qrMillis = 30_000

interface Login {
  readonly view: TelegramLoginView
  /** Digits of the account that lets itself in; null where a scan says it. */
  readonly phone: string | null
}

/** The accounts' own apps, which scan QR codes. */
export interface SimulatedAppsPort {
  /** The account with that phone scans the number's code; null where none is shown. */
  scan(
    number: SendingNumber,
    phone: string | null,
  ): Effect.Effect<SendingNumber | null, StoreUnavailable>
}

/** Where no accounts are logged in no code is shown. */
export const SimulatedApps = Context.Reference<SimulatedAppsPort>("emulator/SimulatedApps", {
  defaultValue: () => ({ scan: () => Effect.succeed(null) }),
})

const isOver = ({ view }: Login): boolean =>
  view.state === "failed" || view.state === "expired" || view.state === "connected"

const failed = (login: Login, error: string): Login => ({
  ...login,
  view: { ...login.view, state: "failed", qr: null, error },
})

const make = Effect.gen(function* () {
  const numbers = yield* NumberStore
  const phones = yield* SimulatedPhones
  const connectionChanged = yield* makeConnectionChanged
  const ids = yield* Ids
  const oneAtATime = Semaphore.makeUnsafe(1).withPermits(1)
  const logins = new Map<NumberId, Login>()

  const keep = (numberId: NumberId, login: Login): Login => {
    logins.set(numberId, login)
    return login
  }

  const freshQr = (now: number): TelegramLoginView["qr"] => ({
    url: `tg://login?token=${ids.alphanumeric(32)}`,
    expiresAt: now + qrMillis,
  })

  /** How the login stands by now; null without one. */
  const loginOf = (numberId: NumberId): Effect.Effect<Login | null> =>
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

  const phoneFor = (number: SendingNumber, all: ReadonlyArray<SendingNumber>): string => {
    if (number.phone !== null) return number.phone
    for (;;) {
      const phone = madeUpPhone(ids)
      if (!all.some((other) => other.phone === phone)) return phone
    }
  }

  /**
   * The account is in: its number is connected, unless another one of the workspace has it. The next one
   * looks for its own once this one's is stored.
   */
  const letIn = Effect.fnUntraced(function* (number: SendingNumber, login: Login) {
    const present = logins.get(number.id)
    // It was given up, or is through, meanwhile.
    if (present === undefined || isOver(present)) return yield* numbers.find(number.id)
    const all = yield* numbers.list(number.workspaceId)
    const phone = login.phone ?? phoneFor(number, all)
    if (all.some((other) => hasPhone(other, null, number, phone))) {
      keep(number.id, failed(login, "phone_of_another_number"))
      return number
    }
    const connected = yield* connectionChanged(number.id, "connected", phone)
    if (connected === null) return null
    keep(number.id, { ...login, view: { ...login.view, state: "connected", qr: null } })
    return connected
  }, oneAtATime)

  /** The same for what never fails. */
  const letInOrFail = (numberId: NumberId, login: Login): Effect.Effect<TelegramLoginView> =>
    numbers.find(numberId).pipe(
      Effect.flatMap((number) => (number === null ? Effect.succeed(null) : letIn(number, login))),
      Effect.map(() => logins.get(numberId) ?? failed(login, "connection_lost")),
      Effect.orElseSucceed(() => keep(numberId, failed(login, "connection_lost"))),
      Effect.map(({ view }) => view),
    )

  /** A step that takes what was typed. */
  const typed = Effect.fnUntraced(function* (
    numberId: NumberId,
    state: TelegramLoginView["state"],
    take: (login: Login) => Effect.Effect<AfterSecret>,
  ) {
    const login = yield* loginOf(numberId)
    if (login === null) return null
    return login.view.state === state ? yield* take(login) : login.view
  })

  const hasAccount = (phone: Phone) =>
    phones.registered.pipe(
      Effect.map((registered) => (isRegistered(registered, phone) ? null : "phone_not_registered")),
      Effect.orElseSucceed(() => "connection_lost"),
    )

  const port = TelegramLogin.of({
    isConfigured: true,
    begin: Effect.fn("SimulatedLogin.begin")(function* (numberId, request) {
      const before = yield* loginOf(numberId)
      if (before !== null && !isOver(before)) return null
      const now = yield* Clock.currentTimeMillis
      const expiresAt = now + telegramLoginMillis
      const begun = { qr: null, codeSentTo: null, expiresAt, error: null }
      if (request.method === "qr") {
        const view = { ...begun, state: "showing_qr", qr: freshQr(now) } as const
        return keep(numberId, { view, phone: null }).view
      }
      const view = { ...begun, state: "code_sent", codeSentTo: "app" } as const
      const login: Login = { view, phone: request.phone.slice(1) }
      const refusal = yield* hasAccount(request.phone)
      return keep(numberId, refusal === null ? login : failed(login, refusal)).view
    }),
    look: Effect.fn("SimulatedLogin.look")((numberId) =>
      Effect.map(loginOf(numberId), (login) => login?.view ?? null),
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
    cancel: Effect.fn("SimulatedLogin.cancel")(function* (numberId) {
      const login = yield* loginOf(numberId)
      if (login === null || login.view.state === "connected") return false
      return logins.delete(numberId)
    }),
  })

  const scan: SimulatedAppsPort["scan"] = Effect.fnUntraced(function* (number, phone) {
    const login = yield* loginOf(number.id)
    return login?.view.state === "showing_qr" ? yield* letIn(number, { ...login, phone }) : null
  })

  return Context.make(TelegramLogin, port).pipe(Context.add(SimulatedApps, { scan }))
})

/** Logging simulated Telegram accounts in; without it there is no application for them. */
export const layerLogin: Layer.Layer<
  never,
  never,
  NumberStore | LaneQueue | LinkingStore | SimulatedPhones | WakeUp | Ids
> = Layer.effectContext(make)
