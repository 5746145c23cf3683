/** Drafts of campaigns and their rows, sentence by sentence (contract: Campaigns), over a socket. */
import { assert, layer } from "@effect/vitest"
import { Effect } from "effect"
import { errorBody } from "../HttpTestClients.ts"
import { aContact, aNumber, aSender, aWorkspace, expectBody } from "../Records.ts"
import { layerService } from "../Service.ts"
import { aPart, form, multipart } from "../v2/Uploading.ts"
import {
  addRows,
  aDraft,
  request,
  create,
  hello,
  move,
  moving,
  read,
  refusal,
  rowsAt,
  getRows,
  toPhone,
  uploading,
  uploadRows,
} from "./Campaigning.ts"
import type { AddedBody, CampaignBody } from "./Campaigning.ts"

const ada = toPhone("+15550001234", { name: "Ada" })

const none = {
  total: 0,
  pending: 0,
  refused: 0,
  skipped: 0,
  queued: 0,
  sent: 0,
  delivered: 0,
  read: 0,
  failed: 0,
  cancelled: 0,
  expired: 0,
}

layer(layerService())("a campaign's draft", (it) => {
  it.effect("has the defaults, and nothing that it waits for", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const { created_at, id, ...campaign } = yield* create(workspace)
      assert.match(String(created_at), /Z$/)
      assert.deepStrictEqual(campaign, {
        mode: "live",
        name: "Spring",
        state: "draft",
        state_reason: null,
        text: "Hello {name|there}",
        media: null,
        from: null,
        reference: `campaign-${id}`,
        timezone: null,
        send_at: null,
        hours: null,
        expires_at: null,
        quota_reserve: 200,
        default_country_code: null,
        duplicates: "keep",
        rows: none,
        waits_for: null,
        finishes_at: null,
        started_at: null,
        ended_at: null,
      })
    }),
  )

  it.effect("shows numbers as an array, hours as times, and all that was given", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aSender()
      const hours = { days: ["fri", "mon"], from: "09:00", until: "24:00" }
      const campaign = yield* create(workspace, {
        from: number.id,
        reference: "spring",
        timezone: "Europe/London",
        send_at: "2030-01-31T09:00:00+02:00",
        expires_at: "2030-02-28T09:00:00Z",
        hours,
        quota_reserve: 0,
        default_country_code: "44",
        duplicates: "drop",
        media: { url: "https://example.com/a.png" },
      })
      assert.deepInclude(campaign, {
        from: [number.id],
        reference: "spring",
        send_at: "2030-01-31T07:00:00Z",
        hours: { days: ["mon", "fri"], from: "09:00", until: "24:00" },
        quota_reserve: 0,
        default_country_code: "44",
        duplicates: "drop",
      })
      assert.deepInclude(campaign["media"], { url: "https://example.com/a.png", media_id: null })
      const all = yield* create(workspace, {
        timezone: "Europe/London",
        hours: { from: "09:00", until: "18:00" },
      })
      assert.lengthOf((all["hours"] as { days: ReadonlyArray<string> }).days, 7)
    }),
  )

  for (const [fields, ...refused] of [
    [{ name: " " }, 400, "validation_failed", "name"],
    [{ text: "" }, 400, "text_required", "text"],
    [{ text: "a".repeat(3001) }, 400, "text_too_long", "text"],
    [{ text: "Hello {name" }, 400, "invalid_template", "text"],
    [{ text: "Hello }" }, 400, "invalid_template", "text"],
    [{ text: "Hello {}" }, 400, "invalid_template", "text"],
    [{ from: [] }, 400, "validation_failed", "from"],
    [{ from: 987_654 }, 422, "number_not_found", "from"],
    [{ timezone: "Moon" }, 400, "invalid_timezone", "timezone"],
    [{ send_at: "2026-12-01T09:00" }, 400, "invalid_datetime", "send_at"],
    [{ send_at: "1960-01-01T00:00:00Z" }, 422, "time_in_past", "send_at"],
    [{ expires_at: "1960-01-01T00:00:00Z" }, 422, "time_in_past", "expires_at"],
    [{ hours: { from: "09:00", until: "18:00" } }, 400, "validation_failed", "timezone"],
    [{ quota_reserve: 1000 }, 400, "validation_failed", "quota_reserve"],
    [{ default_country_code: "999" }, 400, "validation_failed", "default_country_code"],
    [{ duplicates: "merge" }, 400, "validation_failed", "duplicates"],
    [{ colour: "red" }, 400, "validation_failed", "colour"],
  ] as const) {
    it.effect(`is refused with ${JSON.stringify(fields).slice(0, 60)}`, () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const json = { ...hello, ...fields }
        const answer = yield* request(workspace, "", { method: "POST", json })
        assert.deepStrictEqual(refusal(answer), refused)
      }),
    )
  }

  it.effect("is made once for an Idempotency-Key", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const call = {
        method: "POST",
        json: hello,
        headers: [["idempotency-key", "spring"]],
      } as const
      const first = yield* request(workspace, "", call)
      const again = yield* request(workspace, "", call)
      assert.strictEqual(again.headers["idempotent-replayed"], "true")
      assert.strictEqual(
        expectBody<CampaignBody>(again, 201).id,
        expectBody<CampaignBody>(first, 201).id,
      )
      const other = yield* request(workspace, "", { ...call, json: { ...hello, name: "Autumn" } })
      assert.strictEqual(errorBody(other).code, "idempotency_key_reused")
    }),
  )

  it.effect("of the other mode, of another workspace and of none is unknown", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const other = yield* aWorkspace()
      const live = yield* create(workspace)
      const test = yield* create(workspace, {}, "?mode=test")
      assert.strictEqual(test["mode"], "test")
      for (const [of, path] of [
        [workspace, `/${live.id}?mode=test`],
        [workspace, `/${test.id}`],
        [other, `/${live.id}`],
        [workspace, "/x"],
      ] as const) {
        assert.deepStrictEqual(refusal(yield* request(of, path)), [404, "campaign_not_found", null])
      }
      assert.deepStrictEqual(refusal(yield* request(workspace, "?mode=x")), [
        400,
        "validation_failed",
        "mode",
      ])
      const list = yield* request(workspace, "?mode=test")
      assert.deepStrictEqual(
        expectBody<{ data: ReadonlyArray<CampaignBody> }>(list, 200).data.map(({ id }) => id),
        [test.id],
      )
    }),
  )

  it.effect("is listed newest first, by state and in pages", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const ids: Array<number> = []
      for (let createdCount = 0; createdCount < 3; createdCount++)
        ids.unshift((yield* create(workspace)).id)
      type Page = { data: ReadonlyArray<CampaignBody>; next_cursor: string | null }
      const first = expectBody<Page>(yield* request(workspace, "?limit=2&state=draft,running"), 200)
      const query = `?limit=2&state=draft,running&cursor=${first.next_cursor}`
      const second = expectBody<Page>(yield* request(workspace, query), 200)
      assert.deepStrictEqual(
        [...first.data, ...second.data].map(({ id }) => id),
        ids,
      )
      assert.isNull(second.next_cursor)
      assert.deepStrictEqual(
        expectBody<Page>(yield* request(workspace, "?state=done"), 200).data,
        [],
      )
      assert.strictEqual(errorBody(yield* request(workspace, "?cursor=x")).code, "invalid_cursor")
    }),
  )

  it.effect("changes; what decides about rows only without any", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const campaign = yield* create(workspace)
      const change = (json: object) =>
        request(workspace, `/${campaign.id}`, { method: "PATCH", json })
      const changed = expectBody<CampaignBody>(
        yield* change({ text: "Hi {name}", name: "May" }),
        200,
      )
      assert.deepInclude(changed, { text: "Hi {name}", name: "May" })
      yield* addRows(workspace, campaign, [ada])
      for (const json of [
        { text: "Hello" },
        { media: null },
        { timezone: "Europe/London" },
        { default_country_code: "44" },
        { duplicates: "drop" },
      ]) {
        assert.strictEqual(errorBody(yield* change(json)).code, "campaign_has_rows")
      }
      assert.strictEqual(
        expectBody<CampaignBody>(yield* change({ quota_reserve: 1 }), 200)["quota_reserve"],
        1,
      )
      expectBody(yield* request(workspace, rowsAt(campaign), { method: "DELETE" }), 200)
      expectBody(yield* change({ text: "Hello" }), 200)
    }),
  )

  it.effect("cannot pause, resume or stop, and starts only with a row", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const campaign = yield* create(workspace)
      for (const each of ["pause", "resume", "stop"] as const) {
        assert.deepStrictEqual(refusal(yield* moving(workspace, campaign, each)), [
          409,
          "campaign_not_started",
          null,
        ])
      }
      assert.strictEqual(errorBody(yield* moving(workspace, campaign, "start")).code, "no_rows")
      yield* addRows(workspace, campaign, [toPhone("123")])
      assert.strictEqual(errorBody(yield* moving(workspace, campaign, "start")).code, "no_rows")
    }),
  )

  it.effect("is deleted with its rows", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const campaign = yield* aDraft(workspace)
      const answer = yield* request(workspace, `/${campaign.id}`, { method: "DELETE" })
      assert.deepStrictEqual(expectBody(answer, 200), { id: campaign.id, deleted: true })
      for (const path of ["", "/rows", "/rows/1", "/forecast", "/results.csv"]) {
        assert.strictEqual(
          errorBody(yield* request(workspace, `/${campaign.id}${path}`)).code,
          "campaign_not_found",
        )
      }
    }),
  )

  it.effect("is one of at most 100 that have not ended", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      for (let createdCount = 0; createdCount < 100; createdCount++) yield* create(workspace)
      const answer = yield* request(workspace, "", { method: "POST", json: hello })
      assert.deepStrictEqual(refusal(answer), [403, "campaign_limit_reached", null])
      yield* create(workspace, {}, "?mode=test")
    }),
  )
})

layer(layerService())("rows in JSON", (it) => {
  it.effect("are numbered from 1, and show the text that would be sent", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const campaign = yield* create(workspace)
      const added = yield* addRows(workspace, campaign, [ada, toPhone("+15550001235")])
      assert.deepStrictEqual(added, {
        first_row: 1,
        last_row: 2,
        pending: 2,
        refused: 0,
        problems: [],
      })
      assert.strictEqual((yield* addRows(workspace, campaign, [ada])).first_row, 3)
      const [first, second] = yield* getRows(workspace, campaign)
      assert.deepStrictEqual(first, {
        row: 1,
        line: null,
        to: { phone: "+15550001234" },
        status: "pending",
        text: "Hello Ada",
        send_at: null,
        expires_at: null,
        message_id: null,
        number_id: null,
        taken_on_at: null,
        sent_at: null,
        delivered_at: null,
        read_at: null,
        error: null,
      })
      assert.strictEqual(second?.text, "Hello there")
      assert.deepStrictEqual(
        expectBody(yield* request(workspace, `${rowsAt(campaign)}/1`), 200),
        first,
      )
      assert.deepStrictEqual(refusal(yield* request(workspace, `${rowsAt(campaign)}/4`)), [
        404,
        "row_not_found",
        null,
      ])
      assert.deepInclude((yield* read(workspace, campaign)).rows, { total: 3, pending: 3 })
    }),
  )

  it.effect("read columns by names of their own, trimmed and without case, once", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const text = "{{{a}}} { File_Name |x} {send_at}"
      const campaign = yield* create(workspace, { text })
      const values = { A: " {b} ", file_name: "f", sendAt: "no", send_at: "s" }
      yield* addRows(workspace, campaign, [toPhone("+15550001234", values)])
      assert.strictEqual((yield* getRows(workspace, campaign))[0]?.text, "{{b}} f s")
    }),
  )

  it.effect("are refused one by one, and never stop the others", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const campaign = yield* create(workspace, { text: "Hello {name}", duplicates: "drop" })
      const added = yield* addRows(workspace, campaign, [
        ada,
        toPhone("0170", { name: "B" }),
        { to: { username: "?" }, values: { name: "C" } },
        toPhone("+15550001236", { name: " " }),
        { ...toPhone("+15550001237", { name: "D" }), send_at: "tomorrow" },
        { ...toPhone("+15550001237", { name: "D" }), send_at: "1960-01-01T00:00:00Z" },
        { ...toPhone("+15550001237", { name: "D" }), expires_at: "1960-01-01T00:00:00Z" },
        toPhone("+15550001237", { name: "a".repeat(3000) }),
        { to: { phone: "+1 555 000 1234" }, values: { name: "Again" } },
        toPhone("+15550001299", { name: "Zoe" }),
      ])
      assert.deepInclude(added, { first_row: 1, last_row: 10, pending: 2, refused: 8 })
      assert.deepStrictEqual(
        added.problems.map(({ error, row }) => [row, error?.code, error?.field, error?.row]),
        [
          [2, "invalid_phone", "to.phone", null],
          [3, "invalid_username", "to.username", null],
          [4, "placeholder_empty", "values.name", null],
          [5, "invalid_datetime", "send_at", null],
          [6, "time_in_past", "send_at", null],
          [7, "time_in_past", "expires_at", null],
          [8, "text_too_long", "text", null],
          [9, "duplicate_recipient", "to.phone", 1],
        ],
      )
      assert.isTrue(added.problems.every(({ text }) => text === null))
      const refused = yield* getRows(workspace, campaign, "?status=refused&code=invalid_phone")
      assert.deepStrictEqual(
        refused.map(({ row }) => row),
        [2],
      )
      const ofAda = yield* getRows(workspace, campaign, "?to=%2B15550001234&status=pending,refused")
      assert.strictEqual(ofAda[0]?.row, 1)
    }),
  )

  it.effect("refuse the call when the program is at fault", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const campaign = yield* create(workspace)
      for (const [rows, field] of [
        [[], "rows"],
        [Array.from({ length: 1001 }, () => ({ to: { phone: "+1" } })), "rows"],
        [[{ to: {} }], "rows[0].to"],
        [[{ to: { phone: "+1", group: "G" } }], "rows[0].to"],
        [[{ ...ada, colour: 1 }], "rows[0].colour"],
        [[ada, { to: { phone: 1 } }], "rows[1].to.phone"],
        [[{ ...ada, values: { name: 1 } }], undefined],
        [[{ ...ada, values: { name: "a".repeat(9000) } }], "rows[0].values"],
      ] as const) {
        const answer = yield* request(workspace, rowsAt(campaign), {
          method: "POST",
          json: { rows },
        })
        const { code, field: named } = errorBody(answer)
        assert.strictEqual(code, "validation_failed")
        if (field !== undefined) assert.strictEqual(named, field)
      }
      assert.strictEqual((yield* read(workspace, campaign)).rows["total"], 0)
    }),
  )

  it.effect("take phones without + with a country code alone", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const campaign = yield* create(workspace, { default_country_code: "44" })
      yield* addRows(workspace, campaign, [
        toPhone("07400 123-456"),
        toPhone("0044 7400 123456"),
        toPhone("+44 7400 123457"),
      ])
      assert.deepStrictEqual(
        (yield* getRows(workspace, campaign)).map(({ error, status }) => error?.code ?? status),
        ["pending", "invalid_phone", "pending"],
      )
      const found = yield* getRows(workspace, campaign, "?to=%2B447400123456")
      assert.deepStrictEqual(
        found.map(({ row }) => row),
        [1],
      )
    }),
  )

  it.effect("are added once for an Idempotency-Key, and only to a draft", () =>
    Effect.gen(function* () {
      const { workspace } = yield* aSender()
      const campaign = yield* create(workspace, { send_at: "2030-01-01T00:00:00Z" })
      const call = {
        method: "POST",
        json: { rows: [ada] },
        headers: [["idempotency-key", "rows"]],
      } as const
      const first = yield* request(workspace, rowsAt(campaign), call)
      const again = yield* request(workspace, rowsAt(campaign), call)
      assert.strictEqual(again.headers["idempotent-replayed"], "true")
      assert.deepStrictEqual(expectBody(again, 201), expectBody(first, 201))
      yield* move(workspace, campaign, "start")
      const late = yield* request(workspace, rowsAt(campaign), { ...call, headers: [] })
      assert.deepStrictEqual(refusal(late), [409, "campaign_started", null])
      const cleared = yield* request(workspace, rowsAt(campaign), { method: "DELETE" })
      assert.deepStrictEqual(refusal(cleared), [409, "campaign_started", null])
    }),
  )

  it.effect("that were refused come again for an Idempotency-Key, with others in their place", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const campaign = yield* create(workspace)
      const bad = Array.from({ length: 101 }, () => toPhone("1"))
      const addJson = request(workspace, rowsAt(campaign), {
        method: "POST",
        json: { rows: [ada, ...bad] },
        headers: [["idempotency-key", "json"]],
      })
      const csv = "to,send_at\n+15550001234,\n2,2030-01-01T00:00:00Z\n"
      const addFile = uploading(workspace, campaign, csv, "", {
        headers: [["idempotency-key", "file"]],
      })
      for (const [add, problems] of [
        [addJson, 100],
        [addFile, 1],
      ] as const) {
        const first = yield* add
        assert.lengthOf(expectBody<AddedBody>(first, 201).problems, problems)
        yield* request(workspace, rowsAt(campaign), { method: "DELETE" })
        yield* addRows(workspace, campaign, [toPhone("3"), toPhone("4")])
        const again = yield* add
        assert.strictEqual(again.headers["idempotent-replayed"], "true")
        assert.strictEqual(again.text, first.text)
        yield* request(workspace, rowsAt(campaign), { method: "DELETE" })
      }
    }),
  )

  it.effect("are emptied from a draft", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const campaign = yield* aDraft(workspace, {}, [ada, ada])
      const answer = yield* request(workspace, rowsAt(campaign), { method: "DELETE" })
      assert.deepStrictEqual(expectBody(answer, 200), { deleted: 2 })
      assert.deepStrictEqual((yield* read(workspace, campaign)).rows, none)
      assert.strictEqual((yield* addRows(workspace, campaign, [ada])).first_row, 1)
    }),
  )
})

layer(layerService())("rows in a file", (it) => {
  it.effect("have lines, columns as values, and any separator", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      for (const [mark, ending] of [
        [",", "\n"],
        [";", "\r\n"],
        ["\t", "\r"],
        ["|", "\n"],
      ] as const) {
        const campaign = yield* create(workspace)
        const csv = [
          `\uFEFFPhone${mark}Name`,
          `+15550001234${mark}"A""da"`,
          "",
          `12${mark}Bob`,
          "+15550001235",
          "",
        ].join(ending)
        const added = yield* uploadRows(workspace, campaign, csv)
        assert.deepInclude(added, { first_row: 1, last_row: 3, pending: 2, refused: 1 })
        assert.deepStrictEqual(
          added.problems.map(({ error, line, row }) => [row, line, error?.field]),
          [[2, 4, "to.phone"]],
        )
        assert.deepStrictEqual(
          (yield* getRows(workspace, campaign)).map(({ line, text }) => [line, text]),
          [
            [2, 'Hello A"da'],
            [4, null],
            [5, "Hello there"],
          ],
        )
      }
    }),
  )

  it.effect("name their separator, their recipients' column, usernames and local times", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const campaign = yield* create(workspace, { timezone: "Europe/Berlin" })
      const csv =
        "sep=;\nto;mobile, own;name;send_at;expires_at\nx;@ada_l;Ada;2030-07-01 09:00;2030-07-01T12:00\n"
      yield* uploadRows(workspace, campaign, csv, "?to_column=%20MOBILE,%20own")
      const [row] = yield* getRows(workspace, campaign)
      assert.deepInclude(row, {
        to: { username: "@ada_l" },
        send_at: "2030-07-01T07:00:00Z",
        expires_at: "2030-07-01T10:00:00Z",
        text: "Hello Ada",
      })
      const missing = yield* uploading(workspace, campaign, "a\n1\n", "?to_column=b")
      assert.deepStrictEqual(refusal(missing), [422, "column_not_found", "to_column"])
      const none = yield* uploading(workspace, campaign, "a\n1\n")
      assert.deepStrictEqual(refusal(none), [422, "column_not_found", "to_column"])
      const zoneless = yield* create(workspace)
      const added = yield* uploadRows(
        workspace,
        zoneless,
        "to,send_at\n+15550001234,2030-07-01 09:00",
      )
      assert.strictEqual(added.problems[0]?.error?.code, "invalid_datetime")
    }),
  )

  for (const [name, csv, line, column] of [
    ["an unclosed quote", 'to\n"+1', 2, 1],
    ["text behind a quote", 'to\n"+1"x', 2, undefined],
    ["more cells than the header", "to,a\n1,2,3", 2, undefined],
    ["a doubled name", "to,a,A\n1,2,3", 1, undefined],
    ["an empty name", "to,,a\n1,2,3", 1, undefined],
    ["no rows", "to,a\n", undefined, undefined],
    ["no header", "", undefined, undefined],
    ["NUL", "to\n\u0000", 2, undefined],
    [
      "51 columns",
      `to${",a".repeat(50)}\n`.replace(/,a/g, () => `,c${Math.random()}`),
      1,
      undefined,
    ],
  ] as const) {
    it.effect(`are refused whole for ${name}`, () =>
      Effect.gen(function* () {
        const workspace = yield* aWorkspace()
        const campaign = yield* aDraft(workspace)
        const answer = yield* uploading(workspace, campaign, csv)
        const error = errorBody(answer)
        assert.deepStrictEqual([answer.status, error.code], [422, "invalid_csv"])
        if (line !== undefined) assert.strictEqual(error["line"], line)
        if (column !== undefined) assert.strictEqual(error["column"], column)
        assert.strictEqual((yield* read(workspace, campaign)).rows["total"], 1)
      }),
    )
  }

  it.effect("are UTF-8, and one part of a form alone", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const campaign = yield* create(workspace)
      const latin = yield* uploading(workspace, campaign, new Uint8Array([0x74, 0x6f, 0x0a, 0xe4]))
      assert.strictEqual(errorBody(latin).code, "invalid_csv")
      const more = yield* request(workspace, rowsAt(campaign), {
        method: "POST",
        headers: [multipart],
        body: form([aPart(), aPart({ name: "to_column", fileName: null, bytes: "a" })]),
      })
      assert.deepStrictEqual(refusal(more), [400, "validation_failed", "file"])
      const raw = yield* request(workspace, rowsAt(campaign), {
        method: "POST",
        headers: [["content-type", "text/csv"]],
        body: "to\n+15550001234",
      })
      assert.deepStrictEqual(refusal(raw), [415, "unsupported_content_type", null])
      const twice = yield* uploading(workspace, campaign, "to\n1", "?to_column=a&to_column=b")
      assert.deepStrictEqual(refusal(twice), [400, "validation_failed", "to_column"])
    }),
  )

  it.effect("are at most 32 MiB", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const campaign = yield* create(workspace)
      const csv = Buffer.alloc(32 * 1024 * 1024 + 1, "a")
      const answer = yield* uploading(workspace, campaign, csv)
      assert.deepStrictEqual(refusal(answer), [413, "request_too_large", null])
    }),
  )

  it.effect("are at most 100,000 of a campaign", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const campaign = yield* create(workspace)
      const csv = `to\n${"+15550001234\n".repeat(100_000)}`
      assert.strictEqual((yield* uploadRows(workspace, campaign, csv)).pending, 100_000)
      const answer = yield* request(workspace, rowsAt(campaign), {
        method: "POST",
        json: { rows: [ada] },
      })
      assert.deepStrictEqual(refusal(answer).slice(0, 2), [400, "too_many_rows"])
    }),
  )

  it.effect("come once for an Idempotency-Key and a file", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const campaign = yield* create(workspace)
      const headers = [["idempotency-key", "file"]] as const
      const csv = "to,b\n+15550001234,+15550001235\n"
      const first = yield* uploading(workspace, campaign, csv, "", { headers })
      const again = yield* uploading(workspace, campaign, csv, "", { headers })
      assert.strictEqual(again.headers["idempotent-replayed"], "true")
      assert.deepStrictEqual(expectBody(again, 201), expectBody(first, 201))
      const other = yield* uploading(workspace, campaign, csv, "?to_column=b", { headers })
      assert.strictEqual(errorBody(other).code, "idempotency_key_reused")
      assert.strictEqual((yield* read(workspace, campaign)).rows["total"], 1)
    }),
  )
})

layer(layerService())("results of a campaign", (it) => {
  it.effect("are a file that no spreadsheet takes for formulas", () =>
    Effect.gen(function* () {
      const workspace = yield* aWorkspace()
      const contact = yield* aContact(workspace, { phone: "+15550001250" })
      const campaign = yield* create(workspace, { text: "{name}" })
      yield* addRows(workspace, campaign, [
        ada,
        { to: { group: '=A, "b"' }, values: { name: "x" } },
        { to: { username: "@ada_l" }, values: { name: "x" } },
        { to: { contact_id: contact.id }, values: {} },
        toPhone("+1-2", { name: "x" }),
      ])
      const answer = yield* request(workspace, `/${campaign.id}/results.csv`)
      assert.strictEqual(answer.status, 200)
      assert.match(answer.headers["content-type"] ?? "", /^text\/csv/)
      assert.strictEqual(
        answer.headers["content-disposition"],
        `attachment; filename="campaign-${campaign.id}.csv"`,
      )
      assert.strictEqual(answer.headers["x-content-type-options"], "nosniff")
      assert.isTrue(
        answer.text.startsWith(
          "\uFEFFrow,to,status,message_id,number_id,taken_on_at,sent_at,delivered_at,read_at,error_code,error_field,error_message\r\n",
        ),
      )
      const lines = answer.text.trimEnd().split("\r\n").slice(1)
      assert.deepStrictEqual(
        lines.map((line) => line.split(",,").at(0)),
        [
          "1,+15550001234,pending",
          `2,"'=A, ""b""",pending`,
          "3,'@ada_l,pending",
          lines[3]?.split(",,").at(0),
          "5,'+1-2,refused",
        ],
      )
      assert.match(lines[3] ?? "", /^4,[^,]+,refused,.*,placeholder_empty,values\.name,/)
      const refused = yield* request(workspace, `/${campaign.id}/results.csv?status=refused`)
      assert.lengthOf(refused.text.trimEnd().split("\r\n"), 3)
      const head = yield* request(workspace, `/${campaign.id}/results.csv`, { method: "HEAD" })
      assert.strictEqual(head.status, 200)
    }),
  )
})

layer(layerService())("a forecast", (it) => {
  it.effect("tells each number's share, and stores nothing", () =>
    Effect.gen(function* () {
      const { number, workspace } = yield* aSender()
      const other = yield* aNumber(workspace, { status: "disconnected" })
      const campaign = yield* aDraft(workspace, {}, [ada, toPhone("123")])
      const answer = yield* request(workspace, `/${campaign.id}/forecast`)
      const { finishes_at, starts_at, ...forecast } = expectBody<{
        starts_at: string | null
        finishes_at: string | null
        [field: string]: unknown
      }>(answer, 200)
      assert.deepInclude(forecast, {
        rows: 1,
        allowance: { remaining: null, missing: 0 },
        numbers: [
          { number_id: number.id, usable: true, room: 800, rows: 1 },
          { number_id: other.id, usable: false, room: 800, rows: 0 },
        ],
      })
      assert.isNotNull(starts_at)
      assert.isNotNull(finishes_at)
      assert.strictEqual((yield* read(workspace, campaign)).state, "draft")
    }),
  )
})
