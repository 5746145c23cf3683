/** Numbers of a caller, linking them, and number checks. */
import {
  Connections,
  NumberChecks,
  QrImages,
  QrLinks,
  sleepInRealTime,
} from "@messaging-service/core"
import type {
  Caller,
  CheckNumbers,
  ConnectNumber,
  ListCheckResults,
  NumberCheckId,
  NumberId,
} from "@messaging-service/core"
import { Effect } from "effect"
import type { NumberChecksApi, NumberView, NumbersApi } from "../api/numbers.ts"
import { bodyOf } from "../names.ts"
import type { CallerApi } from "./Calls.ts"
import { idOf, listingOf, made, repeatable } from "./asking.ts"
import { checkShown, numberShown, numberViewShown, resultShown } from "./records.ts"

/** How often a linking is looked at, in real time. */
const lookMillis = 250

/**
 * How many looks one admission is good for, which is 10 seconds: a linking of ten minutes takes few of
 * the requests that a key may make, and a key that is revoked meanwhile soon sees no more of it.
 */
const looksOfAdmission = 40

/** What the QR code behind a link says now; null when its attempt has just ended. */
const textBehind = (url: string | null) =>
  url === null
    ? Effect.succeed(null)
    : QrLinks.use(({ read }) => read(url.slice(url.lastIndexOf("/") + 1))).pipe(
        Effect.catchTag("Refusal", () => Effect.succeed(null)),
      )

const view = Effect.fnUntraced(function* (caller: Caller, id: number) {
  const number = yield* (yield* Connections).get(caller, idOf<NumberId>(id))
  return numberViewShown(number, yield* textBehind(number.connect?.qrCodeUrl ?? null))
})

/** What a person sees of it: links are fresh with each look. */
const seen = ({ connect, ...number }: NumberView): string =>
  JSON.stringify([number, connect === null ? null : { ...connect, qrCodeUrl: null }])

export const numbersApi: CallerApi<NumbersApi> = ({ caller, run }) => {
  /** Admitted anew; a caller that used up the rate with other calls goes on as before. */
  const admittedAgain = (before: Caller) =>
    Effect.catchTag(caller, "Refusal", (refusal) =>
      refusal.code === "rate_limited" ? Effect.succeed(before) : Effect.fail(refusal),
    )

  const get = (id: number) => run(Effect.flatMap(caller, (who) => view(who, id)))

  const connect: NumbersApi["connect"] = (command, options) =>
    run(
      Effect.gen(function* () {
        const body = bodyOf<ConnectNumber>(command ?? {})
        const who = yield* caller
        const repeat = yield* repeatable(options, "/api/v2/numbers", body)
        const { answer, replayed } = yield* (yield* Connections).connect(who, body, repeat)
        return made(numberShown(answer), replayed)
      }),
    )

  return {
    get,
    connect,
    list: () =>
      run(
        Effect.gen(function* () {
          return (yield* (yield* Connections).list(yield* caller)).map(numberShown)
        }),
      ),
    async *link(command) {
      const { id } = await connect(command)
      let who = await run(caller)
      for (let last = "", looks = 1; ; looks++) {
        if (looks % looksOfAdmission === 0) who = await run(admittedAgain(who))
        const now = await run(view(who, id))
        if (seen(now) !== last) {
          last = seen(now)
          yield now
        }
        if (now.status !== "connecting") return
        await run(sleepInRealTime(lookMillis))
      }
    },
    qrCode: (id) =>
      run(
        Effect.gen(function* () {
          const { connect: shown } = yield* view(yield* caller, id)
          const text = shown?.qrText ?? null
          return text === null ? null : yield* (yield* QrImages).png(text)
        }),
      ),
  }
}

export const numberChecksApi: CallerApi<NumberChecksApi> = ({ caller, run }) => ({
  create: (command, options) =>
    run(
      Effect.gen(function* () {
        const body = bodyOf<CheckNumbers>(command)
        const who = yield* caller
        const repeat = yield* repeatable(options, "/api/v2/number-checks", body)
        const { answer, replayed } = yield* (yield* NumberChecks).create(who, body, repeat)
        return made(checkShown(answer), replayed)
      }),
    ),
  get: (id) =>
    run(
      Effect.gen(function* () {
        const who = yield* caller
        return checkShown(yield* (yield* NumberChecks).get(who, idOf<NumberCheckId>(id)))
      }),
    ),
  list: (query) =>
    listingOf(
      { caller, run },
      query,
      (who, asked) => NumberChecks.use((checks) => checks.list(who, asked)),
      Effect.succeed(checkShown),
    ),
  results: (id, query) =>
    listingOf(
      { caller, run },
      query,
      (who, asked) =>
        NumberChecks.use((checks) =>
          checks.results(who, idOf<NumberCheckId>(id), bodyOf<ListCheckResults>(asked)),
        ),
      Effect.succeed(resultShown),
    ),
})
