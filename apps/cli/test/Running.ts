/** A service for commands, as the server app builds it, and the program against it. */
import { Worker } from "@messaging-service/core"
import { messagingClient, operatorClient } from "@messaging-service/client"
import { HttpOptions, httpApp } from "@messaging-service/http"
import { emulatorControls } from "@messaging-service/http/emulator"
import { readVariables } from "@messaging-service/node"
import { listen } from "@messaging-service/node/process"
import { openService, serviceSettings, serviceVariables } from "@messaging-service/service/compose"
import { processes } from "@messaging-service/testkit"
import { Context, Effect, Layer, Redacted } from "effect"
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { join } from "node:path"
import { endedBySignal } from "../src/ending.ts"
import { run } from "../src/run.ts"
import type { Machine } from "../src/Machine.ts"

export const token = "an operator token for tests of the command line"

/** A service in memory with simulated phones, and a receiver for its webhooks. */
export class Running extends Context.Service<
  Running,
  {
    readonly url: string
    /** Answers every webhook with 204. */
    readonly receiver: string
    /** An empty directory. */
    readonly directory: string
  }
>()("test/Running") {
  static readonly layer = Layer.effect(
    Running,
    Effect.gen(function* () {
      const directory = yield* processes.temporaryDirectory
      const settings = yield* serviceSettings(
        yield* readVariables(serviceVariables, {
          PORT: "0",
          DATABASE_URL: "memory:",
          DATA_DIR: join(directory, "data"),
          CLOCK: "adjustable",
          ALLOW_PRIVATE_TARGETS: "true",
          TELEGRAM_API_ID: "1",
          TELEGRAM_API_HASH: "0123456789abcdef0123456789abcdef",
        }),
      )
      const listener = yield* listen("127.0.0.1", 0)
      const service = yield* openService(settings, listener.url)
      const app = yield* httpApp.pipe(
        Effect.provideService(HttpOptions, {
          operatorToken: Redacted.make(token),
          emulator: emulatorControls,
          dashboard: () => Promise.resolve(new Map()),
          publicUrl: listener.url,
          trustProxy: false,
        }),
        Effect.provideContext(service),
      )
      // Runs on the service's own clock, which tests can move.
      yield* Effect.forkScoped(
        Effect.all([listener.serve(app), Context.get(service, Worker).run], {
          concurrency: "unbounded",
        }).pipe(Effect.provideContext(service)),
      )
      return { url: listener.url, directory, receiver: yield* aReceiver }
    }),
  ).pipe(Layer.orDie)
}

/** Method and path of each request of the program, by all tests of a file. */
export const requested = new Set<string>()

interface AnotherServer {
  readonly url: string
  /** Number of responses. */
  readonly requests: () => number
  readonly close: () => void
}

/** A server that answers everything with that status, those headers and that body. */
export const anotherServer = (
  status: number,
  headers: Readonly<Record<string, string>> = {},
  body = "",
) =>
  new Promise<AnotherServer>((create) => {
    let answered = 0
    const server = createServer((request, response) => {
      answered++
      request.resume()
      response.writeHead(status, headers).end(body)
    })
    server.listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      const close = () => {
        server.close()
        server.closeAllConnections()
      }
      create({ url: `http://127.0.0.1:${port}/`, requests: () => answered, close })
    })
  })

const aReceiver = Effect.acquireRelease(
  Effect.promise(() => anotherServer(204)),
  ({ close }) => Effect.sync(close),
).pipe(Effect.map(({ url }) => url))

/** Result of a run of the program. */
export interface Ran {
  readonly code: number
  readonly output: string
  readonly remarks: string
  /** Times of its requests, in milliseconds of rest so far. */
  readonly requests: ReadonlyArray<number>
}

export interface RunOptions {
  readonly input?: string
  readonly env?: Readonly<Record<string, string>>
  readonly isWatched?: boolean
  /** Replaces each wait; false ends the program by a signal. */
  readonly meanwhile?: (wait: number) => Promise<boolean | void>
  /** Runs before each request; false ends the program by a signal. */
  readonly request?: (method: string) => boolean | void
  /** That signal. Default: Ctrl-C. */
  readonly endedBy?: "SIGINT" | "SIGTERM"
  /** Number of the wait at which the reader of standard output goes away. */
  readonly unreadAt?: number
  /** Standard output accepts that many texts, then fails with that code. */
  readonly outputAccepts?: readonly [texts: number, code: "EPIPE" | "ENOSPC"]
}

/** A workspace with a connected number; the program runs with its key and the operator's token. */
export const aWorkspace = async (url: string) => {
  const operator = operatorClient({ url, token })
  const { id: workspace } = await operator.workspaces.create({ name: "Shop" })
  const { id: number } = await operator.numbers.create(workspace, {
    platform: "whatsapp",
    phone: "+15550100001",
  })
  const { key } = await operator.keys.create(workspace, { version: 2, name: "Command line" })
  const client = messagingClient({ url, key })

  const messaging = async (
    line: ReadonlyArray<string>,
    {
      request = () => true,
      endedBy = "SIGINT",
      env = {},
      input,
      isWatched = false,
      meanwhile = () => Promise.resolve(),
      outputAccepts: [accepts, failure] = [Number.POSITIVE_INFINITY, "EPIPE"],
      unreadAt = Number.POSITIVE_INFINITY,
    }: RunOptions = {},
  ): Promise<Ran> => {
    const ran = { output: "", remarks: "", requests: new Array<number>() }
    let rested = 0
    const ending = new AbortController()
    let waits = 0
    let texts = 0
    const pause = async (millis: number) => {
      rested += millis
      if ((await meanwhile(++waits)) === false) ending.abort(endedBySignal(endedBy))
      ending.signal.throwIfAborted()
    }
    const machine: Machine = {
      env: { MESSAGING_SERVICE: url, MESSAGING_KEY: key, MESSAGING_OPERATOR_KEY: token, ...env },
      input: input === undefined ? null : () => Promise.resolve(input),
      askSecret: null,
      width: null,
      timeZone: "UTC",
      print: (text) => {
        if (++texts <= accepts) ran.output += text
      },
      written: () =>
        Promise.resolve(
          texts > accepts
            ? Object.assign(new Error(`${failure}: it is so`), { code: failure })
            : null,
        ),
      remark: (text) => void (ran.remarks += text),
      isWatched,
      signal: ending.signal,
      pause,
      pauseForReader: async (millis) => {
        if (millis > 0) await pause(millis)
        return waits < unreadAt
      },
      fetch: (query, init) => {
        ran.requests.push(rested)
        requested.add(`${init.method} ${new URL(query).pathname}`)
        if (request(init.method ?? "GET") === false) ending.abort(endedBySignal(endedBy))
        return fetch(query, init)
      },
      now: Date.now,
    }
    const code = await run(line, machine)
    return { code, ...ran }
  }
  return { workspace, number, key, operator, client, messaging }
}

export type Shop = Awaited<ReturnType<typeof aWorkspace>>
