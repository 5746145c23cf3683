/** The other end of every call that the service makes, in the same process. */
import { Egress, EgressError } from "@messaging-service/core"
import { Clock, Effect, Layer, Stream } from "effect"
import type { ReceivedCall, ReceiverAnswer, TestReceiver } from "./TestMessaging.ts"

const jsonOf = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

export const makeReceiver = () => {
  const calls: Array<ReceivedCall> = []
  const answers: Array<ReceiverAnswer> = []
  const files = new Map<string, { readonly content: Uint8Array; readonly mimeType: string }>()

  const layer = Layer.succeed(Egress, {
    allows: () => Effect.succeed(true),
    fetch: (url, { maximumBytes }) =>
      Effect.suspend(() => {
        const file = files.get(url)
        if (file === undefined) return Effect.fail(new EgressError({ reason: "dns" }))
        if (file.content.length > maximumBytes) {
          return Effect.fail(new EgressError({ reason: "too_large" }))
        }
        const headers = {
          "content-type": file.mimeType,
          "content-length": String(file.content.length),
        }
        return Effect.succeed({ status: 200, headers, url, body: Stream.make(file.content) })
      }),
    post: (url, { body, headers }) =>
      Effect.gen(function* () {
        const at = new Date(yield* Clock.currentTimeMillis)
        const answered = answers.shift() ?? 200
        calls.push({ at, url, headers, body, json: jsonOf(body), answered })
        return typeof answered === "number"
          ? { status: answered, headers: {} }
          : yield* new EgressError({ reason: answered })
      }),
  })

  const receiver: Omit<TestReceiver, "url" | "secret"> = {
    answer: (...next) => void answers.push(...next),
    calls,
    serve: (url, content, mimeType) => void files.set(url, { content, mimeType }),
  }
  return { layer, receiver }
}
