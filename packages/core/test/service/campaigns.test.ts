/** Campaigns up to their rows and results (campaigns: 1 to 3, 7, 9 and 10). */
import { assert, describe, it } from "@effect/vitest"
import { layer as layerStore } from "@messaging-service/store-memory"
import { storeChanged } from "@messaging-service/testkit"
import { Deferred, Effect, Fiber, Layer, Stream } from "effect"
import type { Scope } from "effect"
import { TestClock } from "effect/testing"
import { Campaigns, Store } from "../../src/index.ts"
import type {
  CampaignId,
  CampaignView,
  Code,
  Failure,
  ListCampaignRows,
  Mode,
  RowsToAppend,
  RowsUpload,
  WorkspaceId,
} from "../../src/index.ts"
import { refuse } from "../../src/model/Refusal.ts"
import { refusal } from "./Operations.ts"
import { aNumber, aSender, aWorkspace, inAService, iso, minute, noon, pass } from "./Service.ts"
import type { TestService } from "./Service.ts"

type Of = readonly ["owner", WorkspaceId, Mode]

const inAWorkspace = <A, E>(test: (of: Of) => Effect.Effect<A, E, TestService | Scope.Scope>) =>
  inAService(
    Effect.flatMap(aWorkspace(), (id) => test(["owner", id, "live"])),
    { worker: false },
  )

const keyed = (key: string, fingerprint = "same") => ({ key, fingerprint })

const draft = (of: Of, more: object = {}) =>
  Campaigns.use((campaigns) =>
    Effect.map(
      campaigns.create(...of, { name: "Spring", text: "Hello {name}", ...more }, null),
      ({ answer }) => answer,
    ),
  )

const aRow = (phone: string, name = "Ann") => ({ to: { phone }, values: { name } })

const add = (of: Of, { id }: Pick<CampaignView, "id">, rows: ReadonlyArray<object>) =>
  Campaigns.use((campaigns) =>
    Effect.map(campaigns.addRows(...of, id, { rows }, null), ({ answer }) => answer),
  )

const bytes = (text: string) => new TextEncoder().encode(text)

const upload = (
  of: Of,
  { id }: Pick<CampaignView, "id">,
  content: string | RowsUpload["content"],
  toColumn: string | null = null,
) =>
  Campaigns.use((campaigns) =>
    Effect.map(
      campaigns.uploadRows(
        ...of,
        id,
        {
          toColumn,
          content: typeof content === "string" ? Stream.succeed(bytes(content)) : content,
        },
        null,
      ),
      ({ answer }) => answer,
    ),
  )

const list = (of: Of, { id }: Pick<CampaignView, "id">, query: ListCampaignRows = {}) =>
  Campaigns.use((campaigns) => campaigns.rows(...of, id, query))

const counts = (of: Of, { id }: Pick<CampaignView, "id">) =>
  Campaigns.use((campaigns) => Effect.map(campaigns.get(...of, id), ({ rows }) => rows))

const code = <A, R>(effect: Effect.Effect<A, Failure<Code>, R>) =>
  Effect.map(refusal(effect), ({ code: text, field }) =>
    field === null ? text : `${text} ${field}`,
  )

describe("a draft", () => {
  it.effect("is made, read, listed, changed and unknown to others", () =>
    inAWorkspace((of) =>
      Effect.gen(function* () {
        const campaigns = yield* Campaigns
        const campaignView = yield* draft(of)
        const { rows, ...record } = campaignView
        assert.deepStrictEqual(record, {
          id: campaignView.id,
          workspaceId: of[1],
          mode: "live",
          name: "Spring",
          text: "Hello {name}",
          media: null,
          from: null,
          reference: null,
          timezone: null,
          sendAt: null,
          hours: null,
          expiresAt: null,
          quotaReserve: 200,
          defaultCountryCode: null,
          duplicates: "keep",
          state: "draft",
          stateReason: null,
          revision: 1,
          isHolding: false,
          asksFromRow: false,
          runningSince: null,
          lookAt: null,
          createdAt: noon,
          startedAt: null,
          endedAt: null,
          waitsFor: null,
          finishesAt: null,
        })
        assert.deepStrictEqual(new Set(Object.values(rows)), new Set([0]))
        assert.strictEqual(Object.keys(rows).length, 11)

        const changed = yield* campaigns.update(...of, campaignView.id, { name: "Summer" })
        assert.strictEqual(changed.name, "Summer")
        assert.strictEqual((yield* campaigns.get(...of, campaignView.id)).name, "Summer")
        const other = yield* draft(of)
        const { items } = yield* campaigns.list(...of, {})
        assert.deepStrictEqual(
          items.map(({ id }) => id),
          [other.id, campaignView.id],
        )
        assert.deepStrictEqual((yield* campaigns.list(...of, { state: "running" })).items, [])

        const unknown = "campaign_not_found"
        const test: Of = ["owner", of[1], "test"]
        assert.strictEqual(yield* code(campaigns.get(...test, campaignView.id)), unknown)
        const stranger: Of = ["owner", yield* aWorkspace(), "live"]
        assert.strictEqual(yield* code(campaigns.get(...stranger, campaignView.id)), unknown)
        assert.strictEqual(yield* code(campaigns.get(...of, undefined)), unknown)
        assert.strictEqual(yield* code(list(test, campaignView)), unknown)
        assert.strictEqual(
          yield* code(campaigns.get("member", 99 as WorkspaceId, "live", campaignView.id)),
          "workspace_not_found",
        )
      }),
    ),
  )

  it.effect("names numbers and files of its workspace", () =>
    inAWorkspace((of) =>
      Effect.gen(function* () {
        const campaigns = yield* Campaigns
        const number = yield* aNumber(of[1])
        const strange = yield* aNumber(yield* aWorkspace())
        assert.deepStrictEqual((yield* draft(of, { from: number })).from, [number])
        const unknown = "number_not_found from"
        assert.strictEqual(yield* code(draft(of, { from: [number, strange] })), unknown)
        const { id } = yield* draft(of)
        assert.strictEqual(yield* code(campaigns.update(...of, id, { from: strange })), unknown)
        assert.strictEqual(
          yield* code(draft(of, { media: { mediaId: 9 } })),
          "media_not_found media.mediaId",
        )
      }),
    ),
  )

  it.effect("is made once for each Idempotency-Key, whatever became of it", () =>
    inAWorkspace((of) =>
      Effect.gen(function* () {
        const campaigns = yield* Campaigns
        const body = { name: "Spring", text: "Hi", sendAt: iso(noon + minute) }
        const first = yield* campaigns.create(...of, body, keyed("one"))
        yield* campaigns.update(...of, first.answer.id, { name: "Summer" })
        yield* TestClock.adjust(2 * minute)
        const again = yield* campaigns.create(...of, body, keyed("one"))
        assert.deepStrictEqual(again, { answer: first.answer, replayed: true })
        assert.strictEqual(
          yield* code(campaigns.create(...of, body, keyed("one", "other"))),
          "idempotency_key_reused",
        )
      }),
    ),
  )

  it.effect("is one of 100 that have not ended", () =>
    inAWorkspace((of) =>
      Effect.gen(function* () {
        for (let createdCount = 0; createdCount < 100; createdCount++) yield* draft(of)
        assert.strictEqual(yield* code(draft(of)), "campaign_limit_reached")
        yield* draft(["owner", of[1], "test"])
      }),
    ),
  )
})

describe("rows", () => {
  it.effect("are checked one by one, numbered, read and erased", () =>
    inAWorkspace((of) =>
      Effect.gen(function* () {
        const campaigns = yield* Campaigns
        const campaign = yield* draft(of, { duplicates: "drop" })
        const added = yield* add(of, campaign, [
          aRow("+15550000001"),
          aRow("+15550000002", ""),
          aRow("+1 555 000 0001", "Bo"),
        ])
        const { problems, ...numbers } = added
        assert.deepStrictEqual(numbers, { firstRow: 1, lastRow: 3, pending: 1, refused: 2 })
        assert.deepStrictEqual(
          problems.map(({ problem, row, text }) => [row, problem?.code, problem?.row, text]),
          [
            [2, "placeholder_empty", null, null],
            [3, "duplicate_recipient", 1, null],
          ],
        )
        const later = yield* add(of, campaign, [aRow("+15550000001"), aRow("+15550000003")])
        assert.deepStrictEqual(
          [later.firstRow, later.lastRow, later.problems[0]?.problem?.row],
          [4, 5, 1],
        )
        assert.deepStrictEqual(
          (yield* list(of, campaign, { status: "pending" })).items.map(({ row, text }) => [
            row,
            text,
          ]),
          [
            [1, "Hello Ann"],
            [5, "Hello Ann"],
          ],
        )
        const found = yield* list(of, campaign, { code: "duplicate_recipient", to: "+15550000001" })
        assert.deepStrictEqual(
          found.items.map(({ row }) => row),
          [3, 4],
        )
        assert.strictEqual((yield* campaigns.row(...of, campaign.id, 5)).row, 5)
        assert.strictEqual(yield* code(campaigns.row(...of, campaign.id, 6)), "row_not_found")
        assert.strictEqual(
          yield* code(campaigns.row(...of, campaign.id, undefined)),
          "row_not_found",
        )
        const { pending, refused, total } = yield* counts(of, campaign)
        assert.deepStrictEqual([total, pending, refused], [5, 2, 3])

        assert.strictEqual(
          yield* code(campaigns.update(...of, campaign.id, { text: "Hi" })),
          "campaign_has_rows text",
        )
        assert.strictEqual(yield* campaigns.clearRows(...of, campaign.id), 5)
        assert.strictEqual((yield* counts(of, campaign)).total, 0)
        assert.strictEqual((yield* campaigns.update(...of, campaign.id, { text: "Hi" })).text, "Hi")
      }),
    ),
  )

  it.effect("come by pages in their order", () =>
    inAWorkspace((of) =>
      Effect.gen(function* () {
        const campaign = yield* draft(of)
        yield* add(
          of,
          campaign,
          Array.from({ length: 5 }, (_, at) => aRow(`+1555000000${at}`)),
        )
        const first = yield* list(of, campaign, { limit: 2 })
        const cursor = first.next ?? ""
        const second = yield* list(of, campaign, { limit: 3, cursor })
        assert.deepStrictEqual(
          [...first.items, ...second.items].map(({ row }) => row),
          [1, 2, 3, 4, 5],
        )
        assert.isNull(second.next)
        assert.strictEqual(
          yield* code(list(of, campaign, { cursor, status: "pending" })),
          "invalid_cursor cursor",
        )
      }),
    ),
  )

  it.effect("are added once for each Idempotency-Key", () =>
    inAWorkspace((of) =>
      Effect.gen(function* () {
        const campaigns = yield* Campaigns
        const { id } = yield* draft(of)
        const body = { rows: [aRow("+15550000001"), aRow("unknown")] }
        const first = yield* campaigns.addRows(...of, id, body, keyed("rows"))
        yield* add(of, { id }, [aRow("unknown")])
        const again = yield* campaigns.addRows(...of, id, body, keyed("rows"))
        assert.deepStrictEqual(again, { answer: first.answer, replayed: true })
        assert.strictEqual((yield* counts(of, { id })).total, 3)
      }),
    ),
  )

  it.effect("of calls at once all count, each with numbers of its own", () =>
    inAWorkspace((of) =>
      Effect.gen(function* () {
        const campaign = yield* draft(of)
        const rows = [aRow("+15550000001"), aRow("+15550000002")]
        const added = yield* Effect.all(
          Array.from({ length: 5 }, () => add(of, campaign, rows)),
          { concurrency: "unbounded" },
        )
        assert.deepStrictEqual(
          added.map(({ firstRow }) => firstRow).toSorted((a, b) => a - b),
          [1, 3, 5, 7, 9],
        )
      }),
    ),
  )
})

describe("a file of rows", () => {
  const file = (count: number) =>
    `to;name\n${Array.from({ length: count }, (_, at) => `+15551${100_000 + at};Ann\n`).join("")}`

  it.effect("is taken in many commits and becomes visible with the last", () =>
    inAWorkspace((of) =>
      Effect.gen(function* () {
        const campaign = yield* draft(of, { duplicates: "drop" })
        const gate = yield* Deferred.make<void>()
        const request = yield* Deferred.make<void>()
        const text = file(11_000)
        const half = Math.floor(text.length / 2)
        const content = Stream.concat(
          Stream.succeed(bytes(text.slice(0, half))),
          Stream.fromEffect(
            Effect.as(
              Effect.andThen(Deferred.succeed(request, undefined), Deferred.await(gate)),
              bytes(`${text.slice(half)}+15551100000;Bo\nx;Bo\n`),
            ),
          ),
        )
        const uploading = yield* Effect.forkChild(upload(of, campaign, content))
        yield* Deferred.await(request)
        assert.strictEqual((yield* counts(of, campaign)).total, 0)
        assert.strictEqual(yield* code(upload(of, campaign, "to\n1")), "upload_in_progress")
        assert.strictEqual(
          yield* code(add(of, campaign, [aRow("+15550000001")])),
          "upload_in_progress",
        )
        yield* Deferred.succeed(gate, undefined)
        const { problems, ...added } = yield* Fiber.join(uploading)
        assert.deepStrictEqual(added, { firstRow: 1, lastRow: 11_002, pending: 11_000, refused: 2 })
        assert.deepStrictEqual(
          problems.map(({ line, problem }) => [line, problem?.code, problem?.row]),
          [
            [11_002, "duplicate_recipient", 1],
            [11_003, "invalid_phone", null],
          ],
        )
        assert.strictEqual((yield* counts(of, campaign)).total, 11_002)
      }),
    ),
  )

  it.effect("is taken whole or not at all", () =>
    inAWorkspace((of) =>
      Effect.gen(function* () {
        const campaign = yield* draft(of)
        const { id } = campaign
        const campaigns = yield* Campaigns
        yield* add(of, campaign, [aRow("+15550000001")])
        for (const [content, text] of [
          [`${file(6000)}1;2;3\n`, "invalid_csv"],
          ["to\n", "invalid_csv"],
          ["name\nAnn\n", "column_not_found toColumn"],
          [file(100_000), "too_many_rows rows"],
        ] as const)
          assert.strictEqual(yield* code(upload(of, campaign, content)), text)
        assert.strictEqual(
          yield* code(upload(of, campaign, "a\n1", "b")),
          "column_not_found toColumn",
        )
        const broken = Stream.concat(
          Stream.succeed(bytes(file(6000))),
          Stream.fail(refuse("request_too_large")),
        )
        assert.strictEqual(yield* code(upload(of, campaign, broken)), "request_too_large")

        const request = yield* Deferred.make<void>()
        const hangs = Stream.concat(
          Stream.succeed(bytes(file(6000))),
          Stream.fromEffect(Effect.andThen(Deferred.succeed(request, undefined), Effect.never)),
        )
        const hanging = yield* Effect.forkChild(
          campaigns.uploadRows(...of, id, { toColumn: null, content: hangs }, keyed("file")),
        )
        yield* Deferred.await(request)
        yield* Fiber.interrupt(hanging)
        assert.strictEqual((yield* counts(of, campaign)).total, 1)
        // Neither its key nor its place is left behind.
        const content = Stream.succeed(bytes(file(1)))
        const { answer } = yield* campaigns.uploadRows(
          ...of,
          id,
          { toColumn: null, content },
          keyed("file"),
        )
        assert.deepStrictEqual([answer.firstRow, answer.lastRow], [2, 2])
        assert.strictEqual((yield* list(of, campaign)).items[1]?.line, 2)
      }),
    ),
  )

  it.effect("that a killed process left blocks no longer than it could have gone on", () =>
    inAWorkspace((of) =>
      Effect.gen(function* () {
        const { campaigns: store } = yield* Store
        const campaign = yield* draft(of)
        yield* store.appendRows({
          id: campaign.id,
          revision: 1,
          after: 0,
          rows: [],
          upload: "left",
          until: noon + minute,
          isLast: false,
          now: noon,
          idempotency: null,
          madeIds: [],
        })
        assert.strictEqual(yield* code(upload(of, campaign, file(1))), "upload_in_progress")
        yield* TestClock.adjust(minute)
        assert.strictEqual((yield* upload(of, campaign, file(1))).lastRow, 1)
      }),
    ),
  )
})

describe("a list of campaigns", () => {
  it.effect("shows what is ahead of each, in no more reads than of one", () => {
    let reads = 0
    const counted = <A, E>(read: Effect.Effect<A, E>) =>
      Effect.suspend(() => {
        reads++
        return read
      })
    const store = storeChanged(({ campaigns, messages }) => ({
      campaigns: { ...campaigns, check: (...args) => counted(campaigns.check(...args)) },
      messages: { ...messages, loadAcceptance: (query) => counted(messages.loadAcceptance(query)) },
    })).pipe(Layer.provideMerge(layerStore))
    return inAService(
      Effect.gen(function* () {
        const of: Of = ["owner", yield* aWorkspace(), "live"]
        yield* aNumber(of[1])
        const campaigns = yield* Campaigns
        for (const phone of ["+15550000001", "+15550000002", "+15550000003"]) {
          const { id } = yield* draft(of)
          yield* add(of, { id }, [aRow(phone)])
          yield* campaigns.start(...of, id)
        }
        reads = 0
        const { items } = yield* campaigns.list(...of, {})
        assert.strictEqual(reads, 2)
        assert.lengthOf(items, 3)
        for (const item of items) {
          assert.deepStrictEqual(item, yield* campaigns.get(...of, item.id))
          assert.deepStrictEqual([item.waitsFor, item.finishesAt], [[], noon])
        }
      }),
      { worker: false, store },
    )
  })
})

describe("settings that change while rows come", () => {
  /** Runs what is set once, before the next commit of rows. */
  const inARace = <A, E>(
    test: (
      of: Of,
      beforeNext: (work: Effect.Effect<unknown, Failure<Code>>) => void,
    ) => Effect.Effect<A, E, TestService | Scope.Scope>,
  ) => {
    let before: Effect.Effect<unknown, Failure<Code>> = Effect.void
    const store = storeChanged(({ campaigns: real }) => ({
      campaigns: {
        ...real,
        appendRows: (rows: RowsToAppend) =>
          Effect.suspend(() => {
            const work = before
            before = Effect.void
            return Effect.andThen(Effect.orDie(work), real.appendRows(rows))
          }),
      },
    })).pipe(Layer.provideMerge(layerStore))
    return inAService(
      Effect.flatMap(aWorkspace(), (id) =>
        test(["owner", id, "live"], (work) => {
          before = work
        }),
      ),
      { worker: false, store },
    )
  }

  const update = (
    { update: change }: typeof Campaigns.Service,
    of: Of,
    id: CampaignId,
    to: object,
  ) => Effect.asVoid(change(...of, id, to))

  it.effect("decide about all of them", () =>
    inARace((of, beforeNext) =>
      Effect.gen(function* () {
        const { id } = yield* draft(of, { defaultCountryCode: "49" })
        const to = { defaultCountryCode: "44", duplicates: "drop" }
        beforeNext(update(yield* Campaigns, of, id, to))
        const added = yield* add(of, { id }, [aRow("0151 1000001"), aRow("01511000001")])
        assert.deepStrictEqual([added.pending, added.problems[0]?.problem?.row], [1, 1])
        const { items } = yield* list(of, { id })
        assert.deepStrictEqual(items[0]?.to, { phone: "+441511000001" })
      }),
    ),
  )

  it.effect("break a file off only where they decide about its rows", () =>
    inARace((of, beforeNext) =>
      Effect.gen(function* () {
        const campaigns = yield* Campaigns
        const { id } = yield* draft(of)
        const change = (to: object) =>
          Stream.fromEffectDrain(
            Effect.sync(() => {
              beforeNext(update(campaigns, of, id, to))
            }),
          )
        const file = (to: object) =>
          Stream.concat(
            Stream.concat(Stream.succeed(bytes("to,name\n")), change(to)),
            Stream.succeed(bytes("+15550000001,Ann\n")),
          )
        assert.strictEqual(
          yield* code(upload(of, { id }, file({ text: "Bye {name}" }))),
          "upload_in_progress",
        )
        assert.strictEqual((yield* counts(of, { id })).total, 0)
        assert.strictEqual((yield* upload(of, { id }, file({ name: "Summer" }))).pending, 1)
        assert.strictEqual((yield* campaigns.get(...of, id)).name, "Summer")
      }),
    ),
  )
})

describe("a campaign that has run", () => {
  it.effect("shows what became of each row, and keeps what was answered", () =>
    inAService(
      Effect.gen(function* () {
        const campaigns = yield* Campaigns
        const { number, workspace } = yield* aSender()
        const of: Of = ["owner", workspace, "live"]
        const { id } = yield* draft(of)
        const body = { rows: [aRow("+15550000001"), aRow("unknown"), aRow("+15550000002", "Bo")] }
        const added = yield* campaigns.addRows(...of, id, body, keyed("rows"))
        yield* campaigns.start(...of, id)
        yield* pass(minute)
        const { endedAt, rows, state } = yield* campaigns.get(...of, id)
        assert.deepStrictEqual([state, rows.total, rows.refused, rows.pending], ["done", 3, 1, 0])
        assert.isNotNull(endedAt)
        const { items } = yield* list(of, { id })
        assert.deepStrictEqual(
          items.map(({ numberId, text }) => [numberId, text]),
          [
            [number, "Hello Ann"],
            [null, null],
            [number, "Hello Bo"],
          ],
        )
        const started = [
          yield* code(add(of, { id }, [aRow("+15550000001")])),
          yield* code(upload(of, { id }, "to\n1")),
          yield* code(campaigns.clearRows(...of, id)),
        ]
        assert.deepStrictEqual(new Set(started), new Set(["campaign_started"]))
        assert.strictEqual(
          yield* code(campaigns.update(...of, id, { name: "x" })),
          "campaign_ended",
        )
        assert.deepStrictEqual(yield* campaigns.addRows(...of, id, body, keyed("rows")), {
          ...added,
          replayed: true,
        })
        yield* campaigns.remove(...of, id)
        assert.strictEqual(yield* code(campaigns.get(...of, id)), "campaign_not_found")
      }),
    ),
  )
})

describe("results", () => {
  it.effect("are a file that no program for tables reads as formulas", () =>
    inAWorkspace((of) =>
      Effect.gen(function* () {
        const campaigns = yield* Campaigns
        const campaign = yield* draft(of)
        yield* add(of, campaign, [
          aRow("+15550000001"),
          { to: { username: "@anna" }, values: { name: "Ann" } },
          { to: { phone: '=1+"2"' }, values: {} },
          { to: { group: "a,b" } },
          { to: { contactId: 4 }, sendAt: "soon", values: { name: "x" } },
          aRow("+1x"),
        ])
        const read = (query: Parameters<typeof campaigns.results>[4] = {}) =>
          Effect.flatMap(campaigns.results(...of, campaign.id, query), Stream.mkString)
        const invalid = '"Phone numbers are international, with + and a country code."'
        assert.deepStrictEqual((yield* read()).split("\r\n"), [
          "\uFEFFrow,to,status,message_id,number_id,taken_on_at,sent_at,delivered_at,read_at,error_code,error_field,error_message",
          "1,+15550000001,pending,,,,,,,,,",
          "2,'@anna,pending,,,,,,,,,",
          `3,"'=1+""2""",refused,,,,,,,invalid_phone,to.phone,${invalid}`,
          '4,"a,b",refused,,,,,,,placeholder_empty,values.name,A placeholder of the text has no value.',
          '5,4,refused,,,,,,,invalid_datetime,send_at,"Times are ISO 8601 with an offset, such as 2030-01-31T09:00:00+02:00."',
          `6,'+1x,refused,,,,,,,invalid_phone,to.phone,${invalid}`,
          "",
        ])
        assert.strictEqual((yield* read({ status: "sent" })).split("\r\n").length, 2)
        assert.strictEqual(
          yield* code(campaigns.results(...of, 99 as CampaignId, {})),
          "campaign_not_found",
        )
      }),
    ),
  )

  it.effect("have all rows, however many", () =>
    inAWorkspace((of) =>
      Effect.gen(function* () {
        const campaigns = yield* Campaigns
        const campaign = yield* draft(of, { text: "Hi" })
        const lines = Array.from({ length: 2500 }, (_, at) => `+15551${100_000 + at}`)
        yield* upload(of, campaign, ["to", ...lines].join("\n"))
        const results = yield* campaigns.results(...of, campaign.id, {})
        const text = yield* Stream.mkString(results)
        assert.strictEqual(text.split("\r\n").length, 2502)
      }),
    ),
  )
})
