/** What a file's rows become, and that none is lost or sent twice whatever happens on the way. */
import { createHash } from "node:crypto"
import { assert, describe, it } from "vitest"
import { recall, remember, unknownSlot } from "../pages/file/memory.ts"
import type { FileMemory } from "../pages/file/memory.ts"
import { checkRows, getRun, textFor, toSlots, unknownPlaceholders } from "../pages/file/plan.ts"
import type { FileRow, FileSettings, Slot } from "../pages/file/plan.ts"
import { sendSlots } from "../pages/file/sending.ts"
import type { RefusedRow, SendingSteps } from "../pages/file/sending.ts"
import { digest } from "../pages/file/sha256.ts"
import { openSheet } from "../pages/file/sheet.ts"
import type { Sheet } from "../pages/file/sheet.ts"
import { workAtOnce, workInSlices } from "../pages/file/turns.ts"

const bytes = (text: string) => new TextEncoder().encode(text)

const readSheet = (text: string): Sheet => {
  const sheet = workAtOnce(openSheet(bytes(text)))
  if ("problems" in sheet) throw new Error(JSON.stringify(sheet.problems))
  return sheet
}

const settings: FileSettings = {
  to: 0,
  template: "Hello {name}",
  from: 1,
  sendAt: null,
  expiresAt: null,
  once: true,
  leaveOutWrong: false,
  mode: "live",
}

describe("a digest", () => {
  it("is SHA-256, at every length around the end of a block and of a turn", () => {
    for (const length of [0, 1, 55, 56, 63, 64, 65, 1000, 65_535, 65_536, 65_537, 200_000]) {
      const content = bytes("é".repeat(length).slice(0, length))
      assert.strictEqual(
        workAtOnce(digest(content)),
        createHash("sha256").update(content).digest("hex"),
        `${length}`,
      )
    }
  })
})

describe("work in turns", () => {
  /** Yields until it holds, or far more often than it may take. */
  const yieldUntil = function* (holds: () => boolean) {
    for (let yielded = 0; !holds() && yielded < 50_000_000; yielded++) yield
    return holds()
  }

  it("lets the page do what it is asked for meanwhile", async () => {
    let isRequested = false
    setTimeout(() => {
      isRequested = true
    })
    assert.isTrue(await workInSlices(yieldUntil(() => isRequested)))
  })

  it("ends when it is stopped", async () => {
    const stop = new AbortController()
    setTimeout(() => stop.abort("other settings"))
    const work = workInSlices(
      yieldUntil(() => false),
      stop.signal,
    )
    assert.strictEqual(await work.catch((reason: unknown) => reason), "other settings")
  })
})

describe("a sheet", () => {
  it("finds the names of columns and the recipients", () => {
    const named = readSheet("name;Phone\nAda;+15550100001\n")
    assert.deepStrictEqual([named.columns, named.recipients], [["name", "Phone"], 1])
    const bare = readSheet("Ada,+15550100001\nBob,+15550100002\n")
    assert.deepStrictEqual(
      [bare.columns, bare.recipients, bare.rows.length],
      [["column 1", "column 2"], 1, 2],
    )
  })

  it("is none when it is empty, too large, no text or has cells without a column", () => {
    const codes = (content: Uint8Array) => {
      const opened = workAtOnce(openSheet(content))
      return "problems" in opened ? opened.problems : []
    }
    assert.deepStrictEqual(codes(bytes("phone\n")), [{ code: "empty" }])
    assert.deepStrictEqual(codes(Uint8Array.of(0x70, 0xff, 0xfe)), [{ code: "not_text" }])
    assert.deepStrictEqual(codes(bytes("+15550100001\n".repeat(10_001))), [
      { code: "too_many_rows" },
    ])
    assert.deepStrictEqual(codes(bytes("phone,name\n+15550100001,a,b\n")), [
      { code: "too_many_cells", line: 2, column: 3 },
    ])
  })

  it("is read in UTF-16 too, as spreadsheets save Unicode text", () => {
    const text = "\uFEFFphone\tname\n+15550100001\tÅsa\n"
    const content = new Uint8Array(Buffer.from(text, "utf16le"))
    const opened = workAtOnce(openSheet(content))
    assert.deepStrictEqual("rows" in opened && opened.rows[0]?.cells, ["+15550100001", "Åsa"])
  })
})

describe("the rows of a file", () => {
  it("become texts with their own cells, and nothing else is taken for a name", () => {
    const sheet = readSheet("phone,name\n+15550100001,<b>{phone}</b>\n")
    const [row = { line: 0, cells: [] }] = sheet.rows
    assert.strictEqual(textFor("Hi { name }, {", sheet, row), "Hi <b>{phone}</b>, {")
    assert.deepStrictEqual(unknownPlaceholders("{name} {nmae}", sheet), ["nmae"])
  })

  it("are named by line and column where they are wrong", () => {
    const sheet = readSheet(
      "phone,name,send_at\n0155,Ada,\n,Bob,\n@ada_l,Eve,tomorrow\n+15550100002,Zoe,2026-12-01 09:00Z\n",
    )
    const { problems, rows } = workAtOnce(checkRows(sheet, settings))
    assert.deepStrictEqual(
      problems.map(({ code, column, line }) => [line, column, code]),
      [
        [2, 1, "wrong_phone"],
        [3, 1, "no_recipient"],
        [4, 3, "wrong_time"],
      ],
    )
    assert.deepStrictEqual(rows, [
      {
        line: 5,
        to: { phone: "+15550100002" },
        text: "Hello Zoe",
        sendAt: "2026-12-01T09:00:00.000Z",
        expiresAt: null,
      },
    ])
  })

  it("lack a text only once one is given", () => {
    const sheet = readSheet("phone,name\n+15550100001,Ada\n0155,\n")
    const codes = (template: string) =>
      workAtOnce(checkRows(sheet, { ...settings, template })).problems.map(({ code }) => code)
    assert.deepStrictEqual(codes(" "), ["wrong_phone"])
    assert.deepStrictEqual(codes("{name}"), ["wrong_phone", "no_text"])
  })

  it("have each recipient once, however it is written, unless all are wanted", () => {
    const sheet = readSheet(
      "phone,name\n+1 555 010-0001,Ada\n+15550100001,Bob\n@Ada_L,x\n@ada_l,y\n",
    )
    assert.deepStrictEqual(
      workAtOnce(checkRows(sheet, settings)).repeated.map(({ line }) => line),
      [3, 5],
    )
    assert.lengthOf(workAtOnce(checkRows(sheet, settings)).rows, 2)
    assert.lengthOf(workAtOnce(checkRows(sheet, { ...settings, once: false })).rows, 4)
  })
})

const getRows = (count: number, text: (index: number) => string): ReadonlyArray<FileRow> =>
  Array.from({ length: count }, (_, index) => ({
    line: index + 2,
    to: { phone: `+1555010${1000 + index}` },
    text: text(index),
    sendAt: null,
    expiresAt: null,
  }))

describe("the requests of a file", () => {
  it("hold rows of one content, at most 100 each, and every row once", () => {
    const rows = getRows(250, (index) => (index % 2 === 0 ? "even" : "odd"))
    const slots = workAtOnce(toSlots(rows, "run"))
    assert.deepStrictEqual(
      slots.map((slot) => [slot.line, slot.rows.length]),
      [
        [2, 100],
        [3, 100],
        [202, 25],
        [203, 25],
      ],
    )
    assert.strictEqual(new Set(slots.flatMap((slot) => slot.rows)).size, 250)
    assert.strictEqual(new Set(slots.map(({ key }) => key)).size, 4)
  })

  it("have the same keys for the same file and settings, and others for any other", () => {
    const run = getRun("digest", settings, 0)
    assert.strictEqual(getRun("digest", { ...settings }, 0), run)
    for (const other of [
      getRun("another", settings, 0),
      getRun("digest", settings, 1),
      getRun("digest", { ...settings, template: "Bye" }, 0),
      getRun("digest", { ...settings, from: 2 }, 0),
    ])
      assert.notStrictEqual(other, run)
  })
})

/** A service that keeps keys as it promises, and fails as the test wants. */
const startService = (
  fail: (call: number, rows: ReadonlyArray<FileRow>) => Error | "lost" | null,
) => {
  const stored = new Map<string, string>()
  const accepted: Array<number> = []
  let calls = 0
  const send = async (rows: ReadonlyArray<FileRow>, key: string) => {
    calls += 1
    const failure = fail(calls, rows)
    if (failure instanceof Error) throw failure
    const body = JSON.stringify(rows)
    const before = stored.get(key)
    if (before === undefined) accepted.push(...rows.map(({ line }) => line))
    else if (before !== body) throw refusal(422, "idempotency_key_reused")
    stored.set(key, before ?? body)
    if (failure === "lost") throw new TypeError("Failed to fetch")
  }
  return { send, accepted, calls: () => calls }
}

const refusal = (status: number, code: string, field: string | null = null, retryAfter?: number) =>
  Object.assign(new Error(code), { status, code, field, retryAfter: retryAfter ?? null })

const run = (slots: ReadonlyArray<Slot>, send: SendingSteps["send"]) => {
  const waits: Array<number> = []
  const refused: Array<RefusedRow> = []
  const ends: Array<string> = []
  const steps: SendingSteps = {
    send,
    wait: async (millis) => {
      if (millis > 0) waits.push(millis)
    },
    begin: () => undefined,
    end: (_, how, rows) => {
      ends.push(how)
      refused.push(...rows)
    },
    waitsFor: () => undefined,
  }
  return { waits, refused, ends, done: sendSlots(slots, steps) }
}

describe("sending a file", () => {
  const rows = getRows(250, () => "same")
  const slots = workAtOnce(toSlots(rows, "run"))
  const lines = rows.map(({ line }) => line)

  it("repeats what got no answer with the same key, so that nothing is lost or doubled", async () => {
    const service = startService((call) => (call % 2 === 1 ? "lost" : null))
    const { done, waits } = run(slots, service.send)
    await done
    assert.deepStrictEqual(service.accepted, lines)
    assert.deepStrictEqual(waits, [1000, 1000, 1000])
  })

  it("waits as long as the service says, and longer each time where it says nothing", async () => {
    const service = startService((call) =>
      call === 1
        ? refusal(429, "rate_limited", null, 17)
        : call < 6
          ? refusal(503, "internal_error")
          : null,
    )
    const { done, waits } = run(slots, service.send)
    await done
    assert.deepStrictEqual(service.accepted, lines)
    assert.deepStrictEqual(waits, [17_000, 2000, 4000, 8000, 16_000])
  })

  it("sends the others of a request when the service refuses a row", async () => {
    const wrong = 7
    const refusing = (_: number, sent: ReadonlyArray<FileRow>) => {
      const index = sent.findIndex(({ line }) => line === wrong)
      return index < 0 ? null : refusal(422, "invalid_phone", `to[${index}].phone`)
    }
    const service = startService(refusing)
    const first = run(slots, service.send)
    await first.done
    assert.deepStrictEqual(
      first.refused.map(({ row }) => row.line),
      [wrong],
    )
    const again = run(slots, service.send)
    await again.done
    assert.deepStrictEqual(
      service.accepted,
      lines.filter((line) => line !== wrong),
    )
  })

  it("sends a request once although a row of it is accepted only the second time", async () => {
    let isWrong = true
    const service = startService((_, sent) =>
      isWrong && sent[0]?.line === 2 ? refusal(422, "username_needs_telegram", "to[0]") : null,
    )
    await run(slots, service.send).done
    isWrong = false
    const again = run(slots, service.send)
    await again.done
    assert.deepStrictEqual(again.ends, ["accepted_before", "accepted", "accepted"])
    assert.strictEqual(new Set(service.accepted).size, service.accepted.length)
  })

  it("stops at a refusal of all, and goes on from there", async () => {
    let isEmpty = true
    const service = startService((call) =>
      isEmpty && call > 1 ? refusal(402, "no_credits") : null,
    )
    const first = run(slots, service.send)
    const error = await first.done.catch((reason: unknown) => reason)
    assert.strictEqual((error as Error).message, "no_credits")
    assert.lengthOf(service.accepted, 100)
    isEmpty = false
    await run(slots, service.send).done
    assert.deepStrictEqual(service.accepted, lines)
  })
})

describe("what the browser remembers of a file", () => {
  const location = () => {
    const items = new Map<string, string>()
    return {
      items,
      getItem: (key: string) => items.get(key) ?? null,
      setItem: (key: string, value: string) => void items.set(key, value),
      removeItem: (key: string) => void items.delete(key),
      key: (index: number) => [...items.keys()][index] ?? null,
      get length() {
        return items.size
      },
    }
  }
  const memory: FileMemory = {
    at: 0,
    run: "run",
    again: 0,
    ended: [2],
    accepted: 100,
    begun: { line: 102, at: 0 },
  }
  const day = 24 * 3600 * 1000

  it("is of that workspace, for 30 days", () => {
    const stored = location()
    remember(stored, 1, "digest", memory)
    assert.deepStrictEqual(recall(stored, 1, "digest", 29 * day), memory)
    assert.isNull(recall(stored, 2, "digest", 0))
    assert.isNull(recall(stored, 1, "digest", 31 * day))
    remember(stored, 1, "newer", { ...memory, at: 31 * day })
    assert.lengthOf([...stored.items], 1)
  })

  it("leaves a request unknown once the service has forgotten its key", () => {
    assert.isNull(unknownSlot(memory, 22 * 3600 * 1000))
    assert.strictEqual(unknownSlot(memory, day), 102)
  })
})
