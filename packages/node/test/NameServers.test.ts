/** Name resolution over our own sockets, and how lookups share them. */
import { assert, describe, it } from "@effect/vitest"
import { EgressError, sharedLimits } from "@messaging-service/core"
import type { WorkspaceId } from "@messaging-service/core"
import { Deferred, Effect, Fiber } from "effect"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { nameServerResolver, sharedLookUps } from "../src/Connections.ts"
import { aNameServer } from "./NameServer.ts"
import type { Answer, Question } from "./NameServer.ts"

const reason = <A, R>(effect: Effect.Effect<A, EgressError, R>) =>
  Effect.map(Effect.flip(effect), (error) => error.reason)

const aHostsFile = (text: string) =>
  Effect.map(
    Effect.acquireRelease(
      Effect.sync(() => mkdtempSync(join(tmpdir(), "hosts-"))),
      (directory) => Effect.sync(() => rmSync(directory, { recursive: true })),
    ),
    (directory) => {
      const path = join(directory, "hosts")
      const write = (content: string) => writeFileSync(path, content)
      write(text)
      return { path, write }
    },
  )

/** Without a hosts file except the given one. */
const requesting = (
  answer: (question: Question) => Answer,
  overrides: { readonly timeoutMillis?: number; readonly hosts?: string } = {},
) =>
  Effect.gen(function* () {
    const server = yield* aNameServer(answer)
    const hosts = yield* aHostsFile(overrides.hosts ?? "")
    const resolve = nameServerResolver({
      servers: [server.address],
      hostsFile: hosts.path,
      ...(overrides.timeoutMillis === undefined ? {} : { timeoutMillis: overrides.timeoutMillis }),
    })
    return { hosts, resolve, server }
  })

describe("name resolution over our own sockets", () => {
  it.effect(
    "asks for addresses of both families and returns them in the order of the answers",
    () =>
      Effect.gen(function* () {
        const addresses = ["2001:db8::2", "192.0.2.9", "192.0.2.1", "2001:db8::1"]
        const { resolve, server } = yield* requesting(() => ({ addresses }))
        assert.deepStrictEqual(yield* resolve("Hook.Example."), [
          "192.0.2.9",
          "192.0.2.1",
          "2001:db8::2",
          "2001:db8::1",
        ])
        assert.deepStrictEqual(
          server.questions.map(({ name, type }) => `${name} ${type}`).toSorted(),
          ["hook.example A", "hook.example AAAA"],
        )
      }),
  )

  it.effect("follows an alias to the addresses that come with it", () =>
    Effect.gen(function* () {
      const { resolve } = yield* requesting(() => ({
        alias: "really.example",
        addresses: ["192.0.2.7"],
      }))
      assert.deepStrictEqual(yield* resolve("hook.example"), ["192.0.2.7"])
    }),
  )

  it.effect("repeats a truncated answer over TCP", () =>
    Effect.gen(function* () {
      const { resolve } = yield* requesting(({ over }) =>
        over === "udp" ? "truncated" : { addresses: ["192.0.2.7", "2001:db8::7"] },
      )
      assert.deepStrictEqual(yield* resolve("hook.example"), ["192.0.2.7", "2001:db8::7"])
    }),
  )

  it.effect.each(["SERVFAIL", "NXDOMAIN", { addresses: [] }] as const)("%j is dns", (answer) =>
    Effect.gen(function* () {
      const { resolve } = yield* requesting(() => answer)
      assert.strictEqual(yield* reason(resolve("hook.example")), "dns")
    }),
  )

  it.effect("silence is dns after the timeout", () =>
    Effect.gen(function* () {
      const { resolve } = yield* requesting(() => "silence", { timeoutMillis: 30 })
      assert.strictEqual(yield* reason(resolve("hook.example")), "dns")
    }),
  )

  it.effect.each(["silence", "SERVFAIL"] as const)(
    "one family is enough when the other one is %s",
    (other) =>
      Effect.gen(function* () {
        const { resolve } = yield* requesting(({ type }) =>
          type === "A" ? { addresses: ["192.0.2.7"] } : other,
        )
        assert.deepStrictEqual(yield* resolve("hook.example"), ["192.0.2.7"])
      }),
  )

  it.effect("a name that no server accepts is dns", () =>
    Effect.gen(function* () {
      const { resolve, server } = yield* requesting(() => ({ addresses: ["192.0.2.7"] }))
      assert.strictEqual(yield* reason(resolve("not..a name")), "dns")
      assert.deepStrictEqual(server.questions, [])
    }),
  )

  it.effect("a query names the host unchanged, with no search domain", () =>
    Effect.gen(function* () {
      const { resolve, server } = yield* requesting(() => "NXDOMAIN")
      yield* reason(resolve("receiver"))
      assert.deepStrictEqual([...new Set(server.questions.map(({ name }) => name))], ["receiver"])
    }),
  )

  it.effect("reads the hosts file first, and again after a change", () =>
    Effect.gen(function* () {
      const { hosts, resolve, server } = yield* requesting(() => "NXDOMAIN", {
        hosts:
          "# names\n192.0.2.1 hook.example Other.Example # both\n2001:db8::1\thook.example\nnone x\n",
      })
      assert.deepStrictEqual(yield* resolve("HOOK.example"), ["192.0.2.1", "2001:db8::1"])
      assert.deepStrictEqual(yield* resolve("other.example."), ["192.0.2.1"])
      hosts.write("192.0.2.22 hook.example moved.example\n")
      assert.deepStrictEqual(yield* resolve("hook.example"), ["192.0.2.22"])
      assert.deepStrictEqual(server.questions, [])
      assert.strictEqual(yield* reason(resolve("other.example")), "dns")
    }),
  )

  it.effect("localhost and names that end in it are this machine, and no server is asked", () =>
    Effect.gen(function* () {
      const { resolve, server } = yield* requesting(() => ({ addresses: ["192.0.2.7"] }))
      for (const name of ["localhost", "api.localhost", "LOCALHOST."]) {
        assert.deepStrictEqual(yield* resolve(name), ["127.0.0.1", "::1"])
      }
      assert.deepStrictEqual(server.questions, [])
    }),
  )

  it.effect("a hundred silent names do not delay the next one", () =>
    Effect.gen(function* () {
      const { resolve, server } = yield* requesting(({ name }) =>
        name.startsWith("silent") ? "silence" : { addresses: ["192.0.2.7"] },
      )
      for (let requests = 0; requests < 100; requests++) {
        yield* Effect.forkChild(resolve(`silent${requests}.example`))
      }
      yield* server.requests(200)
      assert.deepStrictEqual(yield* resolve("hook.example"), ["192.0.2.7"])
    }),
  )

  it.effect("an interrupted look-up ends at once and asks no more", () =>
    Effect.gen(function* () {
      const { resolve, server } = yield* requesting(() => "silence")
      const fiber = yield* Effect.forkChild(resolve("hook.example"))
      yield* server.requests(2)
      yield* Fiber.interrupt(fiber)
      assert.strictEqual(server.questions.length, 2)
    }),
  )
})

const share = sharedLimits.nameLookUps

describe("look-ups share a resolver", () => {
  const one = 1 as WorkspaceId
  const two = 2 as WorkspaceId

  /** A resolver with answers that the test decides. */
  const heldResolver = Effect.gen(function* () {
    const requests: Array<string> = []
    const abandoned: Array<string> = []
    const answers = new Map<string, Deferred.Deferred<ReadonlyArray<string>, EgressError>>()
    const lookUp = yield* sharedLookUps((name) => {
      requests.push(name)
      const answer = Deferred.makeUnsafe<ReadonlyArray<string>, EgressError>()
      answers.set(name, answer)
      return Deferred.await(answer).pipe(
        Effect.onInterrupt(() => Effect.sync(() => abandoned.push(name))),
      )
    })
    const request = (name: string, workspaceId: WorkspaceId) =>
      Effect.forkChild(lookUp(name, workspaceId), { startImmediately: true })
    const answer = (name: string, addresses: ReadonlyArray<string>) =>
      Deferred.succeed(answers.get(name)!, addresses)
    return { answer, request, requests, abandoned, lookUp }
  })

  it.effect("concurrent lookups of one name share a query, and later ones ask again", () =>
    Effect.gen(function* () {
      const { answer, request, requests } = yield* heldResolver
      const waiting = [yield* request("a.example", one), yield* request("a.example", two)]
      yield* Effect.yieldNow
      assert.deepStrictEqual(requests, ["a.example"])
      yield* answer("a.example", ["192.0.2.1"])
      for (const fiber of waiting) assert.deepStrictEqual(yield* Fiber.join(fiber), ["192.0.2.1"])
      yield* request("a.example", one)
      yield* Effect.yieldNow
      assert.deepStrictEqual(requests, ["a.example", "a.example"])
    }),
  )

  it.effect("continues while one caller waits, and ends with the last one", () =>
    Effect.gen(function* () {
      const { request, abandoned } = yield* heldResolver
      const first = yield* request("a.example", one)
      const second = yield* request("a.example", two)
      yield* Effect.yieldNow
      yield* Fiber.interrupt(first)
      assert.deepStrictEqual(abandoned, [])
      yield* Fiber.interrupt(second)
      assert.deepStrictEqual(abandoned, ["a.example"])
    }),
  )

  it.effect("a workspace has its share, and others do not wait behind it", () =>
    Effect.gen(function* () {
      const { request, requests, answer } = yield* heldResolver
      for (let name = 0; name < share.share.most + 3; name++) yield* request(`silent${name}`, one)
      yield* request("b.example", two)
      yield* Effect.yieldNow
      assert.deepStrictEqual(
        [requests.length, requests.at(-1)],
        [share.share.most + 1, "b.example"],
      )
      yield* answer("silent0", ["192.0.2.1"])
      for (let iteration = 0; iteration < 5; iteration++) yield* Effect.yieldNow
      assert.strictEqual(requests.length, share.share.most + 2)
    }),
  )

  it.effect("all workspaces together have the table's total", () =>
    Effect.gen(function* () {
      const { request, requests } = yield* heldResolver
      for (let name = 0; name < share.whole + 5; name++) {
        yield* request(`silent${name}`, (1 + (name % 100)) as WorkspaceId)
      }
      yield* Effect.yieldNow
      assert.strictEqual(requests.length, share.whole)
    }),
  )
})
