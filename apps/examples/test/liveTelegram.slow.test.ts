/**
 * The page about live Telegram accounts, followed word for word: the service really runs, and logs
 * in and sends over the protocol to a Telegram server on this machine. This test does what the page
 * asks of a person (read, stop and start again).
 */
import { assert, it } from "@effect/vitest"
import { make } from "@messaging-service/telegram-server"
import { processes } from "@messaging-service/testkit"
import { Effect } from "effect"
import { writeFile } from "node:fs/promises"
import { join } from "node:path"
import { aFolder, livePage } from "./tutorial/livePage.ts"
import { runTutorial } from "./tutorial/runTutorial.ts"

const { page, startLine } = livePage("docs/live-telegram.md")

/** The page's phone, and another one. */
const phone = "15550100001"
const recipient = "15550100002"

it.live("docs/live-telegram.md does what it says, line by line", () =>
  Effect.gen(function* () {
    // Its application is the page's.
    const telegram = yield* make()
    yield* telegram.person(phone, { password: "correct horse" })
    yield* telegram.person(recipient, { username: "somename" })

    const { data, folder } = yield* aFolder
    const key = join(folder, "telegram.pem")
    yield* Effect.promise(() => writeFile(key, telegram.publicKey))
    const { environment, program } = yield* startLine
    const settings = {
      ...environment,
      TELEGRAM_DC: telegram.address,
      TELEGRAM_PUBLIC_KEY: key,
      DATA_DIR: data,
      // Nothing is configured, as on the page: the process generates a key.
      SECRETS_KEY: "",
    }
    let service = yield* processes.startServer(program, { ...settings, PORT: "0" })
    const { port } = new URL(service.url)
    let isStartedAgain = false

    const reads = (count: number) =>
      Effect.andThen(
        telegram.until(() => telegram.copies(recipient) === count),
        telegram.read(recipient, phone),
      )
    yield* Effect.forkScoped(Effect.andThen(reads(1), reads(2)))

    const byHand = (printed: string) =>
      Effect.gen(function* () {
        if (printed.startsWith('"since":')) yield* telegram.write(recipient, phone, "Good morning")
        if (!printed.includes('"status":"read"') || isStartedAgain) return
        isStartedAgain = true
        assert.strictEqual((yield* service.stop).code, 0)
        service = yield* processes.startServer(program, { ...settings, PORT: port })
      })

    const followed = (yield* page).replaceAll("8080", port)
    yield* runTutorial(followed, { folder, ports: [], meanwhile: byHand })

    assert.isTrue(isStartedAgain)
    // The page ends with an answer that is accepted, and soon sent.
    yield* telegram.until(() => telegram.copies(recipient) === 3)
    assert.deepStrictEqual(
      telegram.shown(recipient).map(({ from, text }) => ({ from, text })),
      ["Hello, you", "Still here", "Good morning to you"].map((text) => ({ from: phone, text })),
    )
    // One session, and never two connections of it.
    const { keys, max } = telegram.sessions(phone)
    assert.deepStrictEqual([keys, max], [1, 1])
    assert.deepStrictEqual(telegram.complaints(), [])
    assert.strictEqual((yield* service.stop).code, 0)
  }).pipe(Effect.scoped),
)
