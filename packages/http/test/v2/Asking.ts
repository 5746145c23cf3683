/** Requests about messages, for the suites of version 2. */
import { Effect } from "effect"
import { HttpTestClients } from "../HttpTestClients.ts"
import { aText, expectBody } from "../Records.ts"
import type { MessageBody, PageBody } from "../Records.ts"

export const path = "/api/v2/messages"

export const post = (token: string, json: unknown, at = path) =>
  Effect.flatMap(HttpTestClients, ({ socket }) =>
    socket.call({ method: "POST", path: at, token, json }),
  )

export const send = (token: string, fields: Readonly<Record<string, unknown>> = {}) =>
  Effect.map(post(token, { ...aText, ...fields }), (answer) => expectBody<MessageBody>(answer, 202))

export const get = (token: string, at: string) =>
  Effect.flatMap(HttpTestClients, ({ socket }) => socket.call({ path: at, token }))

export const cancel = (token: string, id: number) =>
  Effect.flatMap(HttpTestClients, ({ socket }) =>
    socket.call({ method: "DELETE", path: `${path}/${id}`, token }),
  )

export const list = (token: string, query = "") =>
  Effect.map(get(token, `${path}${query}`), (answer) =>
    expectBody<PageBody<MessageBody>>(answer, 200),
  )

export const toIds = (page: PageBody<MessageBody>) => page.data.map(({ id }) => id)

export const anHourLater = "1970-01-01T01:00:00Z"
