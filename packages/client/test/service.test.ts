/** The client against the real service: uploads from every source, pages, and lost responses. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { createHash } from "node:crypto"
import { messagingClient } from "../src/index.ts"
import type { ConnectionOptions, Upload } from "../src/index.ts"
import { Service, aWorkspace } from "./Service.ts"

/** More than fits into one chunk of a connection, with varying bytes. */
const bytes = Uint8Array.from({ length: 300_000 }, (_, at) => (at * 7919) % 251)

const toStream = (content: Uint8Array): ReadableStream<Uint8Array> =>
  new ReadableStream({
    start(controller) {
      controller.enqueue(content.subarray(0, 100_000))
      controller.enqueue(content.subarray(100_000))
      controller.close()
    },
  })

async function* getPieces(content: Uint8Array) {
  yield content.subarray(0, 100_000)
  yield content.subarray(100_000)
}

/** The first attempt reaches the service, but a proxy loses its response and reports that. */
const losingTheFirstAnswer = (): NonNullable<ConnectionOptions["fetch"]> => {
  let attempts = 0
  return async (url, init) => {
    const response = await fetch(url, init)
    if (++attempts > 1) return response
    await response.body?.cancel()
    return new Response("", { status: 503, headers: { "retry-after": "0" } })
  }
}

layer(Service.layer, { excludeTestServices: true })("with the service", (it) => {
  const test = (name: string, body: (url: string) => Promise<void>) =>
    it.effect(name, () => Effect.flatMap(Service, ({ url }) => Effect.promise(() => body(url))))

  const sources: Readonly<Record<string, () => Upload["file"]>> = {
    "a Blob": () => new Blob([bytes]),
    bytes: () => bytes,
    "a part of a buffer": () => new Uint8Array([0, ...bytes, 0]).subarray(1, -1),
    "a buffer": () => bytes.slice().buffer,
    "a stream": () => toStream(bytes),
    "an async iterable": () => getPieces(bytes),
    "a function that gives a stream": () => () => toStream(bytes),
  }
  for (const [what, source] of Object.entries(sources)) {
    test(`a file is uploaded from ${what}, byte for byte`, async (url) => {
      const { client, operator } = await aWorkspace(url)
      const name = "Grüße (2030).bin"
      const media = await client.media.upload({ file: source(), file_name: name })
      assert.strictEqual(media.file_name, name)
      assert.strictEqual(media.size, bytes.length)
      const to = { phone: "+15550100002" }
      const message = await client.messages.send({ to, media: { media_id: media.id } })
      await operator.simulator.settle()
      const { data } = await operator.simulator.sent().page()
      assert.strictEqual(
        data.find(({ message_id }) => message_id === message.id)?.media?.sha256,
        createHash("sha256").update(bytes).digest("hex"),
      )
    })
  }

  test("a File has its own name, and text is a file too", async (url) => {
    const { client } = await aWorkspace(url)
    const file = new File(["a"], "own.txt")
    assert.strictEqual((await client.media.upload({ file })).file_name, "own.txt")
    assert.strictEqual((await client.media.upload({ file: "a", file_name: "b.txt" })).size, 1)
  })

  test("an upload from a function is repeated whole; one from a stream is not repeated", async (url) => {
    const { client, key } = await aWorkspace(url)
    const again = messagingClient({ url, key, fetch: losingTheFirstAnswer() })
    const media = await again.media.upload({ file: () => toStream(bytes) })
    assert.strictEqual(media.size, bytes.length)
    assert.lengthOf((await client.media.list().page()).data, 1)
    const once = messagingClient({ url, key, fetch: losingTheFirstAnswer() })
    const error = await once.media
      .upload({ file: toStream(bytes) })
      .catch((thrown: unknown) => thrown)
    assert.deepInclude(error, { code: "unexpected_answer" })
  })

  test("a fault of the function that gives the file is the caller's, and asks nothing", async (url) => {
    const { client } = await aWorkspace(url)
    const fault = new Error("no such file")
    const thrown = await client.media
      .upload({ file: () => Promise.reject(fault) })
      .catch((error: unknown) => error)
    assert.strictEqual(thrown, fault)
  })

  test("a message whose answer was lost is sent once", async (url) => {
    const { key, operator, number } = await aWorkspace(url)
    const client = messagingClient({ url, key, fetch: losingTheFirstAnswer() })
    const message = await client.messages.send({ to: { phone: "+15550100002" }, text: "Once" })
    await operator.simulator.settle()
    const { data } = await operator.simulator.sent({ number_id: number.id }).page()
    assert.deepStrictEqual(
      data.map(({ message_id, text }) => ({ message_id, text })),
      [{ message_id: message.id, text: "Once" }],
    )
  })

  test("a call that is made again with its idempotency key does nothing twice", async (url) => {
    const { client } = await aWorkspace(url)
    const send = () =>
      client.messages.send(
        { to: { phone: "+15550100002" }, text: "Order 7" },
        { idempotencyKey: "order-7" },
      )
    assert.strictEqual((await send()).id, (await send()).id)
  })

  test("a list is read record by record over its pages, and may be left early", async (url) => {
    const { client } = await aWorkspace(url)
    const to = Array.from({ length: 7 }, () => ({ phone: "+15550100002" }))
    const messages = await client.messages.sendBatch({ to, text: "Hello" })
    const received: Array<number> = []
    for await (const { id } of client.messages.list({ limit: 3 })) received.push(id)
    assert.deepStrictEqual(received, messages.map(({ id }) => id).toReversed())
    const sizes: Array<number> = []
    for await (const { data } of client.messages.list({ limit: 3 }).pages()) sizes.push(data.length)
    assert.deepStrictEqual(sizes, [3, 3, 1])
    const { next_cursor } = await client.messages.list({ limit: 3 }).page()
    const second = await client.messages.list({ limit: 3, cursor: next_cursor ?? "" }).page()
    assert.deepStrictEqual(
      second.data.map(({ id }) => id),
      received.slice(3, 6),
    )
  })

  test("an answer that is refused names code, field and request", async (url) => {
    const { client } = await aWorkspace(url)
    const error: unknown = await client.messages
      .sendBatch({ to: [{ phone: "+15550100002" }, { phone: "0123" }], text: "Hello" })
      .catch((thrown: unknown) => thrown)
    assert.deepInclude(error, { code: "invalid_phone", status: 422, field: "to[1].phone" })
    assert.match((error as { readonly requestId: string }).requestId, /^req_\w{24}$/)
  })

  test("a service that is not there is no answer", async (url) => {
    const client = messagingClient({ url: `${url}0`.replace(/:\d+$/, ":9"), key: "k", retries: 0 })
    const error: unknown = await client.me().catch((thrown: unknown) => thrown)
    assert.deepInclude(error, { code: "no_answer", status: null })
  })
})
