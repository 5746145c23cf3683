/** Calling the core directly: no HTTP, no server, the same rules. */
import { Admission, Messages, parseId } from "@messaging-service/core"
import type { MessageId } from "@messaging-service/core"
import { Effect } from "effect"
import { aKey } from "./service.ts"

/** Sends a message and reads it until it has left. */
export const sendAndFollow = Effect.gen(function* () {
  const admission = yield* Admission
  const messages = yield* Messages
  const { caller } = yield* admission.admitV2(`Bearer ${yield* aKey}`, "127.0.0.1")

  const { messages: accepted } = yield* messages.send(
    caller,
    { to: { phone: "+15550100002" }, text: "Hello" },
    null,
  )
  const id = parseId<MessageId>(String(accepted[0]?.id))
  const sent = yield* messages
    .get(caller, id)
    .pipe(
      Effect.delay("10 millis"),
      Effect.repeat({ times: 500, until: ({ status }) => status === "sent" }),
    )
  return [accepted[0]?.status, sent.status]
})
