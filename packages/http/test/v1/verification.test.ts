/** Number verification: by bearer token alone, over version 2's number checks. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { layerService } from "../Service.ts"
import { aKey, aPhone, change, settle } from "../Records.ts"
import type { Created, PageBody } from "../Records.ts"
import { get, post } from "../v2/Asking.ts"
import { aClient, aLonelyClient, answered, bodyAs, call, kinds, assertRefusedV1 } from "./Asking.ts"
import type { Client, Fields, Kind } from "./Asking.ts"

interface Campaign {
  readonly campaign_id: number
  readonly numbers_count: number
  readonly [field: string]: unknown
}

const unknownPhone = "+15550000000"

const requests = (token: string | undefined, fields: Fields, kind: Kind = "JSON", slash = "/") =>
  call(`verification/create${slash}`, {
    ...bodyAs(kind, fields),
    ...(token === undefined ? {} : { token }),
  })

const starts = ({ credentials }: Client, fields: Fields) =>
  Effect.map(requests(credentials.api_key, fields), (answer) => answered<Campaign>(answer))

const question = (operation: string, query: Fields): string => {
  const entries = Object.entries(query).map(([name, value]) => [name, String(value)])
  return `${operation}?${new URLSearchParams(Object.fromEntries(entries) as Record<string, string>)}`
}

const looks = (operation: string, token: string | undefined, query: Fields) =>
  call(question(`verification/${operation}`, query), {
    method: "GET",
    ...(token === undefined ? {} : { token }),
  })

const results = ({ credentials }: Client, query: Fields) =>
  Effect.map(looks("results/", credentials.api_key, query), (answer) =>
    answered<{ readonly total: number; readonly results: ReadonlyArray<Fields> }>(answer),
  )

layer(layerService())("verification/create/", (it) => {
  it.effect("starts a check that version 2 shows", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const phone = aPhone()
      const numbers = [phone.slice(1), phone, "1 555-000 0000"]
      const campaign = yield* starts(client, { numbers, campaign_name: "Leads" })
      const { campaign_id } = campaign
      assert.deepStrictEqual<unknown>(campaign, {
        status: 1,
        message: "Verification started",
        campaign_id,
        numbers_count: 3,
      })
      yield* settle
      const { key } = yield* aKey(client.workspace)
      const check = answered<Fields>(yield* get(key, `/api/v2/number-checks/${campaign_id}`))
      assert.deepStrictEqual(
        [check["name"], check["status"], check["registered"], check["not_registered"]],
        ["Leads", "completed", 2, 1],
      )
    }),
  )

  it.effect.each(kinds)("takes a list and numbers with commas between them, in %s", (kind) =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      for (const slash of ["/", ""]) {
        const fields = { numbers: "15550001234, +15550001235,", nonsense: "ignored" }
        const answer = yield* requests(credentials.api_key, fields, kind, slash)
        assert.strictEqual(answered<Campaign>(answer).numbers_count, 2)
      }
    }),
  )

  const refused: ReadonlyArray<readonly [fields: Fields, says: string]> = [
    [{}, "Numbers cant be null"],
    [{ numbers: null }, "Numbers cant be null"],
    [{ numbers: [] }, "Numbers cant be null"],
    [{ numbers: "" }, "Numbers cant be null"],
    [{ numbers: Array.from({ length: 1001 }, () => "15550001234") }, "More than 1000 numbers"],
    [{ numbers: ["15550001234", "12"] }, "Invalid Contact Number"],
    [{ numbers: ["@recipient"] }, "Invalid Contact Number"],
    [{ numbers: [null] }, "Invalid Contact Number"],
    [{ numbers: ["15550001234"], campaign_name: "x".repeat(101) }, "Campaign name is too long"],
  ]
  it.effect("reports wrong fields", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      for (const [fields, message] of refused) {
        assertRefusedV1(yield* requests(credentials.api_key, fields), 400, message)
      }
      const lonely = yield* aLonelyClient()
      const answer = yield* requests(lonely.credentials.api_key, { numbers: ["15550001234"] })
      assertRefusedV1(answer, 400, "Invalid whatsapp client id.")
    }),
  )
})

layer(layerService())("verification/status/ and verification/results/", (it) => {
  it.effect("show progress and results, in version 2's values", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const token = client.credentials.api_key
      const [first, second] = [aPhone(), aPhone()]
      const numbers = [first, unknownPhone, second]
      const { campaign_id } = yield* starts(client, { numbers })
      yield* settle
      assert.deepStrictEqual(answered(yield* looks("status/", token, { campaign_id })), {
        status: 1,
        overall_status: "completed",
        total: 3,
        checked: 3,
        registered: 2,
        not_registered: 1,
      })
      const found = (phone: string, status = "registered") => ({
        phone,
        status,
        checked_at: "1970-01-01T00:00:00Z",
      })
      const all = [found(second), found(unknownPhone, "not_registered"), found(first)]
      assert.deepStrictEqual<unknown>(yield* results(client, { campaign_id }), {
        status: 1,
        total: 3,
        results: all,
      })
      const page = yield* results(client, { campaign_id, limit: 1, offset: 1 })
      assert.deepStrictEqual([page.total, page.results], [3, all.slice(1, 2)])
      const registered = yield* results(client, { campaign_id, status: "registered" })
      assert.deepStrictEqual([registered.total, registered.results], [2, [all[0], all[2]]])
      assert.deepStrictEqual((yield* results(client, { campaign_id, offset: 9 })).results, [])
      assert.lengthOf((yield* results(client, { campaign_id, limit: 5000 })).results, 3)
    }),
  )

  it.effect("also show a check of version 2, of the same workspace alone", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const { key } = yield* aKey(client.workspace)
      const { id } = answered<Created>(
        yield* post(key, { phones: [aPhone()] }, "/api/v2/number-checks"),
        202,
      )
      yield* settle
      assert.strictEqual((yield* results(client, { campaign_id: id })).total, 1)
      const stranger = yield* aClient()
      for (const operation of ["status", "status/", "results", "results/"]) {
        const answer = yield* looks(operation, stranger.credentials.api_key, { campaign_id: id })
        assertRefusedV1(answer, 400, "Invalid campaign id")
      }
      const own = answered<PageBody<Created>>(
        yield* get(key, `/api/v2/number-checks/${id}/results`),
      )
      assert.lengthOf(own.data, 1)
    }),
  )

  it.effect("report a wrong query", () =>
    Effect.gen(function* () {
      const client = yield* aClient()
      const token = client.credentials.api_key
      const { campaign_id } = yield* starts(client, { numbers: [aPhone()] })
      for (const query of [{}, { campaign_id: "" }, { campaign_id: "x" }, { campaign_id: 0 }]) {
        assertRefusedV1(yield* looks("status/", token, query), 400, "Invalid campaign id")
        assertRefusedV1(yield* looks("results/", token, query), 400, "Invalid campaign id")
      }
      for (const [query, message] of [
        [{ status: "sent" }, "Invalid status"],
        [{ limit: 0 }, "Invalid limit"],
        [{ limit: "all" }, "Invalid limit"],
        [{ offset: -1 }, "Invalid offset"],
        [{ offset: "x" }, "Invalid offset"],
      ] as const) {
        assertRefusedV1(yield* looks("results/", token, { campaign_id, ...query }), 400, message)
      }
    }),
  )
})

layer(layerService())("credentials of verification", (it) => {
  it.effect("are the bearer token alone: a key among the fields is ignored", () =>
    Effect.gen(function* () {
      const { credentials } = yield* aClient()
      const missing = "Auth Error - Please send correct API key and Client id"
      assertRefusedV1(
        yield* requests(undefined, { ...credentials, numbers: [aPhone()] }),
        400,
        missing,
      )
      assertRefusedV1(
        yield* looks("status/", undefined, { ...credentials, campaign_id: 1 }),
        400,
        missing,
      )
      // A client_id is ignored too, wrong or right.
      const other = { client_id: 999_999, api_key: "nonsense", numbers: [aPhone()] }
      answered(yield* requests(credentials.api_key, other))
    }),
  )

  it.effect("follow the same account rules and limits as everywhere", () =>
    Effect.gen(function* () {
      const { key: version2 } = yield* aKey((yield* aClient()).workspace)
      const invalid = "Auth Error: invalid api key"
      assertRefusedV1(yield* looks("status/", version2, { campaign_id: 1 }), 400, invalid)
      assertRefusedV1(yield* looks("results/", "a1".repeat(20), { campaign_id: 1 }), 400, invalid)
      const demo = yield* aClient({ workspace: { demo: true } })
      const { api_key } = demo.credentials
      const answer = yield* requests(api_key, { numbers: [aPhone()] })
      assertRefusedV1(answer, 400, "Demo Account can not access apis")
      yield* change(demo.workspace, { demo: false, account_disabled: true })
      assertRefusedV1(yield* looks("status/", api_key, {}), 400, "Account Disabled")
      yield* change(demo.workspace, { account_disabled: false, api_v2_enabled: false })
      answered(yield* requests(api_key, { numbers: [aPhone()] }))
    }),
  )
})
