import { assert, describe, it } from "@effect/vitest"
import { PageInput } from "@messaging-service/core"
import type { CreateReminder, ListPage } from "@messaging-service/core"
import { Effect, Schema } from "effect"
import { jsonBody, DeletedJson, json, query } from "../src/Entry.ts"
import { routeV1 } from "../src/v1/pipeline.ts"
import { routeV2 } from "../src/v2/pipeline.ts"

const at = "DELETE /api/v2/messages/{id}"

const said = {
  id: "cancelMessage",
  summary: "Cancel",
  success: "It is cancelled.",
  answer: jsonBody(DeletedJson, { id: 1, deleted: true }),
} as const

const route2 = routeV2("Messages")

const deleted = Effect.succeed({ id: 1, deleted: true } as const)

describe("the types of an entry reject", () => {
  it("an answer that does not match its schema", () => {
    // @ts-expect-error -- `deleted` is missing
    const route = route2(at, { ...said, handler: () => Effect.succeed({ id: 1 }) })
    assert.isFunction(route.handler)
  })

  it("an answer of version 1 that does not match its schema", () => {
    const route = routeV1("GET /api/v1/x", {
      summary: "X",
      fields: {},
      answer: DeletedJson,
      // @ts-expect-error -- `deleted` is missing
      handler: () => Effect.succeed({ id: 1 }),
    })
    assert.isFunction(route.handler)
  })

  it("a name that the path lacks", () => {
    const route = route2(at, {
      ...said,
      // @ts-expect-error -- the path has `id` alone
      handler: ({ id }) => Effect.as(deleted, { id: id("message_id") ?? 1, deleted: true }),
    })
    assert.isFunction(route.handler)
  })

  it("a field that the command lacks", () => {
    const Limit = Schema.Struct({ limit: Schema.Int })
    const taking = json<{ readonly limit: number }>()(Limit, { limit: 5 })
    const route = route2(at, {
      ...said,
      request: taking,
      // @ts-expect-error -- the command has no cursor
      handler: ({ request }) => Effect.as(deleted, { id: request.cursor, deleted: true }),
    })
    assert.isFunction(route.handler)
  })

  it("an idempotent operation that does not tell whether its answer is a repeat", () => {
    // @ts-expect-error -- `answer` and `replayed` are missing
    const route = route2(at, { ...said, idempotent: true, handler: () => deleted })
    assert.isFunction(route.handler)
  })

  it("a schema with a field too few or too many, nested fields included", () => {
    const schedule = Schema.Struct({
      cron: Schema.String,
      timezone: Schema.optionalKey(Schema.String),
    })
    const Body = Schema.Struct({ name: Schema.String, schedule })
    type Command = Pick<CreateReminder, "name" | "schedule">
    const example = { name: "x", schedule: { cron: "x" } }
    const taken = json<Command>()(Body, example)
    // @ts-expect-error -- `active` is missing
    const lacking = json<Command & { readonly active?: boolean }>()(Body, example)
    // @ts-expect-error -- the command has no name
    const more = json<Pick<CreateReminder, "schedule">>()(Body, example)
    const Shallow = Schema.Struct({
      name: Schema.String,
      schedule: Schema.Struct({ cron: Schema.String }),
    })
    // @ts-expect-error -- `schedule.timezone` is missing
    const within = json<Command>()(Shallow, example)
    // @ts-expect-error -- `name` is not a number
    const other = json<Omit<Command, "name"> & { readonly name: number }>()(Body, example)
    // @ts-expect-error -- `cursor` is missing
    const listed = query<ListPage>()(Schema.Struct({ limit: PageInput.fields.limit }))
    assert.deepStrictEqual(
      [taken, lacking, more, within, other, listed].map(({ source }) => source),
      ["json", "json", "json", "json", "json", "query"],
    )
  })
})
