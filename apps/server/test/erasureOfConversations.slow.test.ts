/**
 * What people wrote is in no table and in no file once it is erased (conversations, section 10): texts, names,
 * addresses, files, the platform's ids, and the events that told of them.
 */
import { assert, layer } from "@effect/vitest"
import { receivedEventTypes } from "@messaging-service/core"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { aRound, aService, aVocabulary, assertPlanted, day } from "./plantedWords.ts"
import type { Created, Service } from "./plantedWords.ts"

interface Received extends Created {
  readonly chat: Created
}

type Vocabulary = ReturnType<typeof aVocabulary>

/** The people of one vocabulary write to one number. */
const aNumberWithPeople = (service: Service, number: Created, words: Vocabulary) => {
  const { created, operator } = service
  const { phone, plant, texts } = words
  const path = `/simulator/numbers/${number.id}/received-messages`
  const write = (body: object) => created<Received>(path, body)
  const address = () => {
    // WhatsApp's and Telegram's other names of an account are digits.
    const digits = `77${phone().slice(1)}`
    texts.push(digits)
    return digits
  }
  return {
    write,
    /** A person writes, with a file, and all that may come with a text. */
    aMessage: (from: object, more: object = {}) =>
      write({
        from,
        ...more,
        text: plant("caption"),
        remote_id: plant("remote"),
        media: {
          file_name: `${plant("file")}.txt`,
          data: Buffer.from(plant("bytes")).toString("base64"),
        },
      }),
    /** A chat with one message of each kind. */
    aChat: Effect.gen(function* () {
      const from = { phone: phone(), name: plant("name") }
      const first = yield* write({ from, text: plant("text") })
      yield* write({ from, text: plant("answer"), reply_to: { received_message_id: first.id } })
      yield* created(`/simulator/received-messages/${first.id}/edit`, { text: plant("edited") })
      const revoked = yield* write({ from, text: plant("revoked") })
      yield* created(`/simulator/received-messages/${revoked.id}/revoke`, undefined)
      const location = {
        latitude: 1.5,
        longitude: 2.5,
        name: plant("place"),
        address: plant("street"),
      }
      yield* write({ from, kind: "location", content: location })
      const contacts = [{ name: plant("card"), phones: [phone()] }]
      yield* write({ from, kind: "contact", content: { contacts } })
      const poll = { question: plant("question"), options: [plant("option"), "no"] }
      yield* write({ from, kind: "poll", content: poll })
      yield* write({ from, kind: "unsupported", content: { type: plant("type") } })
      const owner = { from: "owner", to_phone: `+${from.phone.slice(1)}` }
      yield* write({ ...owner, text: plant("echo") })
      return first.chat
    }),
    /** Others who write: in a group, and under addresses that are not phones. */
    others: Effect.gen(function* () {
      const member = { lid: address(), name: plant("member") }
      yield* write({ from: member, group: plant("group"), text: plant("ingroup") })
      yield* write({ from: { username: plant("username") }, text: plant("byname") })
      yield* write({ from: { user_id: address(), name: plant("user") }, text: plant("byid") })
      const from = { phone: phone(), name: plant("awaited") }
      const waiting = { from, remote_id: plant("waiting"), text: "", readable: false }
      const { status } = yield* operator.request("POST", path, waiting)
      assert.strictEqual(status, 202)
    }),
  }
}

const aHearingWorkspace = (service: Service, settings: object = {}) =>
  Effect.gen(function* () {
    const { created, receiver, request } = service
    const workspace = yield* created("/workspaces", { name: "Shop" })
    const root = `/workspaces/${workspace.id}`
    yield* created(`${root}/conversations`, { groups: true, ...settings }, "PUT")
    const { key } = yield* created(`${root}/keys`, { version: 2, name: "Key" })
    for (const path of ["taken", "refused"]) {
      yield* request(key, "/api/v2/webhooks", {
        url: `${receiver}/${path}`,
        events: receivedEventTypes,
      })
    }
    const aNumber = (phone: string) =>
      created(`${root}/numbers`, { platform: "whatsapp", phone, label: "Number" })
    return { root, key, aNumber }
  })

/** A message of that number, to which a person reacts. */
const react = (service: Service, key: string, from: Created, words: Vocabulary) =>
  Effect.gen(function* () {
    const { created, operator, request } = service
    const body = { to: { phone: "+15550001111" }, from: from.id, text: "Hello" }
    const sent = yield* request(key, "/api/v2/messages", body)
    yield* operator.request("POST", "/simulator/settle")
    const person = { phone: words.phone(), name: words.plant("reacting") }
    yield* created(`/simulator/messages/${sent.id}/react`, { from: person, emoji: "👍" })
  })

/** Deletes with the key, as callers do. */
const remove = ({ url }: Service, token: string, path: string) =>
  Effect.map(processes.call("DELETE", `${url}/api/v2${path}`, { token }), ({ body, status }) =>
    assert.strictEqual(status, 200, JSON.stringify(body)),
  )

/** None of these words is anywhere, and all of the others are. */
const assertErased = (
  service: Service,
  gone: ReadonlyArray<Vocabulary>,
  kept: ReadonlyArray<Vocabulary>,
) =>
  Effect.gen(function* () {
    assert.deepStrictEqual(yield* service.found(gone.flatMap(({ texts }) => texts)), [])
    yield* assertPlanted(
      service,
      kept.flatMap(({ texts }) => texts),
    )
  })

layer(EmbeddedPostgres.layer())("what people wrote", (it) => {
  it.effect("leaves no word after it was deleted, and keeps the others'", () =>
    Effect.gen(function* () {
      const service = yield* aService
      const { created, operator, request } = service
      const { aNumber, key, root } = yield* aHearingWorkspace(service)
      const [first, second] = [yield* aNumber("+15558800001"), yield* aNumber("+15558800002")]
      const message = aVocabulary("message", "881")
      const chat = aVocabulary("chat", "882")
      const number = aVocabulary("number", "883")
      const rest = aVocabulary("rest", "884")

      // In a group that others write in too, and answered with a quote.
      const heard = aNumberWithPeople(service, first, message)
      const person = { phone: message.phone(), name: message.plant("writer") }
      const one = yield* heard.aMessage(person, { group: "Team" })
      yield* heard.write({ from: { phone: "+15550003333" }, group: "Team", text: "Hello" })
      yield* request(key, "/api/v2/messages", {
        to: { chat_id: one.chat.id },
        reply_to: { received_message_id: one.id },
        text: "Welcome",
      })
      const ofChat = aNumberWithPeople(service, first, chat)
      const { id: chatId } = yield* ofChat.aChat
      const [latest] = (yield* operator.request<{ readonly data: ReadonlyArray<Created> }>(
        "GET",
        `${root}/received-messages?chat_id=${chatId}`,
      )).body.data
      yield* request(key, `/api/v2/chats/${chatId}/read`, { up_to: latest?.id })
      for (const [ofNumber, words] of [
        [second, number],
        [first, rest],
      ] as const) {
        const others = aNumberWithPeople(service, ofNumber, words)
        yield* others.aMessage({ phone: words.phone(), name: words.plant("writer") })
        yield* others.aChat
        yield* others.others
        yield* react(service, key, ofNumber, words)
      }
      yield* operator.request("POST", "/simulator/settle")
      const all = [message, chat, number, rest]
      yield* assertErased(service, [], all)

      const deletions = [
        remove(service, key, `/received-messages/${one.id}`),
        remove(service, key, `/chats/${chatId}`),
        created(`${root}/numbers/${second.id}`, undefined, "DELETE"),
        created(`${root}/conversations`, undefined, "DELETE"),
      ]
      for (const [index, deletion] of deletions.entries()) {
        yield* deletion
        yield* operator.advance(aRound)
        yield* assertErased(service, all.slice(0, index + 1), all.slice(index + 1))
      }
    }),
  )

  it.effect("leaves no word after its retention, or with its workspace", () =>
    Effect.gen(function* () {
      const service = yield* aService
      const { created, operator } = service
      const ended = aVocabulary("ended", "885")
      const deleted = aVocabulary("deleted", "887")
      const hearing = yield* aHearingWorkspace(service, { retention_days: 1 })
      const number = yield* hearing.aNumber("+15558800003")
      const heard = aNumberWithPeople(service, number, ended)
      yield* heard.aMessage({ phone: ended.phone(), name: ended.plant("writer") })
      yield* heard.aChat
      yield* heard.others
      yield* react(service, hearing.key, number, ended)
      const other = yield* aHearingWorkspace(service)
      const otherNumber = yield* other.aNumber("+15558800004")
      const others = aNumberWithPeople(service, otherNumber, deleted)
      yield* others.aMessage({ phone: deleted.phone(), name: deleted.plant("writer") })
      yield* others.aChat
      yield* others.others
      yield* react(service, other.key, otherNumber, deleted)
      yield* operator.request("POST", "/simulator/settle")
      yield* assertErased(service, [], [ended, deleted])
      yield* operator.advance(day + 2 * aRound)
      yield* assertErased(service, [ended], [deleted])
      yield* created(other.root, undefined, "DELETE")
      yield* operator.advance(aRound)
      yield* assertErased(service, [deleted], [])
    }),
  )
})
