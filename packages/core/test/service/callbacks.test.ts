/** Version 1 callbacks on the test clock: their content, their times and their signing secret. */
import { assert, describe, it } from "@effect/vitest"
import { Emulator } from "@messaging-service/emulator"
import { Effect } from "effect"
import {
  CallbackSecrets,
  Connections,
  Egress,
  EgressError,
  Messages,
  Workspaces,
  sharedLimits,
} from "../../src/index.ts"
import type {
  CallbackUrl,
  Caller,
  ConnectNumber,
  NumberId,
  PostAnswer,
  WorkspaceId,
} from "../../src/index.ts"
import { isSignedWith, ok, receiving } from "./Receiving.ts"
import type { Post } from "./Receiving.ts"
import { behave, cancel, code, logOut, shown, the } from "./Operations.ts"
import {
  ahead,
  aKey,
  aSender,
  aWorkspace,
  hour,
  inAService,
  minute,
  noon,
  pass,
  second,
  settled,
} from "./Service.ts"

const callbackUrl = "http://example.com/told" as CallbackUrl

/** Sends a message that reports its end. */
const sendReporting = (
  caller: Caller,
  overrides: Readonly<Record<string, unknown>> = {},
  url = callbackUrl,
) =>
  Effect.map(
    Messages.use((messages) =>
      messages.send(caller, { to: { phone: "+15550000001" }, text: "Hello", ...overrides }, null, {
        callbackUrl: url,
        attachment: null,
        keepRefused: false,
      }),
    ),
    (sent) => the(sent.messages),
  ).pipe(
    Effect.flatMap((message) => shown([message])),
    Effect.map(the),
  )

const getSecret = (workspace: WorkspaceId) =>
  Effect.map(
    CallbackSecrets.use((secrets) => secrets.get("owner", workspace)),
    ({ secret }) => secret,
  )

const rotate = (workspace: WorkspaceId) =>
  CallbackSecrets.use((secrets) => secrets.rotate("owner", workspace))

const bodies = (posts: ReadonlyArray<Post>) => posts.map(({ body }) => body)

const failing: PostAnswer = { status: 500, headers: {} }

describe("the callback of a message", () => {
  it.effect("is form-encoded and signed with the workspace's secret", () => {
    const { egress, posts } = receiving()
    return inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        yield* pass(1)
        const { id } = yield* sendReporting(key)
        yield* settled
        const post = the(posts)
        assert.strictEqual(post.url, callbackUrl)
        assert.isTrue(post.allowHttp)
        assert.strictEqual(post.body, `msg_id=${id}&status=SENT`)
        const { "service-event-id": eventId, ...headers } = post.headers
        assert.match(String(eventId), /^evt_[0-9A-Za-z]{24}$/)
        assert.deepStrictEqual(headers, {
          "content-type": "application/x-www-form-urlencoded",
          "user-agent": "Service-Webhooks/2",
          "service-timestamp": String(noon / second),
          "service-signature": headers["service-signature"] ?? "",
        })
        const secret = yield* getSecret(workspace)
        assert.match(secret, /^[0-9a-f]{64}$/)
        assert.isTrue(isSignedWith(secret, post))
        assert.isFalse(isSignedWith(yield* getSecret(yield* aWorkspace()), post))
        yield* pass(hour)
        assert.lengthOf(posts, 1)
      }),
      { egress },
    )
  })

  it.effect("reports every end: a failure with its error, a cancel, an expiry", () => {
    const { egress, posts } = receiving()
    return inAService(
      Effect.gen(function* () {
        const { key, number } = yield* aSender()
        yield* behave(number, { send: "fail", errorMessage: "No such phone" })
        const failed = yield* sendReporting(key)
        yield* settled
        yield* behave(number, {})
        const cancelled = yield* sendReporting(key, { sendAt: yield* ahead(hour) })
        yield* cancel(key, cancelled)
        yield* settled
        yield* logOut(number)
        const expired = yield* sendReporting(key, {
          from: number,
          expiresAt: yield* ahead(minute),
        })
        yield* pass(minute)
        assert.deepStrictEqual(bodies(posts), [
          `msg_id=${failed.id}&status=FAILED&error=No+such+phone`,
          `msg_id=${cancelled.id}&status=CANCELLED`,
          `msg_id=${expired.id}&status=EXPIRED`,
        ])
      }),
      { egress },
    )
  })

  it.effect("has four attempts, 10 s, 1 min and 4 min apart, with one id and one body", () => {
    const { egress, posts } = receiving(() => Effect.succeed(failing))
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* sendReporting(key)
        yield* settled
        // Jitter adds up to 5 % to each delay.
        for (const [index, delay] of [10 * second, minute, 4 * minute].entries()) {
          yield* pass(delay * 0.95)
          assert.lengthOf(posts, index + 1)
          yield* pass(delay * 0.1)
          assert.lengthOf(posts, index + 2)
          const gap = (posts[index + 1]?.at ?? 0) - (posts[index]?.at ?? 0)
          assert.isAtLeast(gap, delay)
          assert.isAtMost(gap, delay * 1.05)
        }
        yield* pass(24 * hour)
        assert.lengthOf(posts, 4)
        assert.lengthOf([...new Set(bodies(posts))], 1)
        assert.lengthOf([...new Set(posts.map(({ headers }) => headers["service-event-id"]))], 1)
        const timestamps = posts.map(({ headers }) => Number(headers["service-timestamp"]))
        assert.deepStrictEqual(
          timestamps,
          posts.map(({ at }) => Math.floor(at / second)),
        )
      }),
      { egress },
    )
  })

  it.effect("ends with a 2xx, and only with one", () => {
    const answers: Array<PostAnswer | null> = [
      { status: 302, headers: { location: "https://example.org/" } },
      null,
      { status: 204, headers: {} },
    ]
    const { egress, posts } = receiving(() => {
      const answer = answers.shift() ?? null
      return answer === null
        ? Effect.fail(new EgressError({ reason: "timeout" }))
        : Effect.succeed(answer)
    })
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* sendReporting(key)
        yield* pass(11 * second)
        yield* pass(hour)
        yield* pass(hour)
        assert.deepStrictEqual(
          posts.map(({ url }) => url),
          [callbackUrl, callbackUrl, callbackUrl],
        )
      }),
      { egress },
    )
  })

  it.effect("waits longer at the receiver's request, at most twice the delay", () => {
    const { egress, posts } = receiving(() =>
      Effect.succeed({ status: 503, headers: { "retry-after": "3600" } }),
    )
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        yield* sendReporting(key)
        yield* pass(20 * second - 1)
        assert.lengthOf(posts, 1)
        yield* pass(1)
        assert.lengthOf(posts, 2)
      }),
      { egress },
    )
  })

  it.effect("is signed at each attempt with the current secret", () => {
    const { egress, posts } = receiving(() => Effect.succeed(failing))
    return inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        const before = yield* getSecret(workspace)
        yield* sendReporting(key)
        yield* settled
        const { secret } = yield* rotate(workspace)
        assert.strictEqual(yield* getSecret(workspace), secret)
        yield* pass(11 * second)
        assert.deepStrictEqual(
          posts.map((post) => [isSignedWith(before, post), isSignedWith(secret, post)]),
          [
            [true, false],
            [false, true],
          ],
        )
      }),
      { egress },
    )
  })

  it.effect("waits only for its own receiver, which gets five calls at once", () => {
    const { egress, posts } = receiving(({ url }) =>
      url === callbackUrl ? Effect.never : Effect.succeed(ok),
    )
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        for (let each = 0; each < 8; each++) yield* sendReporting(key)
        yield* sendReporting(key, {}, "https://quick.example.com/" as CallbackUrl)
        yield* settled
        const called = posts.map(({ url }) => url)
        assert.lengthOf(
          called.filter((url) => url === callbackUrl),
          5,
        )
        assert.include(called, "https://quick.example.com/")
      }),
      { egress },
    )
  })

  it.effect("waits for no other workspace, however many receivers hang there", () => {
    const quick = "https://quick.example.com/" as CallbackUrl
    const { egress, posts } = receiving(({ url }) =>
      url === quick ? Effect.succeed(ok) : Effect.never,
    )
    return inAService(
      Effect.gen(function* () {
        const { key } = yield* aSender()
        const other = (yield* aSender()).key
        const { most } = sharedLimits.callbackCalls.share
        for (let each = 0; each < most + 20; each++) {
          yield* sendReporting(key, {}, `https://hangs${each}.example.com/` as CallbackUrl)
        }
        yield* settled
        assert.lengthOf(posts, most)
        yield* sendReporting(other, {}, quick)
        yield* settled
        assert.deepStrictEqual([posts.length, posts.at(-1)?.url], [most + 1, quick])
      }),
      { egress },
    )
  })

  it.effect("ends with its workspace: no message reports its end then", () => {
    const { egress, posts } = receiving(() => Effect.succeed(failing))
    return inAService(
      Effect.gen(function* () {
        const { key, workspace } = yield* aSender()
        yield* sendReporting(key)
        yield* sendReporting(key, { sendAt: yield* ahead(hour) })
        yield* settled
        assert.lengthOf(posts, 1)
        yield* Workspaces.use((workspaces) => workspaces.delete("owner", workspace))
        yield* pass(2 * hour)
        assert.lengthOf(posts, 1)
      }),
      { egress },
    )
  })
})

describe("the callback of a connection", () => {
  const connect = (key: Caller, body: ConnectNumber = {}, url: string | null = callbackUrl) =>
    Effect.map(
      Connections.use((connections) => connections.connect(key, body, null, url)),
      ({ answer }) => answer.id,
    )
  const scan = (number: NumberId, body: object = {}) =>
    Emulator.use((emulator) => emulator.scan(number, body))

  it.effect("reports each QR code, the linking and the log-out", () => {
    const { egress, posts } = receiving()
    return inAService(
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const key = yield* aKey(workspace)
        const number = yield* connect(key)
        yield* settled
        yield* pass(61 * second)
        yield* scan(number, { phone: "+15550001111" })
        yield* settled
        yield* pass(hour)
        yield* logOut(number)
        yield* logOut(number)
        yield* settled
        const text = `event=qr-generated&whatsapp_client=${number}&whatsapp_number=`
        assert.deepStrictEqual(bodies(posts), [
          text,
          text,
          `event=connected&whatsapp_client=${number}&whatsapp_number=15550001111`,
          `event=disconnected&whatsapp_client=${number}&whatsapp_number=15550001111`,
        ])
        const secret = yield* getSecret(workspace)
        assert.isTrue(posts.every((post) => isSignedWith(secret, post)))
        const ids = posts.map(({ headers }) => headers["service-event-id"])
        assert.lengthOf([...new Set(ids)], 4)
      }),
      { egress },
    )
  })

  it.effect("reports a lapsed attempt, but no pairing code", () => {
    const { egress, posts } = receiving()
    return inAService(
      Effect.gen(function* () {
        const key = yield* aKey(yield* aWorkspace())
        const number = yield* connect(key, { loginMethod: "phone_code", phone: "+15550001111" })
        yield* pass(10 * minute - 1)
        assert.deepStrictEqual(bodies(posts), [])
        yield* pass(1)
        assert.deepStrictEqual(bodies(posts), [
          `event=disconnected&whatsapp_client=${number}&whatsapp_number=15550001111`,
        ])
      }),
      { egress },
    )
  })

  it.effect("goes to the latest attempt's URL; after one of version 2 nowhere", () => {
    const { egress, posts } = receiving()
    return inAService(
      Effect.gen(function* () {
        const key = yield* aKey(yield* aWorkspace())
        const number = yield* connect(key, { loginMethod: "phone_code", phone: "+15550001111" })
        yield* pass(10 * minute)
        const again: ConnectNumber = {
          loginMethod: "phone_code",
          phone: "+15550001111",
          numberId: number,
        }
        yield* connect(key, again, "https://other.example.com/")
        yield* scan(number)
        yield* settled
        yield* logOut(number)
        yield* settled
        assert.deepStrictEqual(
          posts.map(({ url }) => url),
          [callbackUrl, "https://other.example.com/", "https://other.example.com/"],
        )
        yield* Connections.use((connections) => connections.connect(key, again, null))
        yield* scan(number)
        yield* logOut(number)
        yield* pass(hour)
        assert.lengthOf(posts, 3)
      }),
      { egress },
    )
  })

  it.effect("a URL that may not be called is refused, and nothing is connected", () =>
    inAService(
      Effect.gen(function* () {
        const key = yield* aKey(yield* aWorkspace())
        for (const url of ["", "ftp://example.com/", "http://127.0.0.1/", "http://localhost/"]) {
          assert.strictEqual(yield* code(connect(key, {}, url)), "invalid_callback_url")
        }
        const all = yield* Connections.use((connections) => connections.list(key))
        assert.deepStrictEqual(all, [])
      }),
      { egress: Egress.layerClosed },
    ),
  )
})
