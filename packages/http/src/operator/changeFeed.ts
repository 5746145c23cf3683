/** The stream of a workspace's news, as server-sent events (contract: News). */
import {
  BrowserSessions,
  formatInstant,
  logFailure,
  parseId,
  refuse,
  sleepInRealTime as sleep,
  WorkspaceChangeFeed,
  Workspaces,
} from "@messaging-service/core"
import type { ChangeFeed, Refusal, WorkspaceId } from "@messaging-service/core"
import { Effect, Redacted, Result, Schema, Stream } from "effect"
import { jsonBody, StreamedAnswer } from "../Entry.ts"
import type { HttpSettings } from "../HttpOptions.ts"
import { parseQuery } from "../IncomingRequest.ts"
import type { IncomingRequest } from "../IncomingRequest.ts"
import { operatorRoute } from "./pipeline.ts"
import type { Admitted, OperatorRoute } from "./pipeline.ts"

/** How long a reader waits before it connects again, in milliseconds. */
const reconnectMillis = 2000

/** How often an idle stream shows that it lives, in real time. */
const commentMillis = 15_000

/** How often a stream checks its session, in real time: within 5 s it ends with it. */
const sessionCheckMillis = 4000

/** Ids of one event. */
const idsMax = 50

const encoder = new TextEncoder()

const frame = (event: string, position: number, data: unknown): string =>
  `event: ${event}\nid: ${position}\ndata: ${JSON.stringify(data)}\n\n`

const chunked = (ids: ReadonlyArray<number>): ReadonlyArray<ReadonlyArray<number>> =>
  ids.length <= idsMax ? [ids] : [ids.slice(0, idsMax), ...chunked(ids.slice(idsMax))]

/** The events that tell the news. A simulated phone may have got whatever message changed. */
const toFrames = ({ changes, now, position }: ChangeFeed, isSimulated: boolean): string => {
  const frames = now === null ? [] : [frame("clock", position, { now: formatInstant(now) })]
  for (const [topic, ids] of changes) {
    const names = topic === "messages" && isSimulated ? [topic, "simulator"] : [topic]
    for (const name of names) {
      for (const some of chunked(ids)) frames.push(frame(name, position, { ids: some }))
    }
  }
  return frames.join("")
}

/** Ends once the caller's session is over. A token lasts as long as the process. */
const sessionEnds = (
  { isValid }: BrowserSessions["Service"],
  { sessionId }: Admitted,
  operatorToken: Redacted.Redacted | null,
): Effect.Effect<void> => {
  if (sessionId === null) return Effect.never
  const token = operatorToken === null ? null : Redacted.value(operatorToken)
  const check = isValid(sessionId, token).pipe(
    Effect.tapError((error) => logFailure("a stream's session is checked later", error)),
    Effect.orElseSucceed(() => true),
  )
  return Effect.asVoid(
    Effect.repeat(Effect.andThen(sleep(sessionCheckMillis), check), { while: (valid) => valid }),
  )
}

const comments = Stream.fromEffectRepeat(Effect.as(sleep(commentMillis), ":\n\n"))

/** The bytes of a stream, until `ends`. */
const encodeFrames = (
  changeFeed: Stream.Stream<ChangeFeed>,
  isSimulated: boolean,
  ends: Effect.Effect<void>,
): Stream.Stream<Uint8Array> =>
  Stream.make(`retry: ${reconnectMillis}\n\n`).pipe(
    Stream.concat(
      Stream.merge(
        Stream.map(changeFeed, (one) => toFrames(one, isSimulated)),
        comments,
      ),
    ),
    Stream.map((text) => encoder.encode(text)),
    Stream.interruptWhen(ends),
  )

const EventsJson = Schema.Unknown.annotate({ identifier: "NewsEvents" })

const SessionKind = Schema.Literals(["operator", "portal"])

const WorkspaceParameter = Schema.Struct({
  workspace_id: Schema.String.annotate({
    description: "The workspace. A portal's session reads its own.",
    parameter: { type: "integer", minimum: 1 },
  }),
  session: Schema.optionalKey(SessionKind).annotate({
    description: "Whose session, where a browser holds both.",
  }),
})

const missing = refuse("validation_failed", {
  field: "workspace_id",
  message: "workspace_id: is required, and given only once",
})

const noKind = refuse("validation_failed", {
  field: "session",
  message: "session: must be operator or portal",
})

/** Of a query without exactly one; undefined where it is not an id. */
const workspaceOfQuery = ({
  query,
}: IncomingRequest): Result.Result<WorkspaceId | undefined, Refusal> =>
  Result.flatMap(parseQuery(query), (entries) => {
    const isKind = Schema.is(SessionKind)
    if (entries.some(([name, text]) => name === "session" && !isKind(text))) {
      return Result.fail(noKind)
    }
    const [value, ...more] = entries.flatMap(([name, text]) =>
      name === "workspace_id" ? text : [],
    )
    return value === undefined || more.length > 0
      ? Result.fail(missing)
      : Result.succeed(parseId<WorkspaceId>(value))
  })

/** The position that the reader has got to, as browsers send it when they connect again. */
const lastEventId = ({ request }: IncomingRequest): number | null => {
  const value = request.headers["last-event-id"] ?? ""
  return /^\d{1,15}$/.test(value) ? Number(value) : null
}

const example = `retry: 2000

event: clock
id: 4711
data: {"now":"2030-01-31T07:00:00Z"}

event: messages
id: 4712
data: {"ids":[17]}
`

export const changeFeedRoutes = ({
  emulator,
  operatorToken,
  stopping = Effect.never,
}: HttpSettings): ReadonlyArray<OperatorRoute> => [
  operatorRoute("News")("GET /admin/v1/events", {
    id: "streamNews",
    right: "read",
    summary: "Follow what changes",
    about:
      "Events say what changed, never how: read it again. Empty `ids`: anything of the topic may have changed. With `Last-Event-ID` nothing of the last hour is missed.",
    parameters: WorkspaceParameter,
    workspaceInQuery: true,
    success: "Events, until the session ends or the service stops.",
    contentType: "text/event-stream",
    answer: jsonBody(EventsJson, example),
    refused: ["workspace_not_found", "rate_limited"],
    handler: Effect.fnUntraced(function* streamNews({ admitted, incoming }) {
      const id = yield* Effect.fromResult(workspaceOfQuery(incoming))
      const workspace = yield* (yield* Workspaces).get(id)
      const changeFeed = yield* WorkspaceChangeFeed
      const sessions = yield* BrowserSessions
      incoming.answerHeaders["x-accel-buffering"] = "no"
      const query = {
        workspaceId: workspace.id,
        holder: admitted.sessionId ?? "token",
        after: lastEventId(incoming),
      }
      const ends = Effect.raceFirst(stopping, sessionEnds(sessions, admitted, operatorToken))
      const isSimulated = emulator !== null && admitted.kind === "operator"
      return new StreamedAnswer(
        "text/event-stream",
        Effect.map(changeFeed.open(query), (stream) => encodeFrames(stream, isSimulated, ends)),
      )
    }),
  }),
]
