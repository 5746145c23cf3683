/**
 * Simulated phones behind the WhatsApp and Telegram ports: every number of the service is a phone
 * that behaves as the emulator controls say, and what leaves it is kept where those controls can
 * show it (contract: Emulator controls). Both platforms behave alike. There is no connection that
 * could be lost with the process: phones, their behaviour and what they sent live in the store, and
 * whether a number is connected is its stored status.
 *
 * An attempt takes its behaviour at its beginning. Then, in this order: a phone that hangs never
 * answers; the latency passes; the number must still be connected and the recipient exist; a failing
 * phone refuses; the media is read; the copy arrives. A far side that has seen a transport id shows no
 * second copy, so a repeat is safe. A phone that is asked which others exist takes the same time, and
 * hangs alike; how its sends fail does not matter to it.
 */
import {
  NumberStore,
  PhoneDirectory,
  TelegramTransport,
  WhatsAppTransport,
  outcomeOnceExpired,
} from "@messaging-service/core"
import type {
  MessageErrorCode,
  NumberId,
  OutgoingMedia,
  OutgoingMessage,
  Phone,
  PhonesOutcome,
  SendOutcome,
  StoreUnavailable,
  Target,
  Transport,
} from "@messaging-service/core"
import { Clock, Context, Effect, Layer, Stream } from "effect"
import { ParkedSends, makeClockWaits } from "./Idle.ts"
import { SimulatedPhones, defaultBehaviour, isRegistered } from "./SimulatedPhones.ts"
import type { Behaviour, SentMedia } from "./SimulatedPhones.ts"

/** The reason of a phone that fails without having been given one. */
export const defaultErrorMessage = "The phone could not send the message."

export const layerTransport: Layer.Layer<
  WhatsAppTransport | TelegramTransport | PhoneDirectory | ParkedSends,
  never,
  NumberStore | SimulatedPhones
> = Layer.effectContext(
  Effect.gen(function* () {
    const numbers = yield* NumberStore
    const phones = yield* SimulatedPhones
    const clockWaits = makeClockWaits()

    const whenConnected = <A, E>(numberId: NumberId, then: Effect.Effect<A, E>) =>
      Effect.flatMap(numbers.find(numberId), (number): Effect.Effect<A | typeof notConnected, E> =>
        number?.status === "connected" ? then : Effect.succeed(notConnected),
      )

    /** Takes the time that the phone takes; one that hangs takes for ever. */
    const whenAnswering = <A, E>(
      numberId: NumberId,
      then: (behaviour: Behaviour) => Effect.Effect<A, E>,
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
        // What was asked up to here tells that nothing was handed over.
        Effect.catchTag("StoreUnavailable", () => Effect.succeed(postponed)),
      )

    const unreachable = (
      to: Target,
      behaviour: Behaviour,
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
          return Effect.undefined
      }
    }

    const arrive = (
      message: OutgoingMessage,
      behaviour: Behaviour,
    ): Effect.Effect<SendOutcome, StoreUnavailable> =>
      Effect.gen(function* () {
        const breaks = behaviour.send === "drop"
        yield* phones.receive(
          {
            transportId: message.transportId,
            numberId: message.numberId,
            to: shownRecipient(message.to),
            text: message.text,
            media: message.media === null ? null : shownMedia(message.media),
            at: yield* Clock.currentTimeMillis,
          },
          breaks ? { ...behaviour, send: "succeed" } : null,
        )
        return breaks ? unknown : accepted
      }).pipe(
        // The store may have kept the copy and not been able to say so.
        Effect.catchTag("StoreUnavailable", () => Effect.succeed(unknown)),
      )

    const handOver = (
      message: OutgoingMessage,
      behaviour: Behaviour,
    ): Effect.Effect<SendOutcome, StoreUnavailable> =>
      Effect.gen(function* () {
        const problem = yield* unreachable(message.to, behaviour)
        if (problem !== undefined) return problem
        if (behaviour.send === "fail") {
          // To every recipient, as from an account that is restricted.
          return refused("send_failed", behaviour.errorMessage ?? defaultErrorMessage, true)
        }
        if (message.media !== null && !(yield* canBeRead(message.media))) {
          return postponed
        }
        return yield* arrive(message, behaviour)
      })

    const send = Effect.fn("SimulatedTransport.send")(function* (message: OutgoingMessage) {
      const late = outcomeOnceExpired(message, yield* Clock.currentTimeMillis)
      if (late !== null) return late
      return yield* whenAnswering(message.numberId, (behaviour) => handOver(message, behaviour))
    })

    const checkPhones = Effect.fn("SimulatedTransport.checkPhones")(
      (numberId: NumberId, asked: ReadonlyArray<Phone>): Effect.Effect<PhonesOutcome> =>
        whenAnswering(numberId, () =>
          Effect.map(phones.registered, (registered) => ({
            _tag: "Checked" as const,
            registered: new Set(asked.filter((phone) => isRegistered(registered, phone))),
          })),
        ),
    )

    const transport: Transport = {
      dropsCopies: true,
      send,
      // Ticks, scans and logouts are made by the emulator controls, which report them to the core.
      listen: () => Effect.never,
    }
    return Context.make(WhatsAppTransport, transport).pipe(
      Context.add(TelegramTransport, transport),
      Context.add(PhoneDirectory, { checkPhones }),
      Context.add(ParkedSends, { parked: clockWaits.parked }),
    )
  }),
)

const accepted: SendOutcome = { _tag: "Accepted" }
const unknown: SendOutcome = { _tag: "Unknown" }
const notConnected = { _tag: "NotConnected" } as const
const postponed = { _tag: "Postponed", afterMillis: 1000 } as const

const refused = (code: MessageErrorCode, message: string, againstNumber = false): SendOutcome => ({
  _tag: "Refused",
  error: { code, message },
  againstNumber,
})

/** Group names are matched exactly, and nothing keeps two groups from having the same one. */
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

/** A phone reads what it sends to the end; one that cannot sends nothing. */
const canBeRead = (media: OutgoingMedia): Effect.Effect<boolean> =>
  Effect.match(Stream.runDrain(media.content), { onSuccess: () => true, onFailure: () => false })

const shownMedia = ({ fileName, mimeType, size, sha256 }: OutgoingMedia): SentMedia => ({
  fileName,
  mimeType,
  size,
  sha256,
})

/** How the far side names a recipient: in the spelling that a request would use. */
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
  }
}
