/** Calls the core directly: no HTTP, no server, the same rules. */
import { Admission, Caller, Messages, Workspaces, parseId } from "@messaging-service/core"
import type { MessageId } from "@messaging-service/core"
import { Effect } from "effect"
import { aKey, aWorkspace } from "./service.ts"

/** With a key, like a request. */
export const byKey = Effect.gen(function* byKey() {
  const admission = yield* Admission
  const { caller } = yield* admission.admitV2(`Bearer ${yield* aKey}`, "127.0.0.1")
  return caller
})

/** Without a key: this program chooses the workspace. */
export const byWord = Effect.gen(function* byWord() {
  const workspaces = yield* Workspaces
  return Caller.trusted(yield* workspaces.get(yield* aWorkspace), {
    scopes: ["messages:send", "messages:read"],
  })
})

/** Sends a message and polls it until it has left. */
export const sendAndFollow = Effect.fnUntraced(function* sendAndFollow(caller: Caller) {
  const messages = yield* Messages

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
      Effect.repeat({ times: 500, until: ({ state }) => state === "sent" }),
    )
  return [accepted[0]?.state, sent.state]
})
