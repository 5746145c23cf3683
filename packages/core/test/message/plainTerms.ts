/** Terms of version 1 that ask for nothing. */
import type { SendTerms } from "../../src/message/Messages.ts"

export const plainTerms: SendTerms = { callbackUrl: null, attachment: null, keepRefused: false }
