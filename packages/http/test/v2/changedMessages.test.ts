/** What happens to received messages, over the emulator controls: its events, and what a number tells besides. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { aKey, aListener, aSender, expectBody, operate, settle } from "../Records.ts"
import type { Created, PageBody } from "../Records.ts"
import {
  anEndpoint,
  create,
  hook,
  layerWithWayOut,
  pass,
  path,
  simulator,
} from "../webhooks/Asking.ts"
import type { EndpointBody } from "../webhooks/Asking.ts"
import { aReceiver, bodyOfDelivery } from "../webhooks/Receiver.ts"
import { send } from "./Asking.ts"
import { ada, get, inWorkspace, list, received, tryWrite, turnOn, write } from "./Received.ts"
import type { Received } from "./Received.ts"

const person = { ...ada, lid: null, user_id: null, username: null }

const control = <A extends object = Received>(method: string, at: string, json?: object) =>
  Effect.map(
    operate({ method, path: `${simulator}/${at}`, ...(json === undefined ? {} : { json }) }),
    (answer) => expectBody<A>(answer, 200),
  )

const edit = ({ id }: Created, text: string) =>
  control("POST", `received-messages/${id}/edit`, { text })

const react = ({ id }: Created, emoji: string | null) =>
  control("POST", `messages/${id}/react`, { from: ada, emoji })

const setAway = ({ id }: Created, away: boolean) =>
  control<object>("PUT", `numbers/${id}/away`, { away })

type EventData = Readonly<Record<string, unknown>>

/** A workspace with conversations, and the events that its endpoint gets, in order. */
const aToldListener = (events: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const receiver = yield* aReceiver
    const listener = yield* aListener()
    yield* anEndpoint(listener.token, receiver, { events })
    const readEvents = Effect.map(settle, () =>
      // A delivery may be repeated once the clock has moved.
      [
        ...new Map(
          receiver.deliveries.map(bodyOfDelivery).map((event) => [event.id, event]),
        ).values(),
      ].map(({ data, type }): EventData => ({ type, ...data })),
    )
    return { ...listener, readEvents }
  })

layer(layerWithWayOut())("received messages", (it) => {
  it.effect("are edited and revoked by their author, each told once", () =>
    Effect.gen(function* () {
      const { number, readEvents, token } = yield* aToldListener([
        "message.edited",
        "message.revoked",
      ])
      const written = yield* write(number)
      const edited = yield* edit(written, "Goodbye")
      assert.deepInclude(edited, { id: written.id, text: "Goodbye" })
      assert.isNotNull(edited["edited_at"])
      assert.deepStrictEqual(yield* readEvents, [
        { type: "message.edited", received_message: edited },
      ])
      const revoked = yield* control("POST", `received-messages/${written.id}/revoke`)
      assert.deepInclude(revoked, { text: "", content: null, media: null })
      assert.deepStrictEqual(yield* edit(written, "Again"), revoked)
      assert.deepStrictEqual(yield* get(token, `${received}/${written.id}`), revoked)
      assert.sameDeepMembers(
        [...(yield* readEvents)],
        [
          { type: "message.edited", received_message: edited },
          { type: "message.revoked", received_message: revoked },
        ],
      )
    }),
  )

  it.effect("that cannot be read wait 10 minutes for a copy, and take a later one", () =>
    Effect.gen(function* () {
      const types = ["message.received", "message.recovered"]
      const { number, readEvents, token } = yield* aToldListener(types)
      const lost = { from: ada, remote_id: "A1", readable: false }
      for (const json of [lost, lost, { ...lost, remote_id: "A2" }]) {
        const waits = expectBody(yield* tryWrite(number, json), 202)
        assert.deepStrictEqual(waits, { remote_id: json.remote_id })
      }
      assert.deepStrictEqual(yield* list(token), [])
      const copy = yield* write(number, { remote_id: "A1" })
      assert.deepInclude(copy, { kind: "text", sequence: 1 })
      yield* settle
      yield* pass(601)
      const [unreadable] = yield* list(token)
      assert.deepInclude(unreadable, { kind: "unreadable", text: "", sequence: 2 })
      const late = yield* tryWrite(number, { from: ada, text: "Late", remote_id: "A2" })
      const recovered = expectBody<Received>(late, 200)
      const expected: object = { ...unreadable, kind: "text", text: "Late" }
      assert.deepStrictEqual<object>(recovered, expected)
      assert.deepStrictEqual(expectBody(yield* tryWrite(number, lost), 200), copy)
      assert.sameDeepMembers(
        [...(yield* readEvents)],
        [
          { type: "message.received", received_message: copy },
          { type: "message.received", received_message: unreadable },
          { type: "message.recovered", received_message: recovered },
        ],
      )
    }),
  )

  it.effect("come in order once a number is no longer away", () =>
    Effect.gen(function* () {
      const { number, token } = yield* aListener()
      const first = yield* write(number)
      assert.deepStrictEqual(yield* setAway(number, true), { away: true })
      const readNumber = get(token, `/api/v2/numbers/${number.id}`)
      assert.deepInclude(yield* readNumber, { status: "disconnected" })
      for (const text of ["2", "3"]) {
        const json = { from: ada, text, remote_id: `B${text}` }
        assert.deepStrictEqual(expectBody(yield* tryWrite(number, json), 202), {
          remote_id: json.remote_id,
        })
      }
      assert.deepStrictEqual(yield* edit(first, "1"), first)
      assert.deepStrictEqual(yield* list(token), [first])
      assert.deepStrictEqual(yield* setAway(number, false), { away: false })
      assert.deepInclude(yield* readNumber, { status: "connected" })
      const after = yield* list(token, `?number=${number.id}&after=0`)
      assert.deepStrictEqual(
        after.map(({ sequence, text }) => [sequence, text]),
        [
          [1, "1"],
          [2, "2"],
          [3, "3"],
        ],
      )
    }),
  )
})

layer(layerWithWayOut())("people", (it) => {
  it.effect("react to messages, change it and take it back", () =>
    Effect.gen(function* () {
      const { number, readEvents, token } = yield* aToldListener(["message.reaction"])
      const message = yield* send(token, { to: { phone: ada.phone }, from: number.id })
      yield* settle
      for (const emoji of ["👍", "👍", "🎉", null]) {
        assert.deepInclude(yield* react(message, emoji), { id: message.id, status: "sent" })
      }
      const reactions = yield* readEvents
      assert.sameDeepMembers(
        reactions.map(({ reaction }) => {
          const { at: _, ...rest } = reaction as Readonly<Record<string, unknown>>
          return rest
        }),
        ["👍", "🎉", null].map((emoji) => ({ from: person, emoji })),
      )
      for (const { message: about } of reactions) {
        assert.deepInclude(about, { id: message.id, status: "sent" })
      }
    }),
  )

  it.effect("quote what was written, and what was sent", () =>
    Effect.gen(function* () {
      const { number, token } = yield* aListener()
      const message = yield* send(token, { to: { phone: ada.phone }, from: number.id })
      yield* settle
      const answer = yield* write(number, { reply_to: { message_id: message.id } })
      assert.deepInclude(answer["reply_to"], { message_id: message.id })
      const next = yield* write(number, { reply_to: { received_message_id: answer.id } })
      assert.deepInclude(next["reply_to"], { received_message_id: answer.id, text: "Hello" })
      for (const reply_to of [{}, { message_id: message.id, received_message_id: answer.id }]) {
        const refused = errorBody(yield* tryWrite(number, { from: ada, reply_to }))
        assert.strictEqual(refused.code, "validation_failed")
      }
      const unknown = { from: ada, reply_to: { received_message_id: 999_999 } }
      assert.strictEqual(errorBody(yield* tryWrite(number, unknown)).field, "reply_to")
    }),
  )
})

layer(layerWithWayOut())("a platform that skips messages", (it) => {
  it.effect("makes a gap of the number", () =>
    Effect.gen(function* () {
      const { number, readEvents } = yield* aToldListener(["number.gap"])
      assert.deepStrictEqual(yield* control<object>("POST", `numbers/${number.id}/gap`), {})
      const [event, ...others] = yield* readEvents
      assert.deepStrictEqual(others, [])
      assert.deepInclude(event?.["gap"], { number_id: number.id, reason: "skipped" })
    }),
  )
})

layer(layerWithWayOut())("event types of conversations", (it) => {
  const events = ["message.sent", "number.gap", "message.edited"]

  it.effect("are hidden of endpoints, and kept, while conversations are off", () =>
    Effect.gen(function* () {
      const { token, workspace } = yield* aListener()
      const created = expectBody<EndpointBody>(yield* create(token, { ...hook, events }), 201)
      const at = inWorkspace(workspace, `webhooks`)
      const listEvents = Effect.gen(function* () {
        const own = yield* get<EndpointBody>(token, `${path}/${created.id}`)
        const all = expectBody<{ readonly data: ReadonlyArray<EndpointBody> }>(
          yield* operate({ path: at }),
          200,
        )
        return [own, ...all.data].map((endpoint) => endpoint.events)
      })
      assert.deepStrictEqual(yield* listEvents, [events, events])
      const conversations = inWorkspace(workspace, "conversations")
      expectBody(yield* operate({ method: "DELETE", path: conversations }), 200)
      assert.deepStrictEqual(yield* listEvents, [["message.sent"], ["message.sent"]])
      const changed = yield* operate({
        method: "PATCH",
        path: `${at}/${created.id}`,
        json: { description: "Mine" },
      })
      assert.deepStrictEqual(expectBody<EndpointBody>(changed, 200).events, ["message.sent"])
      yield* turnOn(workspace)
      assert.deepStrictEqual(yield* listEvents, [events, events])
    }),
  )

  it.effect("are no endpoint's latest delivery while conversations are off", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { number, token, workspace } = yield* aListener()
      const endpoint = yield* anEndpoint(token, receiver, { events })
      yield* send(token)
      yield* settle
      yield* control<object>("POST", `numbers/${number.id}/gap`)
      yield* settle
      const lastTypes = Effect.gen(function* () {
        const own = yield* get<EndpointBody>(token, `${path}/${endpoint.id}`)
        const all = yield* get<PageBody<EndpointBody>>(token, path)
        return [own, ...all.data].map((each) => each.last_delivery?.type)
      })
      assert.deepStrictEqual(yield* lastTypes, ["number.gap", "number.gap"])
      const conversations = inWorkspace(workspace, "conversations")
      expectBody(yield* operate({ method: "DELETE", path: conversations }), 200)
      assert.deepStrictEqual(yield* lastTypes, ["message.sent", "message.sent"])
    }),
  )

  it.effect("are named by a refusal where the workspace has them", () =>
    Effect.gen(function* () {
      const { token } = yield* aListener()
      const wrong = { ...hook, events: ["message.sent", "message.lost"] }
      assert.include(errorBody(yield* create(token, wrong)).message, "message.recovered")
      const other = yield* aSender()
      assert.notInclude(errorBody(yield* create(other.token, wrong)).message, "message.recovered")
    }),
  )

  it.effect("need a scope when people's words are among them", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aListener()
      const { key } = yield* aKey(workspace, { scopes: ["messages:read"] })
      expectBody(yield* create(key, { ...hook, events: ["number.gap"] }), 201)
      for (const type of [
        "message.edited",
        "message.revoked",
        "message.reaction",
        "message.recovered",
      ]) {
        const refused = errorBody(yield* create(key, { ...hook, events: [type] }))
        assert.strictEqual(refused.code, "missing_scope", type)
      }
    }),
  )
})
