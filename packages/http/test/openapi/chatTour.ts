/** What people write, as a part of the tour through the whole interface. Turns conversations off at its end. */
import { Effect } from "effect"
import type { Created } from "../Records.ts"
import { operatorToken } from "../Service.ts"
import { simulator, v2 } from "./Tour.ts"
import type { aTour } from "./Tour.ts"

type Tour = Effect.Success<typeof aTour>

type Written = Created & { readonly chat: Created }

/** `at` is the path of the workspace, which has conversations. */
export const chatTour = Effect.fnUntraced(function* chatTour(
  { as, request }: Tour,
  at: string,
  number: number,
) {
  const operator = as(operatorToken)
  const { key } = yield* request<Created & { readonly key: string }>(
    operator("POST", `${at}/keys`, { version: 2, name: "Reader" }),
    201,
  )
  const reader = as(key)
  const write = (json: object, status = 201) =>
    request<Written>(
      operator("POST", `${simulator}/numbers/${number}/received-messages`, json),
      status,
    )

  const from = { phone: "+15550001234", name: "Ada" }
  const first = { from, text: "Hello", remote_id: "first" }
  const { chat, id } = yield* write(first)
  yield* write(first, 200)
  yield* write({ from: "owner", to_phone: from.phone, reply_to: { received_message_id: id } })
  yield* write({ ...first, remote_id: "second", readable: false }, 202)
  const change = (path: string, json?: object) =>
    request(operator("POST", `${simulator}/${path}`, json), 200)
  yield* change(`received-messages/${id}/edit`, { text: "Hello again" })
  yield* change(`received-messages/${id}/revoke`)
  const { id: sent } = yield* request<Created>(
    operator("POST", `${at}/messages`, { to: { phone: from.phone }, text: "Hi" }),
    202,
  )
  yield* change("settle")
  yield* change(`messages/${sent}/react`, { from, emoji: "👍" })
  yield* change(`numbers/${number}/gap`)
  for (const isAway of [true, false]) {
    yield* request(operator("PUT", `${simulator}/numbers/${number}/away`, { away: isAway }), 200)
  }
  for (const [json, status] of [
    [{ new_chats_closed_until: "2100-01-01T00:00:00Z", limit: 10, used: 10 }, 200],
    [{ used: -1 }, 400],
    [{}, 200],
  ] as const) {
    yield* request(operator("PUT", `${simulator}/numbers/${number}/restrictions`, json), status)
  }
  yield* write({ from, kind: "poll", content: { question: "When?", options: ["Now"] } })
  yield* write({ from, kind: "location", content: { latitude: 1.5, longitude: 2 } })
  yield* write({ from, kind: "contact", content: { contacts: [{ name: "Bob", phones: [] }] } })
  yield* write({ from: { lid: "77" }, group: "Team", text: "x".repeat(65_537) })

  for (const [path, ask] of [
    [v2, reader],
    [at, operator],
  ] as const) {
    yield* request(ask("GET", `${path}/received-messages`), 200)
    yield* request(ask("GET", `${path}/received-messages?number=${number}&after=1`), 200)
    yield* request(ask("GET", `${path}/received-messages?after=1`), 400)
    yield* request(ask("GET", `${path}/received-messages/${id}`), 200)
    yield* request(ask("GET", `${path}/numbers/${number}/restrictions`), 200)
    yield* request(ask("GET", `${path}/chats?unread=true`), 200)
    yield* request(ask("GET", `${path}/chats/${chat.id}`), 200)
    yield* request(ask("POST", `${path}/chats/${chat.id}/read`, { up_to: id }), 202)
    yield* request(ask("GET", `${path}/chats/${chat.id}/messages`), 200)
    yield* request(ask("POST", `${path}/chats/${chat.id}/read`, { up_to: id + 100 }), 404)
  }
  yield* request(operator("GET", `${simulator}/numbers/${number}/read-marks`), 200)
  const second = yield* write({ from, text: "Bye" })
  yield* request(reader("DELETE", `${v2}/received-messages/${id}`), 200)
  yield* request(operator("DELETE", `${at}/received-messages/${second.id}`), 200)
  yield* request(reader("DELETE", `${v2}/chats/${chat.id}`), 200)
  const { chat: another } = yield* write({ from, text: "Again" })
  yield* request(operator("DELETE", `${at}/chats/${another.id}`), 200)
  yield* request(operator("DELETE", `${at}/conversations`), 200)
})
