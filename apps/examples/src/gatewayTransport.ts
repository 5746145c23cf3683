/**
 * A transport of one's own: WhatsApp numbers that are connected by a gateway in another process, which
 * takes messages over HTTP. The gateway here is made up; what counts is what each of its answers, and
 * the lack of one, means. `docs/writing-a-transport.md` goes through it.
 *
 * `PUT /numbers/{number}/messages/{id}` with the message as a line of JSON, and the bytes of its media
 * after that. The gateway shows one copy for each id, however often it comes.
 */
import {
  NumberLinking,
  PhoneDirectory,
  TelegramTransport,
  WhatsAppTransport,
  outcomeOnceExpired,
} from "@messaging-service/core"
import type { OutgoingMessage, SendOutcome, Transport } from "@messaging-service/core"
import { Clock, Context, Effect, Layer, Stream } from "effect"

/** The pause after a gateway that does not say how long it wants to rest. */
const restMillis = 5000

/** The message in the gateway's format. Media are never whole in memory. */
const bodyOf = ({ media, text, to }: OutgoingMessage) => {
  const file =
    media === null
      ? null
      : { name: media.fileName, type: media.mimeType, size: media.size, sha256: media.sha256 }
  const head = new TextEncoder().encode(`${JSON.stringify({ to, text, file })}\n`)
  return Stream.toReadableStreamEffect(
    Stream.concat(Stream.make(head), media?.content ?? Stream.empty),
  )
}

const refused = (
  code: "recipient_not_found" | "send_failed" | "group_not_found",
  message: string,
): SendOutcome => ({
  _tag: "Refused",
  error: { code, message },
  againstNumber: false,
})

/** The meaning of an answer. An unexpected one says nothing about the message. */
const outcomeOf = async (answer: Response): Promise<SendOutcome> => {
  switch (answer.status) {
    case 200:
      return { _tag: "Accepted" }
    case 404:
      return refused("recipient_not_found", "The gateway knows no such phone.")
    case 409:
      return { _tag: "NotConnected" }
    case 422:
      return refused("send_failed", await answer.text())
    case 429: {
      const seconds = Number(answer.headers.get("retry-after"))
      return { _tag: "Postponed", afterMillis: seconds > 0 ? seconds * 1000 : restMillis }
    }
    default:
      return { _tag: "Unknown" }
  }
}

const makeTransport = (gateway: string): Transport => ({
  dropsCopies: true,
  send: Effect.fnUntraced(function* send(message) {
    const body = yield* bodyOf(message)
    // It may have expired while its media were read.
    const late = outcomeOnceExpired(message, yield* Clock.currentTimeMillis)
    if (late !== null) return late
    return yield* Effect.tryPromise({
      // The signal aborts the call when the attempt is interrupted.
      try: async (signal) => {
        const place = `${gateway}/numbers/${message.numberId}/messages/${message.transportId}`
        return outcomeOf(
          await fetch(place, { method: "PUT", body, duplex: "half", signal } as RequestInit),
        )
      },
      // No answer came, or the media was interrupted: the gateway may have received everything.
      catch: () => "no answer" as const,
    }).pipe(Effect.orElseSucceed((): SendOutcome => ({ _tag: "Unknown" })))
  }),
  // This gateway reports neither ticks nor changes of its connections.
  listen: () => Effect.never,
})

/** A complete transport; only WhatsApp numbers are connected here. */
export const layerGateway = (
  gateway: string,
): Layer.Layer<WhatsAppTransport | TelegramTransport | PhoneDirectory | NumberLinking> =>
  Layer.succeedContext(
    Context.make(WhatsAppTransport, makeTransport(gateway)).pipe(
      Context.add(TelegramTransport, {
        dropsCopies: true,
        send: () => Effect.succeed({ _tag: "NotConnected" }),
        listen: () => Effect.never,
      }),
      Context.add(PhoneDirectory, { checkPhones: () => Effect.succeed({ _tag: "Unknown" }) }),
      Context.add(NumberLinking, {
        link: () => Stream.make({ _tag: "Failed", reason: "Phones are linked at the gateway." }),
      }),
    ),
  )
