/** Version 1 terms without any extras. */
import type { SendTerms } from "../../src/service/Messages.ts"

export const plainTerms: SendTerms = { callbackUrl: null, attachment: null, keepRefused: false }
