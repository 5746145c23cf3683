/**
 * Images and files of version 1 (contract: Version 1: sends): uploaded with a send or downloaded
 * during the call. A failed call leaves nothing.
 */
import { assert, layer } from "@effect/vitest"
import { Egress, EgressError } from "@messaging-service/core"
import { Deferred, Effect, Layer, Stream } from "effect"
import { request as nodeRequest } from "node:http"
import { Disk } from "../Disk.ts"
import { HttpTestClients } from "../HttpTestClients.ts"
import { layerService } from "../Service.ts"
import { aNumber, expectBody, change, operate, settle } from "../Records.ts"
import type { PageBody } from "../Records.ts"
import { follow, multipart, png, sha256 } from "../v2/Uploading.ts"
import {
  aClient,
  aLonelyClient,
  aText,
  answered,
  request,
  at,
  call,
  onV2,
  assertRefusedV1,
  sends,
  withFile,
} from "./Asking.ts"
import type { Client, SentBody } from "./Asking.ts"

/** Called links, and links that answer. */
const called: Array<string> = []
const pdf = Buffer.from("%PDF-1.7\n%âãÏÓ\n")
const hanging = Deferred.makeUnsafe<void>()

const contents: Readonly<Record<string, Uint8Array>> = {
  "/photo.png": png,
  "/report.pdf": pdf,
  "/text": Buffer.from("Hello"),
  "/login.pdf": Buffer.from("<!doctype html><title>Log in</title>"),
  "/empty": Buffer.from(""),
  "/called": Buffer.from("a,b\n1,2\n"),
}

const layerWeb = Layer.succeed(Egress, {
  allows: (url) => Effect.succeed(!url.includes("private")),
  post: () => Effect.fail(new EgressError({ reason: "connection" })),
  fetch: (url) => {
    called.push(url)
    const { pathname } = new URL(url)
    const bytes = contents[pathname]
    if (pathname === "/slow") {
      return Effect.succeed({
        status: 200,
        headers: {},
        url,
        body: Stream.concat(
          Stream.make(Buffer.from("the first bytes")),
          Stream.fromEffect(Effect.andThen(Deferred.succeed(hanging, undefined), Effect.never)),
        ),
      })
    }
    if (pathname === "/large") return Effect.fail(new EgressError({ reason: "too_large" }))
    return Effect.succeed({
      status: bytes === undefined ? 404 : 200,
      headers:
        pathname === "/called"
          ? { "content-disposition": `attachment; filename="../Liste M%C3%A4rz.csv"` }
          : {},
      url,
      body: Stream.make(bytes ?? Buffer.from("not here")),
    })
  },
})

const unavailable = "Invalid file url, Can't download"

interface Media {
  readonly media_id: number | null
  readonly url: string
  readonly type: string
  readonly file_name: string
}

const readMedia = (client: Pick<Client, "workspace">, id: number) =>
  Effect.map(onV2(client, id), (message) => message["media"] as Media)

interface Parcel {
  readonly message_id: number
  readonly text: string
  readonly media: {
    readonly file_name: string
    readonly mime_type: string
    readonly sha256: string
  } | null
}

/** What left the number's phone for that message. */
const left = (number: { readonly id: number }, id: number) =>
  Effect.gen(function* () {
    yield* settle
    const answer = yield* operate({ path: `/admin/v1/simulator/sent?number_id=${number.id}` })
    return expectBody<PageBody<Parcel>>(answer, 200).data.find(
      ({ message_id }) => message_id === id,
    )
  })

const image = { msg_type: 1, img_url: "https://example.com/photo.png" }
const aFile = { msg_type: 2, file_url: "https://example.com/report.pdf" }

layer(layerService({ egress: layerWeb }))("a file of version 1", (it) => {
  it.effect("is downloaded during the call and sent", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const id = yield* sends(client.credentials, { ...image, msg: "Look" })
      const media = yield* readMedia(client, id)
      assert.deepStrictEqual(
        { ...media, url: "" },
        { media_id: null, url: "", type: "image", file_name: "photo.png" },
      )
      assert.strictEqual(sha256((yield* follow(media.url)).bytes), sha256(png))
      const parcel = yield* left(client.number, id)
      assert.strictEqual(parcel?.text, "Look")
      assert.strictEqual(parcel?.media?.sha256, sha256(png))
    }),
  )

  it.effect("has the given name, and is sent as `msg_type` says", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const named = yield* sends(client.credentials, {
        ...aFile,
        msg: null,
        file_name: "Bericht März.pdf",
      })
      assert.deepInclude(yield* readMedia(client, named), {
        type: "file",
        file_name: "Bericht März.pdf",
      })
      const toName = (file_name: string) =>
        sends(client.credentials, { ...aFile, file_name }).pipe(
          Effect.flatMap((id) => readMedia(client, id)),
          Effect.map((media) => media.file_name),
        )
      assert.strictEqual(yield* toName("files/Ange\tbot.pdf"), "Angebot.pdf")
      assert.strictEqual(yield* toName("files/"), "report.pdf")
      const photo = yield* sends(client.credentials, { msg_type: "2", file_url: image.img_url })
      assert.strictEqual((yield* readMedia(client, photo)).type, "file")
    }),
  )

  it.effect("may be uploaded with the send, in the part `file`", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const fields = { ...client.credentials, ...aText, msg_type: 2 }
      const before = called.length
      for (const input of [{}, { file_url: "https://example.com/nothing" }]) {
        const answer = yield* call("send_msg/", withFile({ ...fields, ...input }, [{}]))
        const id = answered<SentBody>(answer).msg_id
        const media = yield* readMedia(client, id)
        assert.deepInclude(media, { media_id: null, type: "file", file_name: "photo.png" })
        assert.strictEqual((yield* left(client.number, id))?.media?.sha256, sha256(png))
      }
      assert.strictEqual(called.length, before)
    }),
  )

  it.effect("may go to a group, to many and at a given time", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const fields = { ...client.credentials, ...aFile }
      const group = yield* request("send_msg/group/", { ...fields, group_name: "Team" })
      assert.strictEqual((yield* readMedia(client, answered<SentBody>(group).msg_id)).type, "file")
      const many = yield* request("send_msg/multi/", {
        ...fields,
        phones: "15550001234,15550001235",
      })
      const { msg_ids } = answered<{ msg_ids: ReadonlyArray<number> }>(many)
      for (const id of msg_ids) {
        assert.strictEqual((yield* left(client.number, id))?.media?.sha256, sha256(pdf))
      }
      const later = yield* call(
        "schedule_msg/",
        withFile({ ...fields, ...aText, date: "01/01/2090", time: "12:00" }, [{}]),
      )
      assert.strictEqual(
        (yield* readMedia(client, answered<SentBody>(later).msg_id)).file_name,
        "photo.png",
      )
    }),
  )

  it.effect("is not downloaded as an image unless it is one", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      for (const path of ["report.pdf", "text"]) {
        const url = `https://example.com/${path}`
        const fields = { ...credentials, ...aText, msg_type: 1, img_url: url }
        assertRefusedV1(yield* request("send_msg/", fields), 400, unavailable)
        yield* sends(credentials, { msg_type: 2, file_url: url })
      }
    }),
  )

  for (const path of ["nothing.png", "large", "private.png", "empty", "login.pdf"]) {
    it.effect(`is unavailable behind a link to ${path}: \`${unavailable}\``, () =>
      Effect.gen(function* () {
        const { credentials } = yield* aClient()
        const url = `https://example.com/${path}`
        for (const fields of [
          { msg_type: 1, img_url: url },
          { msg_type: 2, file_url: url },
        ]) {
          const answer = yield* request("send_msg/", { ...credentials, ...aText, ...fields })
          assertRefusedV1(answer, 400, unavailable)
        }
      }),
    )
  }

  it.effect("counts as missing when empty, and two are too many", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const fields = { ...credentials, ...aText, msg_type: 2 }
      for (const files of [[{ bytes: "" }], [{ name: "other" }], [{ bytes: "", fileName: "" }]]) {
        assertRefusedV1(
          yield* call("send_msg/", withFile(fields, files)),
          400,
          "File Url Can't be null",
        )
      }
      assertRefusedV1(
        yield* call("send_msg/", withFile(fields, [{}, {}])),
        400,
        "Only one file can be sent",
      )
      const upload = withFile({ ...fields, msg_type: 1 }, [{}])
      assertRefusedV1(yield* call("send_msg/", upload), 400, "Image Url Can't be null")
    }),
  )

  it.effect("is downloaded only when every free check has passed", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const before = called.length
      const wrong = [
        { phone: "nothing" },
        { msg: "x".repeat(3001) },
        { whatsapp_client: "mine" },
        { webhook: "nowhere" },
        { expire_after_seconds: 0 },
        { file_name: "x".repeat(256) },
      ]
      for (const fields of wrong) {
        const answer = yield* request("send_msg/", {
          ...credentials,
          ...aText,
          ...aFile,
          ...fields,
        })
        assert.strictEqual(answer.status, 400)
      }
      const past = { date: "01/01/1960", time: "12:00" }
      const answer = yield* request("schedule_msg/", {
        ...credentials,
        ...aText,
        ...aFile,
        ...past,
      })
      assertRefusedV1(answer, 400, "Schedule time is in the past")
      assert.strictEqual(called.length, before)
    }),
  )

  it.effect("is removed when its send is refused afterwards", () =>
    Effect.gen(function* () {
      const { files } = yield* Disk
      const before = yield* files
      const lonely = yield* aLonelyClient()
      const poor = yield* aClient({ workspace: { plan: null } })
      const named = yield* aClient()
      const refused = [
        [lonely.credentials, {}, "Invalid whatsapp client id."],
        [poor.credentials, {}, "Not enough credits"],
        [named.credentials, { whatsapp_client: 999_999_999 }, "Invalid whatsapp client"],
      ] as const
      for (const [credentials, fields, message] of refused) {
        const all = { ...credentials, ...aText, ...aFile, ...fields }
        assertRefusedV1(yield* request("send_msg/", all), 400, message)
        assertRefusedV1(yield* call("send_msg/", withFile(all, [{}])), 400, message)
      }
      // The named WhatsApp number cannot reach a username.
      yield* aNumber(named.workspace)
      const toUser = { phone: "@some_one", whatsapp_client: named.number.id }
      assertRefusedV1(
        yield* request("send_msg/", { ...named.credentials, ...aFile, ...toUser }),
        400,
        "Invalid whatsapp client",
      )
      yield* change(poor.workspace, { demo: true })
      assertRefusedV1(
        yield* call("send_msg/", withFile({ ...poor.credentials, ...aText }, [{}])),
        400,
        "Demo Account can not access apis",
      )
      assert.deepStrictEqual(yield* files, before)
    }),
  )

  it.effect("is removed when its call is cut off, uploaded or fetched", () =>
    Effect.gen(function* () {
      const { files } = yield* Disk
      const { port } = yield* HttpTestClients
      const { credentials } = yield* aClient()
      const before = yield* files
      const cutOff = (
        headers: Readonly<Record<string, string>>,
        body: Uint8Array,
        length: number,
        when: Effect.Effect<unknown>,
      ) =>
        Effect.gen(function* () {
          const outgoing = nodeRequest({
            host: "127.0.0.1",
            port,
            method: "POST",
            path: at("send_msg/"),
            agent: false,
            headers: { ...headers, "content-length": String(length) },
          })
          outgoing.on("error", () => {})
          outgoing.write(body)
          yield* when
          outgoing.destroy()
          yield* untilEqual(files, before)
        })

      const asJson = Buffer.from(
        JSON.stringify({
          ...credentials,
          ...aText,
          msg_type: 2,
          file_url: "https://example.com/slow",
        }),
      )
      yield* cutOff(
        { "content-type": "application/json" },
        asJson,
        asJson.length,
        Deferred.await(hanging),
      )

      const upload = withFile({ ...credentials, ...aText, msg_type: 2 }, [
        { bytes: Buffer.alloc(200_000, 1) },
      ])
      const whole = Buffer.from(upload.body as Uint8Array)
      yield* cutOff(
        { "content-type": multipart[1] },
        whole.subarray(0, 150_000),
        whole.length,
        untilDifferent(files, before),
      )
    }),
  )
})

/** Polls in real time, which the server's sockets need too. */
const until = <A>(check: Effect.Effect<A>, done: (seen: A) => boolean): Effect.Effect<void> =>
  Effect.gen(function* () {
    for (;;) {
      if (done(yield* check)) return
      yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    }
  })

const untilEqual = <A>(check: Effect.Effect<A>, expected: A) =>
  until(check, (seen) => JSON.stringify(seen) === JSON.stringify(expected))

const untilDifferent = <A>(check: Effect.Effect<A>, before: A) =>
  until(check, (seen) => JSON.stringify(seen) !== JSON.stringify(before))
