/**
 * Processes that are killed while they receive, on PostgreSQL: what people wrote is stored once, in order, and
 * the next process opens what the killed one had opened but not stored.
 */
import { assert, layer } from "@effect/vitest"
import {
  Ids,
  NumberOwnership,
  SecretsKey,
  SessionVault,
  Store,
  layerStoredSecrets,
  WakeUp,
} from "@messaging-service/core"
import { layer as layerPostgres } from "@messaging-service/store-postgres"
import { EmbeddedPostgres, bySize, processes } from "@messaging-service/testkit"
import { WhatsAppServer } from "@messaging-service/whatsapp-server"
import type { Writing } from "@messaging-service/whatsapp-server"
import { Effect, Layer } from "effect"
import { join } from "node:path"
import { credentialsText } from "../src/authState.ts"
import {
  aPerson,
  anUnlinkedNumber,
  getReceived,
  layerServer,
  withConversations,
} from "./LiveWorld.ts"
import { seams } from "./killed/ReceiverOptions.ts"
import type { ReceiverOptions } from "./killed/ReceiverOptions.ts"

const program = join(import.meta.dirname, "killed/receiver.ts")

/** Each kills once at each seam, and once a frozen process. */
const rounds = bySize({ change: 1, all: 4, night: 25 })

/** Commits in which a process ends itself: the first to the third. */
const commits = 3

const { secretsKey } = processes

/** A number that other processes connect, on a database of its own. */
const aNumberOfProcesses = Effect.gen(function* () {
  const server = yield* WhatsAppServer
  const vault = yield* SessionVault
  const { numbers } = yield* Store
  const digits = yield* aPerson
  const id = yield* anUnlinkedNumber
  const credentials = yield* server.linkedBefore(digits)
  yield* vault.replace(id, credentialsText(credentials), [])
  yield* numbers.setStatus(id, "connected", digits, 0)
  return yield* withConversations({ id, digits }, true)
}).pipe(Effect.orDie)

const receivesUnderKills = (address: ReceiverOptions["address"]) =>
  Effect.gen(function* () {
    const server = yield* WhatsAppServer
    const number = yield* aNumberOfProcesses
    const people = [yield* aPerson, yield* aPerson, yield* aPerson] as const
    const participants = [number.digits, ...people]
    const group = yield* server.group({ subject: "Team", participants, addressing: "lid" })
    const expected: Array<string> = []
    const logins = () => server.sessions(number.digits)[0]?.logins ?? 0

    const ids: Array<string> = []
    const edits: Array<string> = []

    const write = (from: string, chat: string, more: Partial<Writing> = {}) =>
      Effect.gen(function* () {
        const text = `message ${expected.length + 1}`
        expected.push(text)
        const id = yield* server.write(from, chat, { ...more, text })
        ids.push(id)
        return id
      })

    const edit = (from: string, chat: string, id: string) =>
      Effect.gen(function* () {
        const text = `edited ${expected.length}`
        expected[ids.indexOf(id)] = text
        edits.push(yield* server.write(from, chat, { edits: id, text }))
      })

    /** By phone and by LID, in a group, and by the owner. */
    const writeSome = Effect.gen(function* () {
      const [one, two, three] = people
      yield* edit(one, number.digits, yield* write(one, number.digits))
      yield* write(two, number.digits, { address: "lid" })
      yield* write(three, group)
      yield* write(number.digits, one)
    })

    const start = Effect.fnUntraced(function* (seam: ReceiverOptions["seam"], commit: number) {
      const before = logins()
      const options: ReceiverOptions = { address, secretsKey, url: server.url, seam, commit }
      const receiver = yield* processes.start(program, { DATABASE_URL: "given" }, [
        JSON.stringify(options),
      ])
      yield* server.until(() => logins() > before)
      return receiver
    })

    /** What was opened but not stored opens no more: its author is asked for a copy. */
    const isRequested = (id: string) => server.requestedCopies(number.digits, id) > 0
    const refused = Effect.gen(function* () {
      yield* server.until(() => ids.some(isRequested) || edits.some(isRequested))
      return yield* Effect.die(new Error("a message was opened, and is not stored"))
    })
    const answered = Effect.raceFirst(
      server.until(() => server.unanswered(number.digits).length === 0),
      refused,
    )

    for (let round = 0; round < rounds; round++) {
      for (const [index, seam] of seams.entries()) {
        const receiver = yield* start(seam, 1 + ((round + index) % commits))
        yield* writeSome
        const { signal, stderr } = yield* Effect.raceFirst(receiver.ended, refused)
        assert.deepStrictEqual([signal, stderr], ["SIGKILL", ""])
        yield* write(people[index] ?? people[0], number.digits)
      }
      const frozen = yield* start(null, 0)
      yield* answered
      yield* frozen.freeze
      yield* writeSome
      yield* frozen.kill
    }
    yield* start(null, 0)
    yield* writeSome
    yield* answered
    const received = yield* getReceived(number)
    assert.deepStrictEqual(
      received.map(({ sequence, text }) => `${sequence} ${text}`),
      expected.map((text, index) => `${index + 1} ${text}`),
    )
  })

layer(Layer.merge(EmbeddedPostgres.layer(), layerServer), { excludeTestServices: true })(
  "a process that is killed while it receives",
  (it) => {
    it.effect("loses no message, and stores none twice", () =>
      Effect.gen(function* () {
        const { database, path, username } = yield* (yield* EmbeddedPostgres).createDatabase()
        const address = { database, path, username }
        const layerStores = SessionVault.layer.pipe(
          Layer.provide([layerStoredSecrets, WakeUp.layerLocal]),
          Layer.provideMerge(Layer.merge(layerPostgres(address), NumberOwnership.layerAll)),
          Layer.provide(SecretsKey.layerHex(secretsKey)),
          Layer.provideMerge(Ids.layerRandom),
        )
        yield* Effect.provide(receivesUnderKills(address), layerStores)
      }),
    )
  },
)
