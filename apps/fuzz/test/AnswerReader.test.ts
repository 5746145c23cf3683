/** Reading answers strictly: whole, in pieces, and broken. */
import { assert, describe, it } from "@effect/vitest"
import { readAnswer } from "../src/wire/AnswerReader.ts"

const read = (text: string, ended = false, method = "GET") =>
  readAnswer(Buffer.from(text, "latin1"), method, ended)

const findBody = (text: string, ended = false, method = "GET"): string | undefined => {
  const reading = read(text, ended, method)
  return reading.kind === "answer" ? reading.answer.body.toString() : undefined
}

describe("reading an answer", () => {
  it("reads a body of the declared length, and waits for all of it", () => {
    assert.strictEqual(findBody("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), "hi")
    assert.strictEqual(read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi").kind, "more")
    assert.strictEqual(read("HTTP/1.1 200 OK\r\nContent-Le").kind, "more")
  })

  it("joins chunks", () => {
    const head = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert.strictEqual(findBody(`${head}2\r\nhi\r\n1\r\n!\r\n0\r\n\r\n`), "hi!")
    assert.strictEqual(read(`${head}2\r\nhi\r\n`).kind, "more")
    assert.strictEqual(read(`${head}2\r\nhi\r\n`, true).kind, "malformed")
  })

  it("skips everything before the final answer", () => {
    assert.strictEqual(
      findBody("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nx"),
      "x",
    )
  })

  it("knows that HEAD has no body", () => {
    assert.strictEqual(findBody("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n", false, "HEAD"), "")
  })

  it("calls a truncated answer and a wrong head malformed", () => {
    assert.strictEqual(
      read("HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi", true).kind,
      "malformed",
    )
    assert.strictEqual(read("HTTP/1.1 200 OK\r\nno colon\r\n\r\n").kind, "malformed")
    assert.strictEqual(read("HTTP/2 200\r\n\r\n").kind, "malformed")
    assert.strictEqual(read("", true).kind, "more")
  })
})
