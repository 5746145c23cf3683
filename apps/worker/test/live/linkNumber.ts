/** Links a number of the service to a phone of the WhatsApp server. */
import { processes } from "@messaging-service/testkit"
import type { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Effect, Schedule } from "effect"

/** The needed fields of a Number. */
export interface SeenNumber {
  readonly id: number
  readonly status: string
  readonly connect: { readonly pairing_code: string | null } | null
}

/** Sends requests to the service. */
interface Asking<E, R> {
  /** With a key, which has 60 requests a minute. */
  ask(
    method: string,
    path: string,
    body?: unknown,
  ): Effect.Effect<{ readonly body: SeenNumber }, E, R>
  /** As operators see them. */
  readonly numbers: Effect.Effect<ReadonlyArray<SeenNumber>, E, R>
}

/** Waits until the number is connected; calls `look` each time that it is not. */
export const untilConnected = <E, R, E2 = never, R2 = never>(
  numbers: Asking<E, R>["numbers"],
  id: number,
  look: Effect.Effect<unknown, E2, R2> = Effect.void,
) =>
  processes.waitUntil(
    `number ${id} is connected`,
    Effect.gen(function* () {
      const all = yield* numbers
      if (all.some((each) => each.id === id && each.status === "connected")) return true
      yield* look
      return undefined
    }),
    Schedule.spaced(300),
  )

/** Links by a pairing code, which the phone types; returns the number's id. */
export const linkNumber = <E, R>(
  far: typeof WhatsAppServer.Service,
  phone: string,
  { ask, numbers }: Asking<E, R>,
) =>
  Effect.gen(function* () {
    yield* far.person(phone)
    const { id } = (yield* ask("POST", "/api/v2/numbers", {
      login_method: "phone_code",
      phone: `+${phone}`,
    })).body
    let typed: string | null = null
    // While workers redistribute the numbers, another one may restart with another code.
    const typeCode = Effect.gen(function* () {
      if (!far.codeAsked(phone)) return
      const code = (yield* ask("GET", `/api/v2/numbers/${id}`)).body.connect?.pairing_code ?? null
      if (code === null || code === typed) return
      typed = code
      yield* Effect.ignore(far.typePairingCode(phone, code))
    })
    yield* untilConnected(numbers, id, typeCode)
    return id
  })
