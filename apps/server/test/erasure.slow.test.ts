/**
 * Erased data is in no table and in no file. The test plants words in every field that a customer or an
 * operator can fill. It searches for them in a logical dump and in the media files after the erasure.
 */
import { assert, layer } from "@effect/vitest"
import { EmbeddedPostgres, processes } from "@messaging-service/testkit"
import { http } from "@messaging-service/testkit/world"
import { Effect } from "effect"
import { aRound, aService, aVocabulary, assertPlanted, day } from "./plantedWords.ts"
import type { Created, Service } from "./plantedWords.ts"

/** A workspace with a word in every field that can be filled. */
const aFilledWorkspace = ({ request, created, operator, receiver }: Service) =>
  Effect.gen(function* () {
    const { phone, plant, texts } = aVocabulary("kept", "871")
    // The properties of its messages.
    const message = aVocabulary("sent", "872")
    const plan = http.aPlanInJson({ name: plant("plan"), media_storage_bytes: 1_000_000 })
    const workspace = yield* created("/workspaces", { name: plant("workspace"), plan })
    const root = `/workspaces/${workspace.id}`
    const number = yield* created(`${root}/numbers`, {
      platform: "whatsapp",
      phone: phone(),
      label: plant("label"),
    })
    yield* created(
      `${root}/numbers/${number.id}`,
      {
        proxy_url: `http://${plant("proxy")}.example:8080`,
        pacing: { new_recipients_per_day: 99 },
      },
      "PATCH",
    )
    const behaviour = {
      send: "succeed",
      error_message: plant("behaviour"),
      groups: [plant("group")],
    }
    yield* created(`/simulator/numbers/${number.id}/behaviour`, behaviour, "PUT")
    const { key } = yield* created(`${root}/keys`, { version: 2, name: plant("key") })
    const test = yield* created(`${root}/keys`, {
      version: 2,
      name: plant("testkey"),
      mode: "test",
    })
    const first = yield* created(`${root}/keys`, { version: 1 })
    const contact = yield* created(`${root}/contacts`, { name: plant("contact"), phone: phone() })
    yield* created(`${root}/contacts`, { name: "Ada", username: `@${plant("username")}` })

    const from = { "x-forwarded-for": "192.0.2.77" }
    texts.push("192.0.2.77")
    const send = (body: object, headers: Readonly<Record<string, string>> = {}) =>
      request(key, "/api/v2/messages", body, { ...from, ...headers })
    for (const path of ["taken", "refused"]) {
      yield* request(key, "/api/v2/webhooks", {
        url: `${receiver}/${path}/${plant(`hook${path}`)}`,
        description: plant(`description${path}`),
      })
    }
    const { id: sentId } = yield* send(
      { to: { phone: message.phone() }, text: message.plant("text") },
      { "idempotency-key": message.plant("idempotency") },
    )
    yield* send({ to: { contact_id: contact.id }, text: message.plant("tocontact") })
    yield* send({ to: { group: message.plant("togroup") }, text: message.plant("ingroup") })
    yield* send({
      to: { phone: phone() },
      text: plant("scheduled"),
      send_at: "2099-01-01T00:00:00Z",
    })
    yield* send({
      to: { phone: message.phone() },
      text: message.plant("caption"),
      media: {
        url: `${receiver}/${message.plant("link")}.png`,
        file_name: `${message.plant("file")}.png`,
      },
    })
    yield* request(
      test.key,
      "/api/v2/messages",
      { to: { phone: message.phone() }, text: message.plant("test") },
      from,
    )
    const upload = new FormData()
    upload.append("file", new Blob([plant("content")]), `${plant("upload")}.txt`)
    const { id: mediaId } = yield* request(key, "/api/v2/media", upload, from)
    yield* send({
      to: { phone: message.phone() },
      text: message.plant("withfile"),
      media: { media_id: mediaId },
    })
    yield* request(key, "/api/v2/reminders", {
      name: plant("reminder"),
      to: { phone: phone() },
      text: plant("reminded"),
      schedule: { cron: "0 9 * * *", timezone: "UTC" },
    })
    yield* request(key, "/api/v2/number-checks", {
      name: plant("check"),
      phones: [phone(), phone()],
    })

    // Version 1: a callback, and a file that belongs to the send alone.
    const old = (path: string, body: Readonly<Record<string, string | Blob>>) => {
      const form = new FormData()
      for (const [name, value] of Object.entries({
        client_id: String(workspace.id),
        api_key: first.key,
        ...body,
      })) {
        form.append(name, value)
      }
      return request<{ readonly status: number }>(first.key, path, form, from)
    }
    const sent = {
      phone: message.phone(),
      whatsapp_client: String(number.id),
      webhook: `${receiver}/${message.plant("callback")}`,
    }
    yield* old("/api/v1/send_msg/", { ...sent, msg: message.plant("oldtext") })
    yield* old("/api/v1/send_msg/", {
      ...sent,
      webhook: `${receiver}/refused/${message.plant("oldcallback")}`,
      msg_type: "2",
      file_name: `${message.plant("oldfile")}.txt`,
      msg: message.plant("oldcaption"),
      file: new Blob([message.plant("attachment")]),
    })
    yield* old("/api/v1/whatsapp/connect/", {
      whatsapp_number: phone(),
      webhook_url: `${receiver}/${plant("connection")}`,
    })
    yield* operator.request("POST", "/simulator/settle")
    return {
      root,
      texts,
      sentWords: message.texts,
      sentId,
      key,
      first: { api_key: first.key, client_id: workspace.id },
    }
  })

/** An erased message is unknown in both versions; lists skip it. */
const assertUnknown = (
  { url }: Service,
  { first, key, sentId }: Effect.Success<ReturnType<typeof aFilledWorkspace>>,
) =>
  Effect.gen(function* () {
    const token = key
    const read = yield* processes.call<{ readonly error: { readonly code: string } }>(
      "GET",
      `${url}/api/v2/messages/${sentId}`,
      { token },
    )
    assert.deepStrictEqual([read.status, read.body.error.code], [404, "message_not_found"])
    const list = yield* processes.call<{ readonly data: ReadonlyArray<Created> }>(
      "GET",
      `${url}/api/v2/messages`,
      { token },
    )
    assert.notInclude(
      list.body.data.map(({ id }) => id),
      sentId,
    )
    const [erased, unknown] = yield* Effect.forEach([sentId, 999_999], (id) =>
      processes.call("POST", `${url}/api/v1/message/status/`, { body: { ...first, msg_id: id } }),
    )
    assert.deepStrictEqual([erased?.status, erased?.body], [unknown?.status, unknown?.body])
  })

layer(EmbeddedPostgres.layer())("erasure", (it) => {
  it.effect("of a deleted workspace leaves no word after a round of housekeeping", () =>
    Effect.gen(function* () {
      const service = yield* aService
      const { root, sentWords, texts } = yield* aFilledWorkspace(service)
      yield* assertPlanted(service, [...texts, ...sentWords])
      yield* service.created(root, undefined, "DELETE")
      yield* service.operator.advance(aRound)
      assert.deepStrictEqual(yield* service.found([...texts, ...sentWords]), [])
    }),
  )

  it.effect("of messages leaves no word after their retention", () =>
    Effect.gen(function* () {
      const service = yield* aService
      const filled = yield* aFilledWorkspace(service)
      const { sentWords, texts: words } = filled
      yield* assertPlanted(service, [...words, ...sentWords])
      yield* service.operator.advance(6 * day)
      const texts = sentWords.filter((word) => word.includes("text"))
      yield* assertPlanted(service, texts)
      // Refused deliveries have ended meanwhile, and block nothing.
      yield* service.operator.advance(2 * day)
      assert.deepStrictEqual(yield* service.found(sentWords), [])
      yield* assertUnknown(service, filled)
      // Data of no message remains, and so do unsent messages.
      const stored = ["workspace", "label", "contact", "scheduled", "content", "reminded"]
      yield* assertPlanted(
        service,
        stored.map((field) => `zqkept${field}qz`),
      )
    }),
  )

  it.effect("of a number, key and contact leaves no word of them, and keeps the others'", () =>
    Effect.gen(function* () {
      const service = yield* aService
      const { request, created, operator } = service
      const workspace = yield* created("/workspaces", { name: "Shop" })
      const root = `/workspaces/${workspace.id}`
      const sets = []
      for (const [purpose, digits] of [
        ["gone", "874"],
        ["stays", "875"],
      ] as const) {
        const { phone, plant, texts } = aVocabulary(purpose, digits)
        const number = yield* created(`${root}/numbers`, {
          platform: "whatsapp",
          phone: phone(),
          label: plant("label"),
        })
        const proxy = { proxy_url: `http://${plant("proxy")}.example:8080` }
        yield* created(`${root}/numbers/${number.id}`, proxy, "PATCH")
        yield* created(
          `/simulator/numbers/${number.id}/behaviour`,
          { send: "succeed", error_message: plant("behaviour"), groups: [plant("group")] },
          "PUT",
        )
        const key = yield* created(`${root}/keys`, { version: 2, name: plant("key") })
        const address = `192.0.2.${digits.slice(1)}`
        texts.push(address)
        yield* request(
          key.key,
          "/api/v2/messages",
          {
            to: { phone: "+15550001234" },
            from: number.id,
            text: "Hello",
            send_at: "2099-01-01T00:00:00Z",
          },
          { "x-forwarded-for": address },
        )
        const contacts = [
          yield* created(`${root}/contacts`, { name: plant("contact"), phone: phone() }),
          yield* created(`${root}/contacts`, { name: "Ada", username: `@${plant("username")}` }),
        ]
        yield* assertPlanted(service, texts)
        sets.push({ contacts, key, number, texts })
      }
      const [deleted, stays] = sets
      if (deleted === undefined || stays === undefined) return assert.fail("two sets were made")
      const paths = [
        `numbers/${deleted.number.id}`,
        `keys/${deleted.key.id}`,
        ...deleted.contacts.map(({ id }) => `contacts/${id}`),
      ]
      for (const path of paths) yield* created(`${root}/${path}`, undefined, "DELETE")
      yield* operator.advance(aRound)
      const phoneOfMessages = deleted.texts[0] ?? ""
      const found = yield* service.found(deleted.texts)
      // The number's waiting message was cancelled, and keeps the phone that it was created with.
      assert.deepStrictEqual(
        found.filter(
          (path) => !/^(messages|outbox): /.test(path) || !path.endsWith(phoneOfMessages),
        ),
        [],
      )
      yield* assertPlanted(service, stays.texts)
    }),
  )
})
