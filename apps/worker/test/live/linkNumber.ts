/** Links a number of the service to a phone of the WhatsApp server. */
import { processes } from "@messaging-service/testkit"
import type { WhatsAppServer } from "@messaging-service/whatsapp-server"
import { Effect, Schedule } from "effect"

/** The needed fields of a Number. */
export interface ObservedNumber {
  readonly id: number
  readonly status: string
  readonly connect: { readonly pairing_code: string | null } | null
}

/** Sends requests to the service. */
interface Asking<E, R> {
  /** With a key, which has 60 requests a minute. */
  request(
    method: string,
    path: string,
    body?: unknown,
  ): Effect.Effect<{ readonly body: ObservedNumber }, E, R>
  /** As operators see them. */
  readonly numbers: Effect.Effect<ReadonlyArray<ObservedNumber>, E, R>
}

/** Waits until the number is connected; calls `check` each time that it is not. */
export const untilConnected = <E, R, E2 = never, R2 = never>(
  numbers: Asking<E, R>["numbers"],
  id: number,
  check: Effect.Effect<unknown, E2, R2> = Effect.void,
) =>
  processes.waitUntil(
    `number ${id} is connected`,
    Effect.gen(function* () {
      const all = yield* numbers
      if (all.some((each) => each.id === id && each.status === "connected")) return true
      yield* check
      return undefined
    }),
    Schedule.spaced(300),
  )

/** Links by a pairing code, which the phone types; returns the number's id. */
export const linkNumber = <E, R>(
  remote: typeof WhatsAppServer.Service,
  phone: string,
  { request, numbers }: Asking<E, R>,
) =>
  Effect.gen(function* () {
    yield* remote.person(phone)
    const { id } = (yield* request("POST", "/api/v2/numbers", {
      login_method: "phone_code",
      phone: `+${phone}`,
    })).body
    let typed: string | null = null
    // While workers redistribute the numbers, another one may restart with another code.
    const typeCode = Effect.gen(function* () {
      if (!remote.codeRequested(phone)) return
      const code =
        (yield* request("GET", `/api/v2/numbers/${id}`)).body.connect?.pairing_code ?? null
      if (code === null || code === typed) return
      typed = code
      yield* Effect.ignore(remote.typePairingCode(phone, code))
    })
    yield* untilConnected(numbers, id, typeCode)
    return id
  })
