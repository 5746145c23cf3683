/** What clients send, for tests that speak to a session as they do. */

/** A statement in a turn of its own. */
export const encodeQuery = (text: string): Uint8Array => {
  const body = Buffer.from(`${text}\0`)
  const head = Buffer.from("Q0000")
  head.writeInt32BE(body.length + 4, 1)
  return Buffer.concat([head, body])
}
