/**
 * The name that addresses a WhatsApp group. It is matched exactly against the groups of the sending number, so nothing is
 * trimmed or folded.
 */
import { codePointLength } from "../text/CodePoints.ts"

/** Code points. */
export const maximumGroupNameLength = 100

/** Whether a text may name a group: 1 to 100 code points. Whether such a group exists shows when the message is sent. */
export const isGroupName = (text: string): boolean =>
  text.length > 0 && codePointLength(text) <= maximumGroupNameLength
