/** What people write, over HTTP: answers, events, rights, pages, and what a workspace without it sees. */
import { createHash } from "node:crypto"
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { aKey, aListener, aNumber, aSender, expectBody, operate, settle } from "../Records.ts"
import type { Created, PageBody } from "../Records.ts"
import { anEndpoint, ask, create, hook, layerWithWayOut, pass } from "../webhooks/Asking.ts"
import { aReceiver, bodyOfDelivery } from "../webhooks/Receiver.ts"
import { send } from "./Asking.ts"
import { follow, png } from "./Uploading.ts"
import {
  ada,
  chats,
  get,
  inWorkspace,
  list,
  received,
  tryWrite,
  turnOn,
  write,
} from "./Received.ts"
import type { Received } from "./Received.ts"

interface Media {
  readonly media: { readonly [field: string]: unknown; readonly url: string }
}

const getCode = (token: string, path: string, method = "GET") =>
  Effect.map(ask({ method, path, token }), (answer) => errorBody(answer).code)

layer(layerWithWayOut())("received messages", (it) => {
  it.effect("are answered as their event tells of them, and stand in a chat", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { number, token: key } = yield* aListener()
      yield* anEndpoint(key, receiver, { events: ["message.received", "message.echo"] })
      const location = { latitude: 1.5, longitude: -2, name: 'A "bar"' }
      const first = yield* write(number, { kind: "location", content: location })
      const echo = yield* write(number, { from: "owner", to_phone: ada.phone, text: "Welcome" })
      yield* settle
      const events = receiver.deliveries.map(bodyOfDelivery)
      assert.sameMembers(
        events.map(({ type }) => type),
        ["message.received", "message.echo"],
      )
      for (const { data, type } of events) {
        const announced = (data as unknown as { readonly received_message: Received })
          .received_message
        const answer = yield* ask({ path: `${received}/${announced.id}`, token: key })
        assert.strictEqual(JSON.stringify(answer.body), JSON.stringify(announced))
        assert.strictEqual(announced["from_me"], type === "message.echo")
      }
      assert.deepInclude(first, {
        sequence: 1,
        from: { ...ada, lid: null, user_id: null, username: null },
        content: { ...location, address: null },
      })
      assert.deepInclude(echo, { sequence: 2, chat: first["chat"] })
      assert.deepStrictEqual(yield* list(key), [echo, first])
      const [chat] = yield* list(key, "?unread=true&phone=%2B15550001234", chats)
      assert.deepInclude(chat, { ...ada, number_id: number.id, unread: 1, type: "person" })
      assert.deepStrictEqual(yield* get(key, `${chats}/${chat?.id}`), chat)
    }),
  )

  it.effect("bring files, which are fetched, served by signed links and erased with them", () =>
    Effect.gen(function* () {
      const receiver = yield* aReceiver
      const { number, token: key, workspace } = yield* aListener()
      yield* anEndpoint(key, receiver, { events: ["message.received"] })
      const file = { file_name: "menu.png", data: png.toString("base64") }
      const {
        id,
        kind,
        media: first,
      } = yield* write<Received & Media>(number, { media: file, kind: "image" })
      assert.strictEqual(kind, "image")
      assert.deepInclude(first, { state: "remote", file_name: "menu.png", mime_type: null })
      yield* settle
      const { media } = yield* get<Received & Media>(key, `${received}/${id}`)
      const { url: _, ...shown } = media
      assert.deepStrictEqual(shown, {
        state: "ready",
        mime_type: "image/png",
        size: png.length,
        file_name: "menu.png",
        seconds: null,
        sha256: createHash("sha256").update(png).digest("hex"),
      })
      const [announced] = receiver.deliveries.map(
        (delivery) =>
          (
            bodyOfDelivery(delivery).data as unknown as {
              readonly received_message: Received & Media
            }
          ).received_message,
      )
      assert.strictEqual(announced?.media["state"], "remote")
      for (const url of [media.url, announced?.media.url ?? ""]) {
        const answer = yield* follow(url)
        assert.deepStrictEqual(answer.bytes, png)
        assert.strictEqual(answer.headers.get("content-type"), "image/png")
      }
      const { stored } = yield* operate({ path: inWorkspace(workspace, "conversations") }).pipe(
        Effect.map((answer) => expectBody<{ readonly stored: object }>(answer, 200)),
      )
      assert.deepInclude(stored, { messages: 1, bytes: png.length })
      const forged = media.url.replace(/received-\w/, "received-z")
      assert.strictEqual((yield* follow(forged)).status, 404)
      expectBody(yield* ask({ method: "DELETE", path: `${received}/${id}`, token: key }), 200)
      assert.strictEqual((yield* follow(media.url)).status, 404)
    }),
  )

  it.effect("name their files without folders and control characters, as uploads are named", () =>
    Effect.gen(function* () {
      const { number } = yield* aListener()
      const long = `${"x".repeat(250)}.txt`
      const names = [
        ["../../etc/passwd", "passwd"],
        ["C:\\Users\\Ada\\list.txt", "list.txt"],
        ["a\u0001b\r\nX: y.txt", "abX: y.txt"],
        ["../", null],
        [long, long],
      ] as const
      for (const [given, shown] of names) {
        const file = { file_name: given, data: png.toString("base64") }
        const { media } = yield* write<Received & Media>(number, { kind: "document", media: file })
        assert.strictEqual(media["file_name"], shown)
      }
    }),
  )

  it.effect("bring files that are fetched once their link is called, or never", () =>
    Effect.gen(function* () {
      const media = { file_name: "a.txt", data: Buffer.from("Text").toString("base64") }
      const whole = Buffer.alloc(1024 ** 2).toString("base64")
      const demanded = yield* aListener({ media: "on_demand" })
      const { id } = yield* write(demanded.number, { media })
      yield* settle
      const read = get<Received & Media>(demanded.token, `${received}/${id}`)
      const { media: remote } = yield* read
      assert.strictEqual(remote.state, "remote")
      assert.strictEqual((yield* follow(remote.url)).bytes.toString(), "Text")
      assert.deepInclude((yield* read).media, { state: "ready", mime_type: "text/plain" })
      for (const [settings, state] of [
        [{ media: "off" }, "off"],
        [{ max_file_bytes: 3 }, "too_large"],
        [{ max_storage_bytes: 3 }, "full"],
      ] as const) {
        const { number, token: key } = yield* aListener(settings)
        const message = yield* write(number, { media })
        yield* settle
        const file = yield* get<Received & Media>(key, `${received}/${message.id}`)
        assert.deepInclude<object>(file.media, { state, url: null, size: 4, file_name: "a.txt" })
      }
      const { number } = yield* aListener()
      yield* write(number, { media: { data: whole } })
      for (const data of ["no base64!", `${whole}AAAA`]) {
        const refused = yield* tryWrite(number, { from: ada, media: { data } })
        assert.strictEqual(errorBody(refused).code, "validation_failed")
      }
    }),
  )

  it.effect("come once: a repeat is answered with the stored one", () =>
    Effect.gen(function* () {
      const { number, token: key } = yield* aListener()
      const first = yield* write(number, { remote_id: "A1" })
      const again = yield* tryWrite(number, { from: ada, text: "Other", remote_id: "A1" })
      assert.deepStrictEqual(expectBody(again, 200), first)
      const answer = yield* write(number, { reply_to: { received_message_id: first.id } })
      assert.deepStrictEqual(answer["reply_to"], {
        received_message_id: first.id,
        message_id: null,
        text: "Hello",
      })
      assert.lengthOf(yield* list(key), 2)
    }),
  )

  it.effect("quote a message by its id, which the emulator knows", () =>
    Effect.gen(function* () {
      const { number, token: key } = yield* aListener()
      const message = yield* send(key, { to: { phone: ada.phone }, text: "Ready at seven." })
      yield* pass(1)
      const answer = yield* write(number, { reply_to: { message_id: message.id } })
      assert.deepStrictEqual(answer["reply_to"], {
        received_message_id: null,
        message_id: message.id,
        text: "Ready at seven.",
      })
      for (const reply_to of [{ message_id: 999_999 }, { message_id: 1, remote_id: "A" }, {}]) {
        const refused = errorBody(yield* tryWrite(number, { from: ada, reply_to }))
        assert.strictEqual(refused.code, "validation_failed")
        assert.match(refused.field ?? "", /^reply_to/)
      }
    }),
  )

  it.effect("are listed by number, chat, kind and time, page by page", () =>
    Effect.gen(function* () {
      const { number, workspace, token: key } = yield* aListener({ groups: true })
      const other = yield* aNumber(workspace, { phone: "+15550007777" })
      const one = yield* write(number)
      yield* pass(60)
      const two = yield* write(number, { group: "Team", kind: "poll" })
      const three = yield* write(other, { from: { lid: "77" } })
      const chat = (two["chat"] as Created).id
      assert.deepStrictEqual(yield* list(key, `?number=${number.id}`), [two, one])
      assert.deepStrictEqual(yield* list(key, `?chat_id=${chat}`), [two])
      assert.deepStrictEqual(yield* list(key, "?kind=poll"), [two])
      assert.deepStrictEqual(yield* list(key, `?until=${two["received_at"]}`), [one])
      assert.deepStrictEqual(yield* list(key, `?since=${two["received_at"]}`), [three, two])
      const page = yield* get<PageBody<Received>>(key, `${received}?limit=2`)
      assert.deepStrictEqual(page.data, [three, two])
      assert.deepStrictEqual(yield* list(key, `?limit=2&cursor=${page.next_cursor}`), [one])
      assert.strictEqual(
        yield* getCode(key, `${received}?limit=2&kind=poll&cursor=${page.next_cursor}`),
        "invalid_cursor",
      )
      const latest = yield* list(key, "", chats)
      assert.deepStrictEqual(
        latest.map(({ id }) => id),
        [three, two, one].map((message) => (message["chat"] as Created).id),
      )
    }),
  )

  it.effect("are read on without a hole behind a sequence, with number, kind and limit alone", () =>
    Effect.gen(function* () {
      const { number, token: key } = yield* aListener()
      const first = yield* write(number)
      const second = yield* write(number)
      const at = `?number=${number.id}&after=`
      assert.deepStrictEqual(yield* list(key, `${at}0`), [first, second])
      assert.deepStrictEqual(yield* list(key, `${at}1&kind=text&limit=1`), [second])
      assert.deepStrictEqual(yield* list(key, `${at}2`), [])
      for (const [query, field] of [
        ["?after=0", "after"],
        [`${at}-1`, "after"],
        [`${at}0&chat_id=1`, "chat_id"],
        [`${at}0&since=2026-01-01T00:00:00Z`, "since"],
        [`${at}0&until=2026-01-01T00:00:00Z`, "until"],
        [`${at}0&cursor=x`, "cursor"],
      ] as const) {
        const answer = yield* ask({ path: `${received}${query}`, token: key })
        const { code, field: named } = errorBody(answer)
        assert.deepStrictEqual([code, named], ["validation_failed", field], query)
      }
    }),
  )

  it.effect("are erased one by one and with their chat", () =>
    Effect.gen(function* () {
      const { number, token: key } = yield* aListener()
      const first = yield* write(number)
      const second = yield* write(number)
      const erased = yield* ask({ method: "DELETE", path: `${received}/${first.id}`, token: key })
      assert.deepStrictEqual(expectBody(erased, 200), { id: first.id, deleted: true })
      assert.strictEqual(
        yield* getCode(key, `${received}/${first.id}`),
        "received_message_not_found",
      )
      const chat = `${chats}/${(second["chat"] as Created).id}`
      expectBody(yield* ask({ method: "DELETE", path: chat, token: key }), 200)
      assert.strictEqual(yield* getCode(key, chat), "chat_not_found")
      assert.strictEqual(yield* getCode(key, chat, "DELETE"), "chat_not_found")
      assert.deepStrictEqual(yield* list(key), [])
      assert.strictEqual((yield* write(number))["sequence"], 3)
    }),
  )

  it.effect("are in their chat with what left in it, newest first and in pages", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aListener()
      const first = yield* write(number)
      yield* pass(1)
      const message = yield* send(token, { to: { phone: ada.phone }, text: "Yes" })
      yield* pass(1)
      const second = yield* write(number)
      const path = `${chats}/${(first["chat"] as Created).id}/messages`
      const [latest, sent, oldest, ...others] = yield* list(token, "", path)
      assert.deepStrictEqual(others, [])
      assert.deepStrictEqual(
        [latest, oldest].map((entry) => entry?.["received_message"]),
        [second, first],
      )
      assert.isNull(sent?.["received_message"])
      assert.deepInclude(sent?.["message"], { id: message.id, status: "sent", text: "Yes" })
      const [chat] = yield* list(token, "", chats)
      assert.strictEqual(chat?.["last_sent_at"], sent?.["at"])
      const page = expectBody<PageBody<Received>>(
        yield* ask({ path: `${path}?limit=2`, token }),
        200,
      )
      assert.lengthOf(page.data, 2)
      const rest = yield* list(token, `?limit=2&cursor=${page.next_cursor}`, path)
      assert.deepStrictEqual<unknown>(rest, [oldest])
      const { key } = yield* aKey(workspace, { scopes: ["chats:read"] })
      assert.strictEqual(yield* getCode(key, path), "missing_scope")
      assert.strictEqual(yield* getCode(token, `${path}?cursor=a`), "invalid_cursor")
    }),
  )

  it.effect("are marked as read up to one of them, once for each Idempotency-Key", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aListener()
      const first = yield* write(number)
      const second = yield* write(number)
      const chat = (first["chat"] as Created).id
      const path = `${chats}/${chat}/read`
      const mark = (upTo: number, headers: ReadonlyArray<readonly [string, string]> = []) =>
        ask({ method: "POST", path, token, json: { up_to: upTo }, headers })
      const once = [["idempotency-key", "mark"]] as const
      const marked = { chat_id: chat, up_to: first.id }
      assert.deepStrictEqual(expectBody(yield* mark(first.id, once), 202), marked)
      const [unread] = yield* list(token, "", chats)
      assert.deepInclude(unread, { unread: 1, read_up_to: first.id })
      assert.deepStrictEqual(expectBody(yield* mark(second.id), 202), {
        ...marked,
        up_to: second.id,
      })
      const again = yield* mark(first.id, once)
      assert.deepStrictEqual(expectBody(again, 202), marked)
      assert.strictEqual(again.headers["idempotent-replayed"], "true")
      const refused = errorBody(yield* mark(second.id + 1000))
      assert.deepStrictEqual([refused.code, refused.field], ["received_message_not_found", "up_to"])
      const headers = [["acting-role", "member"]] as const
      const json = { up_to: second.id }
      const inside = inWorkspace(workspace, `chats/${chat}/read`)
      expectBody(yield* operate({ method: "POST", path: inside, json, headers }), 202)
      yield* pass(1)
      const marks = `/admin/v1/simulator/numbers/${number.id}/read-marks`
      const { data } = expectBody<PageBody<Received>>(yield* operate({ path: marks }), 200)
      assert.lengthOf(data, 1)
      assert.deepInclude(data[0], { chat_id: chat, up_to: second.id })
    }),
  )

  it.effect("need their scopes, in a key that was made since", () =>
    Effect.gen(function* () {
      const { number, token, workspace } = yield* aSender()
      yield* turnOn(workspace)
      const { id } = yield* write(number)
      const { key } = yield* aKey(workspace, { scopes: ["messages:read", "chats:read"] })
      assert.strictEqual(yield* getCode(token, received), "missing_scope")
      assert.lengthOf(yield* list(key), 1)
      assert.strictEqual(yield* getCode(key, `${received}/${id}`, "DELETE"), "missing_scope")
      const events = { ...hook, events: ["message.sent", "message.echo"] }
      const refused = errorBody(yield* create(token, events))
      assert.strictEqual(refused.code, "missing_scope")
      assert.include(refused.message, "chats:read")
      expectBody(yield* create(key, events), 201)
    }),
  )

  it.effect("of other numbers are hidden from a limited key", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aListener()
      const other = yield* aNumber(workspace, { phone: "+15550007777" })
      const { key } = yield* aKey(workspace, { number_ids: [other.id] })
      const hidden = yield* write(number)
      const listed = yield* write(other)
      assert.deepStrictEqual(yield* list(key), [listed])
      assert.deepStrictEqual(yield* list(key, `?number=${number.id}&after=0`), [])
      assert.strictEqual(
        yield* getCode(key, `${received}/${hidden.id}`),
        "received_message_not_found",
      )
      const chat = (hidden["chat"] as Created).id
      assert.strictEqual(yield* getCode(key, `${chats}/${chat}`, "DELETE"), "chat_not_found")
      assert.lengthOf(yield* list(key, "", chats), 1)
    }),
  )

  it.effect("are unknown to a workspace without conversations, which the request counts for", () =>
    Effect.gen(function* () {
      yield* aListener()
      const { number, token, workspace } = yield* aSender()
      for (const path of [received, `${received}/1`, chats, `${chats}/1`]) {
        const answer = yield* ask({ path, token })
        assert.deepInclude(errorBody(answer), { code: "not_found" }, path)
        assert.property(answer.headers, "ratelimit-remaining")
      }
      assert.strictEqual(yield* getCode(token, received, "POST"), "method_not_allowed")
      assert.strictEqual(yield* getCode("wrong", received), "invalid_api_key")
      const operated = yield* operate({ path: inWorkspace(workspace, "chats") })
      assert.strictEqual(errorBody(operated).code, "conversations_not_enabled")
      const refused = yield* tryWrite(number, { from: ada, text: "Hello" })
      assert.strictEqual(errorBody(refused).code, "conversations_not_enabled")
    }),
  )

  it.effect("of an operator's workspace have the same answers", () =>
    Effect.gen(function* () {
      const { number, workspace, token: key } = yield* aListener()
      const message = yield* write(number)
      const path = inWorkspace(workspace, `received-messages/${message.id}`)
      assert.deepStrictEqual(expectBody(yield* operate({ path }), 200), message)
      const [chat] = yield* list(key, "", chats)
      const member = [["acting-role", "member"]] as const
      const listed = yield* operate({ path: inWorkspace(workspace, "chats"), headers: member })
      assert.deepStrictEqual(
        expectBody<PageBody<Received>>(listed, 200).data,
        chat === undefined ? [] : [chat],
      )
      const refused = yield* operate({ method: "DELETE", path, headers: member })
      assert.strictEqual(errorBody(refused).code, "role_required")
      expectBody(yield* operate({ method: "DELETE", path }), 200)
      assert.strictEqual(errorBody(yield* operate({ path })).code, "received_message_not_found")
    }),
  )

  it.effect("from a group are refused where groups are left out", () =>
    Effect.gen(function* () {
      const { number } = yield* aListener()
      const refused = errorBody(yield* tryWrite(number, { from: ada, group: "Team" }))
      assert.deepStrictEqual([refused.code, refused.field], ["validation_failed", "group"])
      for (const json of [
        { from: {} },
        { from: { lid: "1", phone: ada.phone } },
        { from: { lid: "902@lid" } },
        { from: { user_id: "bob" } },
        { from: "owner" },
      ]) {
        assert.strictEqual(errorBody(yield* tryWrite(number, json)).code, "validation_failed")
      }
    }),
  )

  it.effect("from a username are in one chat, however it is written", () =>
    Effect.gen(function* () {
      const { number, token: key } = yield* aListener()
      for (const username of ["@kitty", "kitty", "https://t.me/Kitty"]) {
        yield* write(number, { from: { username } })
      }
      const [chat, ...others] = yield* list(key, "", chats)
      assert.deepStrictEqual(others, [])
      assert.deepInclude(chat, { username: "Kitty", unread: 3 })
    }),
  )

  it.effect("answer a test message a second after it was read, quoting it", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aListener()
      const { key } = yield* aKey(workspace, { mode: "test" })
      const message = yield* send(key, { to: { phone: "+15005550003" }, text: "Ping?" })
      yield* pass(2)
      assert.deepStrictEqual(yield* list(key), [])
      yield* pass(1)
      const [answer, ...others] = yield* list(key)
      assert.deepStrictEqual(others, [])
      assert.deepInclude(answer, {
        text: "Ping?",
        reply_to: { received_message_id: null, message_id: message.id, text: "Ping?" },
      })
    }),
  )
})

layer(layerWithWayOut())("received messages, while no workspace has them", (it) => {
  it.effect("are unknown paths whatever the key", () =>
    Effect.gen(function* () {
      const { token } = yield* aSender()
      for (const key of [token, "wrong"]) {
        for (const method of ["GET", "POST"]) {
          assert.strictEqual(yield* getCode(key, received, method), "not_found")
          assert.strictEqual(yield* getCode(key, `${chats}/1`, method), "not_found")
        }
      }
    }),
  )
})
