/**
 * The operator's token when none is configured: generated on the first start and kept in the data
 * directory (`OPERATOR_TOKEN`; contract: Configuration).
 */
import type { SecretKind } from "@messaging-service/runtime"

/** Letters and digits: some 238 bits. */
const tokenLength = 40

/** Shorter ones could be guessed; one that is generated at random has as many in hexadecimal. */
const shortestToken = 32

/** Whether it is long enough, and a header can carry it as it stands. */
export const isToken = (text: string): boolean =>
  text.length >= shortestToken && /^[!-~](?:[ -~]*[!-~])$/.test(text)

/** The generated token and its file. */
export const operatorTokenKind: SecretKind = {
  name: "operator-token",
  what: "operator token",
  make: (ids) => ids.alphanumeric(tokenLength),
  isUsable: isToken,
  mend: "remove it to have a new one made",
}

/** What `OPERATOR_TOKEN` must be. */
export const tokenRule = `at least ${shortestToken} printable ASCII characters`
